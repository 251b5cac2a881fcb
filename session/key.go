package session

import "fmt"

// Key addresses a session. Its three parts are compared byte for byte: "a",
// "A", "a " and "á" are four names. Each is valid UTF-8 without control
// characters, not empty and at most [MaxTextBytes] long.
type Key struct {
	AppName   string // the program
	UserID    string // the owner
	SessionID string // the session among the owner's
}

// String returns the key for people, as in errors: app/user/session, quoted.
func (k Key) String() string {
	return fmt.Sprintf("%q/%q/%q", k.AppName, k.UserID, k.SessionID)
}

// Kind says whose room a session is. Membership is enforced in direct and
// group sessions only.
type Kind string

const (
	// KindSession is one user with agents and tools; anybody who holds the key
	// may append. It is the default.
	KindSession Kind = "session"
	// KindDirect has exactly two members for ever.
	KindDirect Kind = "direct"
	// KindGroup has members who join and leave.
	KindGroup Kind = "group"
)

// Limits of the contract. Lengths are in bytes.
const (
	// MaxTextBytes bounds app, user, session, author, member, idempotency key,
	// invocation, id, format and state key (prefix included).
	MaxTextBytes = 255
	// MaxBranchBytes bounds Event.Branch.
	MaxBranchBytes = 1024
	// DefaultMaxPayload bounds the payload of one event unless a backend's
	// WithMaxPayload says otherwise: 16 MiB.
	DefaultMaxPayload = 16 << 20
	// MaxBatchEvents bounds AppendEventsRequest.Events.
	MaxBatchEvents = 10_000
	// MaxBatchPayload bounds the payloads of one batch together: 64 MiB.
	MaxBatchPayload = 64 << 20
	// DefaultPageSize is the size of a page when the request names none.
	DefaultPageSize = 100
	// MaxPageSize bounds ListRequest.PageSize and ListEventsRequest.Limit.
	MaxPageSize = 1000
)

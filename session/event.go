package session

import (
	"encoding/json"
	"time"
)

// EventKind says what an event is.
type EventKind string

const (
	// EventMessage is what [Log.AppendEvent] stores. It is the default.
	EventMessage EventKind = "message"
	// EventJoin opens a membership period; it comes from [Membership.Join] and
	// from creating a session with members.
	EventJoin EventKind = "join"
	// EventLeave closes a membership period; it comes from [Membership.Leave].
	EventLeave EventKind = "leave"
	// EventRecall is reserved: no call of [Service] writes one.
	EventRecall EventKind = "recall"
)

// Event is one entry of a conversation, immutable once stored.
//
// Text fields follow the rules of [Key] but may be empty unless said
// otherwise. An append never modifies the event it is given; the one that it
// returns equals, field for field, what reads return later. Nil and empty
// maps, slices and payloads are the same, and come back nil.
type Event struct {
	// Seq is the position in the conversation, from 1, set by the store. A
	// caller's value is ignored.
	Seq int64
	// ID is kept if set, else the service's next ID (a UUIDv7 unless the
	// backend's WithIDs says otherwise). It is data: two events may bear the same.
	ID string
	// Kind of an appended event is [EventMessage], which is also the default.
	Kind EventKind
	// Author is who speaks: a user, an agent, a tool. Required for a message.
	// Of joins and leaves it is the actor, empty for the embedding program.
	Author string
	// Subject is the member that joined or left; invalid on a message.
	Subject string
	// InvocationID is the run that the event belongs to.
	InvocationID string
	// Branch is the path of agents; at most [MaxBranchBytes].
	Branch string
	// Timestamp is the caller's, else the service's clock: UTC, cut to
	// microseconds, in the years 1 to 9999. It is data and never an order.
	Timestamp time.Time
	// RecordedAt is the service's clock when it took the event, in UTC and
	// microseconds. It never decreases with Seq. A caller's value is ignored.
	RecordedAt time.Time
	// Partial marks a streaming fragment: it is validated and not stored.
	Partial bool
	// IdempotencyKey names the request together with Author. Repeating the
	// request gets the first answer; another request under the same name is
	// [ErrIdempotencyMismatch].
	IdempotencyKey string
	// StateDelta holds the state keys to set, each with its scope prefix. A nil
	// value stores JSON null. Keys with [TempPrefix] are never stored.
	StateDelta State
	// StateDelete holds the state keys to remove, each with its scope prefix. A
	// key may not stand in StateDelta too. It comes back in the caller's order,
	// without temp: keys and repeats.
	StateDelete []string
	// Format says who encoded Payload, such as "adk-go/v2".
	Format string
	// Payload is the framework's own event: valid JSON in valid UTF-8, opaque,
	// and returned byte for byte. At most [DefaultMaxPayload] unless the
	// backend's WithMaxPayload says otherwise.
	Payload json.RawMessage
}

package session

import (
	"context"
	"encoding/json"
	"time"
)

// Service is what every backend implements. It is safe for concurrent use.
//
// Every method refuses in this order: arguments first ([ErrInvalidArgument]),
// then the context (its own error), then what the store holds. A request is
// never modified, and a nil request is an invalid argument.
type Service interface {
	Sessions
	Log
	Membership
	SharedState
}

// Sessions creates, reads, lists and deletes sessions.
type Sessions interface {
	// Create stores a new session with its initial state and members. It
	// returns an error matching [ErrAlreadyExists] if the key exists; of
	// concurrent creates of one key exactly one succeeds. The response has State
	// and HeadSeq but no Events.
	Create(ctx context.Context, req *CreateRequest) (*CreateResponse, error)
	// Get returns the session with its state and events as one snapshot. It
	// returns an error matching [ErrNotFound] if there is no such session or
	// UID; with a Viewer the error is [ErrNotMember], which also says that the
	// viewer never was a member.
	Get(ctx context.Context, req *GetRequest) (*GetResponse, error)
	// List returns one page of sessions, without events, as one snapshot.
	List(ctx context.Context, req *ListRequest) (*ListResponse, error)
	// Delete makes the session vanish at once and then removes what it stored;
	// app: and user: state stay. Deleting what is not there is no error. After
	// any error the same Delete may be repeated.
	Delete(ctx context.Context, req *DeleteRequest) error
}

// Log appends to and reads the log of a session.
type Log interface {
	// AppendEvent stores req.Event at the end of the session and applies its
	// state delta, both or neither. Keys with [TempPrefix] are not stored. A
	// partial event is validated and answered with a nil Event; the session
	// need not exist for it.
	//
	// In this order, all under the session's lock, it returns an error matching
	// [ErrNotMember] if there is no such session or UID; the first answer, with
	// Replayed set, if the author's idempotency key names the same request, and
	// [ErrIdempotencyMismatch] if it names another; [ErrNotMember] if the kind
	// has members and the author is none; a [*StaleError] if ExpectedSeq is set
	// and is not the head.
	AppendEvent(ctx context.Context, req *AppendEventRequest) (*AppendEventResponse, error)
	// AppendEvents stores the events with consecutive sequences, all or none,
	// with the checks of AppendEvent. If every event is a replay the batch is
	// one; a mixture is [ErrIdempotencyMismatch]. Of several writes of one
	// state key the last stands.
	AppendEvents(ctx context.Context, req *AppendEventsRequest) (*AppendEventsResponse, error)
	// ListEvents returns one page of events as one snapshot. It returns an
	// error matching [ErrNotFound] if there is no such session or UID, with a
	// Viewer [ErrNotMember], and an [*EpochError] if Epoch is set and is not the
	// session's.
	ListEvents(ctx context.Context, req *ListEventsRequest) (*ListEventsResponse, error)
}

// Membership changes and reads who is in the room.
//
// Join and Leave check in this order, under the session's lock: incarnation
// ([ErrNotFound], with an Actor [ErrNotMember]); replay, as for appends; that
// the Actor, if set, is a current member ([ErrNotMember]); that the kind is
// [KindGroup] ([ErrInvalidArgument]); and the member.
type Membership interface {
	// Join appends a join event and opens a period of Member at its sequence.
	// It returns an error matching [ErrAlreadyMember] for a current member.
	Join(ctx context.Context, req *JoinRequest) (*JoinResponse, error)
	// Leave appends a leave event and closes the period of Member at its
	// sequence, which still belongs to the period. It returns [ErrNotMember] if
	// Member is no current member.
	Leave(ctx context.Context, req *LeaveRequest) (*LeaveResponse, error)
	// ListMembers returns the periods that cover AtSeq, those open now, or all.
	// It returns an error matching [ErrNotFound] if there is no such session or
	// UID, and [ErrInvalidArgument] for an AtSeq above the head.
	ListMembers(ctx context.Context, req *ListMembersRequest) (*ListMembersResponse, error)
}

// SharedState reads and writes app: and user: state without a session. State
// that nobody wrote is empty, not an error.
type SharedState interface {
	// GetState returns the app: keys and, with a UserID, the user: keys.
	GetState(ctx context.Context, req *GetStateRequest) (*GetStateResponse, error)
	// UpdateState sets and removes keys, all or none, and returns all keys of
	// the named scopes after the change.
	UpdateState(ctx context.Context, req *UpdateStateRequest) (*UpdateStateResponse, error)
}

// CreateRequest asks for a new session.
type CreateRequest struct {
	// Key names the session; an empty SessionID becomes the service's next ID.
	Key Key
	// Kind defaults to [KindSession].
	Kind Kind
	// Members join in this order, one join event each from sequence 1. Direct:
	// two different ones; group: at least one, none twice; session: none.
	Members []string
	// State is the initial state. user: keys are the owner's in every kind.
	State State
	// CreatedAt is for importers; zero is the service's clock. Years 1 to 9999.
	CreatedAt time.Time
}

// CreateResponse holds the new session, without Events.
type CreateResponse struct{ Session *Session }

// GetRequest asks for a session. Viewer, AfterSeq and After filter first;
// NumRecentEvents keeps the last of what remains.
type GetRequest struct {
	Key Key
	// UID, if set, is the only incarnation that is found.
	UID string
	// Viewer reads as this member sees it: the events of its periods and its
	// own user: keys. For a former member State has no session keys and
	// UpdatedAt is the RecordedAt of the last event it may see. In kind session
	// only the owner is a viewer. Empty: the whole session, with the owner's
	// user: keys.
	Viewer string
	// NumRecentEvents keeps the last events; 0 is all.
	NumRecentEvents int
	// After keeps events with Timestamp >= After, cut to microseconds; zero is
	// no filter. It scans the log: timestamps are no order.
	After time.Time
	// AfterSeq keeps events with a greater Seq.
	AfterSeq int64
	// WithoutEvents leaves Events nil.
	WithoutEvents bool
}

// GetResponse holds the session.
type GetResponse struct{ Session *Session }

// Order is the order of a list of sessions.
type Order string

const (
	// OrderCreated sorts by owner, then creation, then SessionID, all
	// ascending. It is the default.
	OrderCreated Order = "created"
	// OrderUpdated sorts by last change, the latest first; ties by owner and
	// SessionID, descending. It needs UserID or Member. It shows a moment: a
	// session that changes while pages are read may be missed by later pages.
	OrderUpdated Order = "updated"
)

// ListRequest asks for a page of sessions.
type ListRequest struct {
	AppName string // required
	UserID  string // owner; empty: every owner
	Member  string // only sessions of which this is a current member
	Order   Order
	// PageSize defaults to [DefaultPageSize]; at most [MaxPageSize].
	PageSize int
	// PageToken continues after an earlier page. It is bound to AppName,
	// UserID, Member and Order; any other token is an invalid argument.
	PageToken string
	// WithState fills State, with the user: keys of Member if given, else of
	// each owner.
	WithState bool
}

// ListResponse holds one page; NextPageToken is empty on the last one.
type ListResponse struct {
	Sessions      []*Session
	NextPageToken string
}

// DeleteRequest names the session to delete; with a UID only that incarnation.
type DeleteRequest struct {
	Key Key
	UID string
}

// AppendEventRequest asks to append one message.
type AppendEventRequest struct {
	Key   Key
	UID   string // if set, the only incarnation that takes the event
	Event *Event
	// ExpectedSeq, if set, must equal the head.
	ExpectedSeq *int64
}

// AppendEventResponse holds the event as stored, nil for a partial one.
type AppendEventResponse struct {
	Event    *Event
	Replayed bool // the request was stored before; Event is the first answer
}

// AppendEventsRequest asks to append 1 to [MaxBatchEvents] messages with at
// most [MaxBatchPayload] bytes of payload; one author and idempotency key may
// not stand twice in it.
type AppendEventsRequest struct {
	Key         Key
	UID         string
	Events      []*Event
	ExpectedSeq *int64
}

// AppendEventsResponse answers request i with Events[i], nil for a partial one.
type AppendEventsResponse struct {
	Events   []*Event
	Replayed bool
}

// ListEventsRequest asks for a page of events.
type ListEventsRequest struct {
	Key    Key
	UID    string
	Viewer string // as in [GetRequest]
	// AfterSeq and BeforeSeq are exclusive bounds; 0 is open.
	AfterSeq, BeforeSeq int64
	// Descending starts at the newest.
	Descending bool
	// Limit defaults to [DefaultPageSize]; at most [MaxPageSize].
	Limit int
	// Epoch, if set, must be the session's.
	Epoch int64
}

// ListEventsResponse holds one page and the session's position as of the same
// instant. HeadSeq is a viewer's last visible sequence if there is a Viewer.
type ListEventsResponse struct {
	Events                 []*Event
	UID                    string
	MinSeq, HeadSeq, Epoch int64
	More                   bool // there are more events in this direction
}

// Period is a closed interval of sequences during which Member was one.
type Period struct {
	Member         string
	FromSeq, ToSeq int64 // ToSeq 0: open
}

// JoinRequest asks to let Member in.
type JoinRequest struct {
	Key    Key
	UID    string
	Member string
	// Actor is who lets it in, a current member; empty: the embedding program.
	Actor string
	// IdempotencyKey is as for events, with Actor as author.
	IdempotencyKey string
	// Payload is the program's own: a reason, an invitation.
	Payload json.RawMessage
}

// JoinResponse holds the join event and the period as it was opened.
type JoinResponse struct {
	Event    *Event
	Period   Period
	Replayed bool
}

// LeaveRequest asks to let Member out. Its fields are those of [JoinRequest].
type LeaveRequest struct {
	Key            Key
	UID            string
	Member, Actor  string
	IdempotencyKey string
	Payload        json.RawMessage
}

// LeaveResponse holds the leave event and the period that it closed.
type LeaveResponse struct {
	Event    *Event
	Period   Period
	Replayed bool
}

// ListMembersRequest asks who is, was at AtSeq, or ever was a member.
type ListMembersRequest struct {
	Key     Key
	UID     string
	AtSeq   int64 // 0: now; at a leave's sequence the leaver is still listed
	History bool  // every period; not together with AtSeq
}

// ListMembersResponse holds periods in ascending FromSeq.
type ListMembersResponse struct{ Periods []Period }

// GetStateRequest names the scopes: app, and with a UserID that user's too.
type GetStateRequest struct{ AppName, UserID string }

// GetStateResponse holds the keys with their prefixes; State is never nil.
type GetStateResponse struct{ State State }

// UpdateStateRequest sets the keys of Delta and removes those of Delete. Only
// app: keys and, with a UserID, user: keys are valid; a key may not stand in
// both.
type UpdateStateRequest struct {
	AppName, UserID string
	Delta           State
	Delete          []string
}

// UpdateStateResponse holds all keys of the named scopes after the change.
type UpdateStateResponse struct{ State State }

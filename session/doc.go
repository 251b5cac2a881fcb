// Package session is the contract of Hansard: the record of conversations, who
// said what, in which order, and who was in the room.
//
// A program picks a backend by its constructor (packages inmemory and database
// below this one) and talks to it through [Service]:
//
//	svc := inmemory.New()             // tests
//	svc, err := database.New(gormDB)  // PostgreSQL, SQLite
//
// # Words
//
// A session is what a program addresses by its [Key]; the conversation is the
// stored log behind it. An event is one immutable entry of that log, and its
// sequence (Seq) is its position: contiguous within the conversation, from 1.
// The head is the last committed sequence. A UID names one incarnation of a
// session: deleting and creating the same key gives another UID. A membership
// period is a closed interval of sequences. An idempotency key is the caller's
// name for one request, together with its author; repeating the request is a
// replay and gets the first answer.
//
// # Guarantees
//
//   - P1: sequences of committed events are contiguous from MinSeq, no gap, no repeat.
//   - P2: one (conversation, author, idempotency key) names at most one event.
//   - P3: one member's periods never overlap; at most one is open.
//   - P4: a membership change is an event in the same numbering, so "who was a
//     member at sequence n" has one answer.
//   - P5: the next sequence is the highest committed one plus 1.
//   - P6: an acknowledged append is stored whole (event, state of every scope,
//     sequence), or nothing of it is.
//   - P7: no acknowledged state key is lost, however many sessions write the
//     same scope.
//   - P8: session state is the state at creation, then every stored delta in
//     sequence order.
//   - P9: inputs are never modified; what is returned shares no memory with the
//     store.
//   - P10: every backend gives the same results, types and errors for the same
//     calls.
//
// Not promised: an order between conversations, exactly-once side effects of
// the calling program, and that a user: or app: value read with a session is
// newer than that instant.
//
// The package imports the standard library only. Package sessiontest holds the
// conformance suite that every backend passes.
package session

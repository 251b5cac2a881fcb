// Package adk lets programs written for ADK-Go keep their sessions in Hansard:
// [New] returns ADK's session.Service over any Hansard backend, and [Import]
// brings the tables of ADK-Go's own database service along.
//
//	db, err := database.Open(postgres.Open(dsn), database.WithClock(platform.Now))
//	...
//	svc := adk.New(db) // where the program had database.NewSessionService(…)
//
// # What is stored
//
// ADK's event is the payload, encoded and decoded by ADK's own JSON, so every
// field that ADK gives a JSON name survives; an event that this cannot decode
// again is refused. The columns of Hansard are a projection of it for queries:
// an empty author is "unknown", and text that a rule of Hansard forbids (too
// long, control characters) is "sha256:" and its hash. State keys with temp: are
// removed before encoding.
//
// # Interleaving
//
// By default every legitimate writer succeeds: two runs of one session may
// interleave their events, each of which is stored whole and in one order. The
// live session then catches up with what others committed in between.
// [WithExclusiveRuns] makes a run that finds a foreign event fail instead.
// google/adk-go issue 1229 and google/adk-python issue 4751 are the two halves of
// this choice; the examples of [New] and [WithExclusiveRuns] show them.
//
// # Clocks and IDs
//
// Session IDs, event IDs, event times and creation times come from ADK's package
// platform and so from the providers in the context. From the first event on
// LastUpdateTime is by Hansard's own clock: make the backend with
// WithClock(platform.Now) to have it from the provider, too.
package adk

package adk

import (
	"errors"
	"fmt"

	"github.com/hansardlog/hansard/session"
)

// Errors of [Import], matched with errors.Is.
var (
	// ErrIncomplete: [Import] came to the end of the source, but its report has
	// conflicts.
	ErrIncomplete = errors.New("not everything was imported")
	// ErrConflict: the destination has a session of the same key with other
	// content: it was not made by an import, was deleted meanwhile, or the
	// source has changed since it was imported.
	ErrConflict = errors.New("other content in the destination")
	// ErrUnreadable: a row of the source holds what ADK's own service could not
	// have read or written.
	ErrUnreadable = errors.New("unreadable row in the source")
)

// Report says what an [Import] did. Sessions is the sum of Created, Completed,
// Skipped and the conflicts of sessions.
type Report struct {
	Sessions  int // sessions of the source that were looked at
	Created   int // made in the destination
	Completed int // left half-way by an earlier import, now whole
	Skipped   int // whole in the destination already

	Events   int // stored by this import
	Replayed int // of completed sessions: stored by an earlier import, and verified

	// Ties counts the events with the very timestamp of the event before them
	// in the same session, where the ID decided the order. Skipped sessions and
	// conflicts count too.
	Ties int
	// TieExamples has the first few sessions with ties.
	TieExamples []Tie

	AppKeys  int // app: keys copied
	UserKeys int // user: keys copied
	KeptKeys int // app: and user: keys that the destination had already

	// Orphans counts events of the source whose session does not exist, as ADK
	// leaves them on SQLite after a deletion. They are not imported.
	Orphans int

	// Conflicts has all that could not be imported.
	Conflicts []Conflict
}

// maxTieExamples bounds Report.TieExamples.
const maxTieExamples = 10

func (r *Report) addTies(s *sourceSession) {
	r.Ties += s.ties
	if s.ties > 0 && len(r.TieExamples) < maxTieExamples {
		r.TieExamples = append(r.TieExamples, Tie{Key: s.key, Events: s.ties, EventID: s.tieID})
	}
}

// Tie is a session with events of equal timestamps.
type Tie struct {
	Key     session.Key
	Events  int    // how many events have the timestamp of the one before
	EventID string // one of them
}

// Conflict is what could not be imported: a session, or keys of app: or user:
// state.
type Conflict struct {
	Table string // of the source: sessions, app_states or user_states
	Key   session.Key
	// Stored of the session's Events are in the destination, its first ones, as
	// far as this import knows: it does not count in a session that it did not
	// make.
	Stored, Events int
	// Err matches [ErrConflict], [ErrUnreadable], or session.ErrInvalidArgument
	// for a value that breaks a rule of Hansard; it names the field and limit.
	Err error
}

func (c Conflict) Error() string {
	switch c.Table {
	case appStates:
		return fmt.Sprintf("state of app %q: %v", c.Key.AppName, c.Err)
	case userStates:
		return fmt.Sprintf("state of user %q/%q: %v", c.Key.AppName, c.Key.UserID, c.Err)
	}
	return fmt.Sprintf("session %s, %d of %d events stored: %v", c.Key, c.Stored, c.Events, c.Err)
}

// Unwrap returns Err.
func (c Conflict) Unwrap() error { return c.Err }

// Progress is how far an [Import] has come. Skipped sessions and conflicts
// count as done.
type Progress struct {
	Sessions, TotalSessions int
	Events, TotalEvents     int
}

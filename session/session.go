package session

import "time"

// Session is a session as of one instant.
type Session struct {
	Key  Key
	UID  string // this incarnation: a UUID made by the store
	Kind Kind
	// MinSeq is the first sequence still stored (1 in a log that was never
	// trimmed) and HeadSeq the last committed one, 0 in an empty log. For a
	// viewer HeadSeq is the last sequence it may see.
	MinSeq, HeadSeq int64
	// Epoch starts at 1 and is raised when the log is replaced as a whole.
	Epoch int64
	// State holds app:, user: and session keys together; never nil.
	State State
	// Events is ascending in Seq. Only Get fills it.
	Events []*Event
	// CreatedAt and UpdatedAt are in UTC and microseconds. UpdatedAt is the
	// RecordedAt of the last event, or when the session was created.
	CreatedAt, UpdatedAt time.Time
}

package database

import (
	"database/sql"
	"fmt"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/hansardlog/hansard/internal/request"
	"github.com/hansardlog/hansard/model"
	"github.com/hansardlog/hansard/session"
)

// dialect is what differs between databases. Everything else is written once.
type dialect interface {
	name() string
	hasSchemas() bool

	// opened prepares a pool that Open made.
	opened(db *gorm.DB, pool *sql.DB) error

	// write runs fn in a transaction that will write; read in one that shows a
	// single instant and takes no write lock; migrate in one in which no other
	// process migrates the same tables.
	write(db *gorm.DB, fn func(tx *gorm.DB) error) error
	read(db *gorm.DB, fn func(tx *gorm.DB) error) error
	migrate(db *gorm.DB, t tables, fn func(tx *gorm.DB) error) error

	// retryable reports whether the whole transaction may succeed when it is
	// repeated. A lost connection is not: the transaction may have committed.
	retryable(err error) bool

	// undone reports whether an error says that nothing of its transaction was
	// stored, COMMIT or not.
	undone(err error) bool

	// lockName names what an append to key locks; oneWriter is whether that is
	// the whole database.
	lockName(key session.Key) any
	oneWriter() bool

	// existing returns which of the named tables exist.
	existing(tx *gorm.DB, t tables, names []string) ([]string, error)

	// uuid returns an ID as the driver binds it to an ID column.
	uuid(id uuid.UUID) any

	// lock returns the conversation of key and locks its row until the
	// transaction ends; request.ErrNone if there is none.
	lock(tx *gorm.DB, t tables, key session.Key) (model.Conversation, error)

	// lockAndTake is lock for an append. If what the row itself says decides, it
	// may take the sequences with the same statement: then the verdict says so.
	lockAndTake(tx *gorm.DB, t tables, a *request.Append, c conditions) (model.Conversation, verdict, error)

	// decideAndWrite is the middle of an append, under the lock: it counts
	// replays and strangers and, if nothing stands against the append, takes the
	// sequences, unless v has them, and writes the events and their state changes.
	// Where one transaction appends to many conversations, the events are left to
	// insertAll.
	decideAndWrite(tx *gorm.DB, t tables, conv model.Conversation, a *request.Append, c conditions, v verdict, left *leftEvents) (verdict, error)
	insertAll(tx *gorm.DB, t tables, events []leftEvent) error

	// replays calls scan with the stored events whose author and idempotency
	// key are those of events, in any order; columns are of the alias e.
	replays(tx *gorm.DB, t tables, conv model.Conversation, columns string, events []*request.Event, scan func(*sql.Rows) error) error

	// insertEvents writes the events with their sequences.
	insertEvents(tx *gorm.DB, t tables, conv model.Conversation, events []*request.Event) error

	// userStates and sessionStates call scan with the place of a user or a
	// conversation in the list, from 0, and the name and value of a state key.
	userStates(tx *gorm.DB, t tables, app string, users []string, scan func(*sql.Rows) error) error
	sessionStates(tx *gorm.DB, t tables, convs []model.Conversation, scan func(*sql.Rows) error) error

	// upsertState writes the rows in their order, which is the order of locks.
	upsertState(tx *gorm.DB, t tables, scope stateScope, rows []stateRow, now int64) error
}

// conditions are what may stand against an append, beside its expected head.
type conditions struct {
	keyed   bool // look for replays
	guarded bool // where there are members, every author must be a current one
}

// leftEvents are events that a transaction has numbered and not yet inserted.
type leftEvents struct {
	convs map[session.Key]bool
	all   []leftEvent
}

type leftEvent struct {
	conversation uuid.UUID
	generation   int64
	event        *request.Event
}

func (l *leftEvents) add(key session.Key, conv model.Conversation, events []*request.Event) {
	if l.convs == nil {
		l.convs = map[session.Key]bool{}
	}
	l.convs[key] = true
	for _, e := range events {
		l.all = append(l.all, leftEvent{conv.ID, conv.Generation, e})
	}
}

// verdict is what an append came to. Nothing was written unless taken is true.
type verdict struct {
	replays   int // how many of the requests are known
	strangers int // how many of the authors are no current members, some at least
	taken     bool
	first     int64 // the first of the sequences taken
	updatedAt int64 // the conversation's, raised to the clock
}

// dialectOf is the only place where a database is told by its name.
func dialectOf(name string) (dialect, error) {
	switch name {
	case "postgres":
		return postgres{}, nil
	case "sqlite":
		return sqlite{}, nil
	}
	return nil, fmt.Errorf("database: no support for %q; postgres and sqlite are supported", name)
}

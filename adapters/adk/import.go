package adk

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"github.com/hansardlog/hansard/session"
)

// ImportOption configures [Import].
type ImportOption func(*importer)

// WithProgress makes Import call report from its own goroutine: once before the
// first session, then after each batch of events and after each session.
func WithProgress(report func(Progress)) ImportOption {
	return func(im *importer) { im.report = report }
}

// WithAppName imports the sessions and the state of one app only.
func WithAppName(name string) ImportOption { return func(im *importer) { im.src.app = name } }

// WithPageSize sets how many sessions are read at a time (default 5,000) and how
// many events are read and appended at a time, in one transaction (default 500,
// at most session.MaxBatchEvents). Both pages end earlier at 8 MiB.
func WithPageSize(sessions, events int) ImportOption {
	return func(im *importer) { im.sessionPage, im.eventPage = sessions, events }
}

// Import copies what ADK-Go's own database service wrote, on PostgreSQL or
// SQLite, into dst. It reads the tables sessions, events, app_states and
// user_states of src in bounded pages and writes nothing there. No statement is
// open on src while dst is called, so both may share a pool of one connection.
//
// A session keeps its key, its creation time and its state, which becomes the
// initial state. Its events keep IDs and timestamps and are numbered by
// (timestamp, id): by the instant, where ADK on SQLite compares the text of
// timestamps with their zones, and by the bytes of the ID where timestamps are
// equal, which the report counts as ties. The payload is the event as [New]
// would have stored it, its state delta included, but the delta is not applied
// again: Event.StateDelta is nil. An event of the zero time, which Hansard takes
// for none, keeps it in the payload; its Timestamp is that of the import. Keys
// with app: or user: come from their own tables, once, and only those that dst
// does not have.
//
// Import may be repeated, above all after an interruption. A session that is
// whole in dst is skipped after a look at its last imported event, whatever was
// appended there since. One that was left half-way is continued: what is stored
// is verified by replaying it, and nothing is appended unless the log ends where
// the source's next event belongs. Several imports may run at once.
//
// What is in the way of one session or state key does not stop the others. It
// becomes a [Conflict] of the report, and at the end Import returns an error
// matching [ErrIncomplete]. Such a session is missing in dst, or is there with
// its first events only; nothing of dst is ever overwritten or deleted. Any
// other error (of the context, of a database) ends the import at once; the
// report then says what was done until then.
//
// Stop the programs that write to src first, and start those on dst afterwards:
// a session that changes while it is copied is a conflict of the next import,
// and a shared key that dst gets in the moment it is looked for is overwritten.
func Import(ctx context.Context, src *gorm.DB, dst session.Service, opts ...ImportOption) (Report, error) {
	im := &importer{dst: dst, sessionPage: 5000, eventPage: 500, report: func(Progress) {}}
	for _, opt := range opts {
		opt(im)
	}
	err := im.run(ctx, src)
	if err == nil && len(im.rep.Conflicts) > 0 {
		err = fmt.Errorf("%w: conflicts: %d, the first: %v", ErrIncomplete, len(im.rep.Conflicts), im.rep.Conflicts[0])
	}
	if err != nil {
		return im.rep, fmt.Errorf("adk: import: %w", err)
	}
	return im.rep, nil
}

// importer is one call of Import.
type importer struct {
	src                    source
	dst                    session.Service
	sessionPage, eventPage int
	report                 func(Progress)

	rep      Report
	progress Progress
}

func (im *importer) run(ctx context.Context, src *gorm.DB) error {
	switch {
	case src == nil:
		return invalid("src", "nil")
	case im.dst == nil:
		return invalid("dst", "nil")
	case im.report == nil:
		return invalid("WithProgress", "nil")
	case im.sessionPage < 1 || im.sessionPage > maxSessionPage:
		return invalid("WithPageSize", fmt.Sprintf("%d sessions, from 1 to %d", im.sessionPage, maxSessionPage))
	case im.eventPage < 1 || im.eventPage > session.MaxBatchEvents:
		return invalid("WithPageSize", fmt.Sprintf("%d events, from 1 to %d", im.eventPage, session.MaxBatchEvents))
	}
	if err := im.src.open(ctx, src); err != nil {
		return err
	}
	sessions, events, orphans, err := im.src.totals(ctx)
	if err != nil {
		return err
	}
	im.rep.Orphans = orphans
	im.progress.TotalSessions, im.progress.TotalEvents = sessions, events
	im.report(im.progress)
	if err := im.copyShared(ctx); err != nil {
		return err
	}
	return im.copySessions(ctx)
}

func (im *importer) copySessions(ctx context.Context) error {
	var after session.Key
	for first := true; ; first = false {
		page, more, err := im.src.sessions(ctx, after, first, im.sessionPage)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			return nil
		}
		after = page[len(page)-1].key
		if err := im.src.survey(ctx, page); err != nil {
			return err
		}
		log := im.src.log(page)
		for i := range page {
			if err := im.copySession(ctx, &page[i], log); err != nil {
				return fmt.Errorf("session %s: %w", page[i].key, err)
			}
		}
		if !more {
			return nil
		}
	}
}

// copySession imports a session and keeps the accounts. The error is one that
// ends the import.
func (im *importer) copySession(ctx context.Context, s *sourceSession, log *logReader) error {
	im.rep.Sessions++
	im.rep.addTies(s)
	done := im.progress.Events
	c := &copying{importer: im, s: s, log: log}
	outcome, err := c.run(ctx)
	switch {
	case err == nil:
		*outcome++
	case refused(err):
		im.rep.Conflicts = append(im.rep.Conflicts, Conflict{Table: "sessions", Key: s.key, Stored: c.stored, Events: s.events, Err: err})
	default:
		return err
	}
	im.progress.Sessions++
	im.progress.Events = done + s.events
	im.report(im.progress)
	return nil
}

// refused reports whether err concerns one session or key, so that the import
// goes on with the others.
func refused(err error) bool {
	return errors.Is(err, ErrConflict) || errors.Is(err, ErrUnreadable) || errors.Is(err, session.ErrInvalidArgument)
}

package database

import (
	"bytes"
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	"gorm.io/gorm"

	"github.com/hansardlog/hansard/internal/request"
	"github.com/hansardlog/hansard/internal/stateutil"
	"github.com/hansardlog/hansard/model"
	"github.com/hansardlog/hansard/session"
)

// checker verifies one conversation within one snapshot.
type checker struct {
	s     *Service
	tx    *gorm.DB
	conv  model.Conversation
	key   session.Key
	found []error

	joins, leaves sequences        // as the log has them
	state         stateutil.Values // as the log has it
}

// sequences are those at which something happened to a member.
type sequences map[memberSeq]bool

type memberSeq struct {
	member string
	seq    int64
}

func (s *Service) checkConversation(tx *gorm.DB, key session.Key) ([]error, error) {
	conv, _, err := s.look(tx, key, "", "")
	if errors.Is(err, request.ErrNone) {
		return nil, nil // deleted meanwhile
	}
	if err != nil {
		return nil, err
	}
	c := &checker{s: s, tx: tx, conv: conv, key: key, joins: sequences{}, leaves: sequences{}}
	for _, step := range []func() error{c.log, c.requests, c.periods, c.sessionState} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return c.found, nil
}

func (c *checker) violated(guarantee, format string, args ...any) {
	c.found = append(c.found, &Violation{Guarantee: guarantee, Key: c.key, Detail: fmt.Sprintf(format, args...)})
}

func (c *checker) id() []any { return []any{c.s.dialect.uuid(c.conv.ID), c.conv.Generation} }

// log reads the events page by page: P1 and P5, and what the log says of state
// and members.
func (c *checker) log() error {
	if err := c.checkpoint(); err != nil {
		return err
	}
	want, after, read := c.conv.MinSeq, int64(-1), 0 // from the very first row, also one below min_seq
	for {
		var page []*request.Event
		err := query(c.tx, c.s.t.sql(`SELECT seq, kind, subject, delta, deletions FROM {events}
			WHERE conversation_id = ? AND generation = ? AND seq > ? ORDER BY seq LIMIT ?`),
			append(c.id(), after, checkPage), func(rows *sql.Rows) error {
				var e request.Event
				err := rows.Scan(&e.Seq, &e.Kind, &e.Subject, &e.Delta, &e.Deletions)
				page = append(page, &e)
				return err
			})
		if err != nil {
			return err
		}
		for _, e := range page {
			if e.Seq != want {
				c.violated("P1", "sequence %d follows %d, want %d", e.Seq, want-1, want)
			}
			want, after = e.Seq+1, e.Seq
			switch e.Kind {
			case session.EventJoin:
				c.joins[memberSeq{e.Subject, e.Seq}] = true
			case session.EventLeave:
				c.leaves[memberSeq{e.Subject, e.Seq}] = true
			}
			c.apply(e)
		}
		read += len(page)
		if len(page) < checkPage {
			break
		}
	}
	// Pages go by sequence: one that is repeated across their border shows only
	// in the count.
	var rows int
	_, err := queryRow(c.tx, c.s.t.sql(`SELECT count(*) FROM {events} WHERE conversation_id = ? AND generation = ?`), c.id(), &rows)
	if err != nil {
		return err
	}
	if rows != read {
		c.violated("P1", "%d events, but only %d of different sequence", rows, read)
	}
	if c.conv.NextSeq != want {
		c.violated("P5", "next_seq is %d, the highest sequence %d", c.conv.NextSeq, want-1)
	}
	return nil
}

// checkpoint starts the state from the last checkpoint before the log begins.
func (c *checker) checkpoint() error {
	var object []byte
	_, err := queryRow(c.tx, c.s.t.sql(`SELECT state FROM {state_checkpoints}
		WHERE conversation_id = ? AND generation = ? AND seq < ? ORDER BY seq DESC LIMIT 1`), append(c.id(), c.conv.MinSeq), &object)
	if err != nil {
		return err
	}
	c.state, err = stateutil.DecodeValues(object)
	if err != nil {
		c.violated("P8", "checkpoint: %v", err)
	}
	if c.state == nil {
		c.state = stateutil.Values{}
	}
	return nil
}

// apply applies the session keys of a stored delta.
func (c *checker) apply(e *request.Event) {
	set, err := stateutil.DecodeValues(e.Delta)
	if err != nil {
		c.violated("P8", "event %d: %v", e.Seq, err)
	}
	maps.Copy(c.state, stateutil.Split(set).Session)
	deleted, err := stateutil.DecodeNames(e.Deletions)
	if err != nil {
		c.violated("P8", "event %d: %v", e.Seq, err)
	}
	for _, key := range deleted {
		delete(c.state, key) // a key with a prefix is no session key and not there
	}
}

// requests: P2.
func (c *checker) requests() error {
	return query(c.tx, c.s.t.sql(`SELECT author, idempotency_key, count(*) FROM {events}
		WHERE conversation_id = ? AND generation = ? AND idempotency_key IS NOT NULL
		GROUP BY author, idempotency_key HAVING count(*) > 1`), c.id(), func(rows *sql.Rows) error {
		var author, key string
		var n int
		err := rows.Scan(&author, &key, &n)
		c.violated("P2", "author %q and idempotency key %q name %d events", author, key, n)
		return err
	})
}

// periods: P3 within each member's periods, P4 against the log.
func (c *checker) periods() error {
	periods, err := c.s.periods(c.tx, c.conv, "")
	if err != nil {
		return err
	}
	slices.SortStableFunc(periods, func(a, b session.Period) int { return cmp.Compare(a.Member, b.Member) })
	opened, closed := sequences{}, sequences{}
	for i, p := range periods {
		opened[memberSeq{p.Member, p.FromSeq}] = true
		if p.ToSeq != 0 {
			closed[memberSeq{p.Member, p.ToSeq}] = true
		}
		if i == 0 || periods[i-1].Member != p.Member {
			continue
		}
		if before := periods[i-1]; before.ToSeq == 0 || before.ToSeq >= p.FromSeq {
			c.violated("P3", "periods of %q overlap: %d to %d, and from %d", p.Member, before.FromSeq, before.ToSeq, p.FromSeq)
		}
	}
	c.compare("join", c.joins, "opens", opened)
	c.compare("leave", c.leaves, "closes", closed)
	return nil
}

// compare: P4. Trimmed events are not compared: their periods stay.
func (c *checker) compare(kind string, events sequences, verb string, periods sequences) {
	for e := range events {
		if !periods[e] {
			c.violated("P4", "%s of %q at %d %s no period", kind, e.member, e.seq, verb)
		}
	}
	for p := range periods {
		if p.seq >= c.conv.MinSeq && !events[p] {
			c.violated("P4", "a period of %q %s at %d, where no %s is", p.member, verb, p.seq, kind)
		}
	}
}

// sessionState: P8.
func (c *checker) sessionState() error {
	scopes, err := c.s.readScopes(c.tx, selectOwn, c.id()...)
	if err != nil {
		return err
	}
	stored := scopes.Session
	for _, name := range stateutil.Names(c.state) {
		if value, ok := stored[name]; !ok {
			c.violated("P8", "state key %q of the log is not stored", name)
		} else if !bytes.Equal(value, c.state[name]) {
			c.violated("P8", "state key %q differs from the log", name)
		}
	}
	for _, name := range stateutil.Names(stored) {
		if _, ok := c.state[name]; !ok {
			c.violated("P8", "state key %q is stored and not in the log", name)
		}
	}
	return nil
}

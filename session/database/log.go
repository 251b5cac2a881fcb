package database

import (
	"context"
	"database/sql"
	"slices"

	"gorm.io/gorm"

	"github.com/hansardlog/hansard/internal/request"
	"github.com/hansardlog/hansard/internal/view"
	"github.com/hansardlog/hansard/model"
	"github.com/hansardlog/hansard/session"
)

// ListEvents implements [session.Log].
func (s *Service) ListEvents(ctx context.Context, req *session.ListEventsRequest) (*session.ListEventsResponse, error) {
	l, err := s.cfg.ListEvents(ctx, req)
	if err != nil {
		return nil, err
	}
	var resp *session.ListEventsResponse
	err = s.inSnapshot(ctx, func(tx *gorm.DB) (err error) {
		resp, err = s.listEvents(tx, l)
		return err
	})
	if err != nil {
		return nil, request.Failed("list events of", l.Key, l.Viewer, err)
	}
	return resp, nil
}

func (s *Service) listEvents(tx *gorm.DB, l *session.ListEventsRequest) (*session.ListEventsResponse, error) {
	conv, v, err := s.look(tx, l.Key, l.UID, l.Viewer)
	if err != nil {
		return nil, err
	}
	if l.Epoch != 0 && l.Epoch != conv.Epoch {
		return nil, &session.EpochError{Key: l.Key, Expected: l.Epoch, Epoch: conv.Epoch}
	}
	resp := &session.ListEventsResponse{UID: conv.UID.String(), MinSeq: conv.MinSeq, HeadSeq: v.Head, Epoch: conv.Epoch}
	// One more than the page tells whether there is more.
	events, err := s.readEvents(tx, conv, v.Between(l.AfterSeq, l.BeforeSeq), selection{descending: l.Descending, limit: l.Limit + 1})
	if err != nil {
		return nil, err
	}
	if resp.More = len(events) > l.Limit; resp.More {
		if l.Descending {
			events = events[1:]
		} else {
			events = events[:l.Limit]
		}
	}
	if l.Descending {
		slices.Reverse(events)
	}
	resp.Events = events
	return resp, nil
}

// look returns the conversation of key and what viewer sees of it.
func (s *Service) look(tx *gorm.DB, key session.Key, uid, viewer string) (model.Conversation, view.View, error) {
	conv, err := queryConversation(tx, s.t.sql(`SELECT `+conversationColumns+` FROM {conversations} c WHERE `+byKey), keyArgs(s.dialect, key)...)
	if err == nil {
		err = isIncarnation(conv, uid)
	}
	if err != nil {
		return conv, view.View{}, err
	}
	var own []session.Period
	if viewer != "" && session.Kind(conv.Kind) != session.KindSession {
		if own, err = s.periods(tx, conv, "AND member = ?", viewer); err != nil {
			return conv, view.View{}, err
		}
	}
	v, ok := view.Of(viewer, session.Kind(conv.Kind), conv.UserID, own, conv.NextSeq-1)
	if !ok {
		return conv, view.View{}, session.ErrNotMember
	}
	return conv, v, nil
}

// selection narrows what readEvents reads of its windows.
type selection struct {
	after      int64 // smallest timestamp, if filterTime
	filterTime bool
	limit      int  // 0: all
	descending bool // with a limit: the last ones
}

// rangeLength is how many sequences one query without a limit covers. A longer
// range may look like most of the table, and be read by scanning and sorting it.
const rangeLength = 10_000

// readEvents returns the selected events in ascending order. Each window is a
// range of the primary key, so what lies between windows costs nothing.
func (s *Service) readEvents(tx *gorm.DB, conv model.Conversation, windows []view.Window, sel selection) ([]*session.Event, error) {
	if sel.limit == 0 || sel.filterTime {
		windows = view.Split(windows, rangeLength)
	}
	if sel.descending {
		windows = slices.Clone(windows)
		slices.Reverse(windows)
	}
	var stored []*request.Event
	for _, w := range windows {
		statement := `SELECT ` + eventColumns + ` FROM {events} e
			WHERE e.conversation_id = ? AND e.generation = ? AND e.seq BETWEEN ? AND ?`
		args := []any{s.dialect.uuid(conv.ID), conv.Generation, w.From, w.To}
		if sel.filterTime {
			statement += ` AND e.timestamp >= ?`
			args = append(args, sel.after)
		}
		statement += ` ORDER BY e.seq`
		if sel.descending {
			statement += ` DESC`
		}
		if sel.limit > 0 {
			statement += ` LIMIT ?`
			args = append(args, sel.limit-len(stored))
		}
		err := query(tx, s.t.sql(statement), args, func(rows *sql.Rows) error {
			e, err := scanEvent(rows)
			stored = append(stored, e)
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(stored) == sel.limit && sel.limit > 0 {
			break
		}
	}
	if sel.descending {
		slices.Reverse(stored)
	}
	return request.Decode(stored)
}

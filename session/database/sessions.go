package database

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"slices"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/hansardlog/hansard/internal/request"
	"github.com/hansardlog/hansard/internal/stateutil"
	"github.com/hansardlog/hansard/internal/view"
	"github.com/hansardlog/hansard/model"
	"github.com/hansardlog/hansard/session"
)

// Create implements [session.Sessions].
func (s *Service) Create(ctx context.Context, req *session.CreateRequest) (*session.CreateResponse, error) {
	cr, err := s.cfg.Create(ctx, req)
	if err != nil {
		return nil, err
	}
	var created *session.Session
	create := func() error {
		return s.inTx(ctx, func(tx *gorm.DB) (err error) {
			created, err = s.create(tx, cr)
			return err
		})
	}
	clean := func() error { return s.removeDiscarded(ctx, request.ConversationID(cr.Key)) }
	// Cleaning comes first, so that its failure stores nothing; but it reads
	// first, which a transaction on SQLite must not, so in the caller's it comes
	// second.
	steps := []func() error{clean, create}
	if s.joined {
		slices.Reverse(steps)
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, request.Failed("create", cr.Key, "", err)
		}
	}
	return &session.CreateResponse{Session: created}, nil
}

// create runs inside tx. Lock order as for appends: the new row is the lock of
// its conversation.
func (s *Service) create(tx *gorm.DB, cr *request.Create) (*session.Session, error) {
	conv := model.Conversation{
		ID:         request.ConversationID(cr.Key),
		UID:        uuid.New(),
		Generation: newGeneration(),
		NextSeq:    int64(len(cr.Joins)) + 1,
		MinSeq:     1,
		Epoch:      1,
		CreatedAt:  cr.CreatedAt,
		UpdatedAt:  cr.Now,
		Kind:       string(cr.Kind),
		AppName:    cr.Key.AppName,
		UserID:     cr.Key.UserID,
		SessionID:  cr.Key.SessionID,
	}
	// An existing key is no error of the database: the caller's transaction
	// would not survive one.
	n, err := exec(tx, s.t.sql(`INSERT INTO {conversations} (id, uid, generation, next_seq, min_seq, epoch, created_at, updated_at,
		kind, app_name, user_id, session_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`),
		s.dialect.uuid(conv.ID), s.dialect.uuid(conv.UID), conv.Generation, conv.NextSeq, conv.MinSeq, conv.Epoch,
		conv.CreatedAt, conv.UpdatedAt, conv.Kind, conv.AppName, conv.UserID, conv.SessionID)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, session.ErrAlreadyExists
	}
	if len(cr.Joins) > 0 {
		if err := s.dialect.insertEvents(tx, s.t, conv, cr.Joins); err != nil {
			return nil, err
		}
		if err := s.openPeriods(tx, conv, cr.Joins); err != nil {
			return nil, err
		}
	}
	if state := stateutil.Object(cr.State.Session); state != nil {
		_, err := exec(tx, s.t.sql(`INSERT INTO {state_checkpoints} (conversation_id, generation, seq, state) VALUES (?, ?, 0, ?)`),
			s.dialect.uuid(conv.ID), conv.Generation, string(state))
		if err != nil {
			return nil, err
		}
	}
	initial := changes{
		app:     cr.State.App,
		users:   map[string]stateutil.Values{conv.UserID: cr.State.User},
		session: cr.State.Session,
	}
	if err := writeStates(tx, s.dialect, s.t, conv, initial, cr.Now); err != nil {
		return nil, err
	}
	created := sessionOf(conv, view.Whole(conv.NextSeq-1))
	created.State, err = s.readState(tx, conv, conv.UserID, true)
	return created, err
}

// newGeneration names the rows of a new log. It is random, so that a log written
// while another of the same conversation is being removed shares no row with it.
func newGeneration() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return int64(binary.BigEndian.Uint64(b[:]) >> 1)
}

// Get implements [session.Sessions].
func (s *Service) Get(ctx context.Context, req *session.GetRequest) (*session.GetResponse, error) {
	g, err := s.cfg.Get(ctx, req)
	if err != nil {
		return nil, err
	}
	var found *session.Session
	err = s.inSnapshot(ctx, func(tx *gorm.DB) (err error) {
		found, err = s.get(tx, g)
		return err
	})
	if err != nil {
		return nil, request.Failed("get", g.Key, g.Viewer, err)
	}
	return &session.GetResponse{Session: found}, nil
}

func (s *Service) get(tx *gorm.DB, g *request.Get) (*session.Session, error) {
	conv, v, err := s.look(tx, g.Key, g.UID, g.Viewer)
	if err != nil {
		return nil, err
	}
	found := sessionOf(conv, v)
	if v.Former {
		last, err := s.readEvents(tx, conv, []view.Window{{From: v.Head, To: v.Head}}, selection{})
		if err != nil {
			return nil, err
		}
		found.UpdatedAt = last[0].RecordedAt
	}
	user := g.Viewer
	if user == "" {
		user = conv.UserID
	}
	if found.State, err = s.readState(tx, conv, user, !v.Former); err != nil {
		return nil, err
	}
	if g.WithoutEvents {
		return found, nil
	}
	found.Events, err = s.readEvents(tx, conv, v.Between(g.AfterSeq, 0), selection{
		after:      g.AfterMicros,
		filterTime: g.FilterTime,
		descending: g.NumRecentEvents > 0,
		limit:      g.NumRecentEvents,
	})
	return found, err
}

package database

import (
	"context"
	"database/sql"

	"gorm.io/gorm"

	"github.com/hansardlog/hansard/internal/request"
	"github.com/hansardlog/hansard/internal/stateutil"
	"github.com/hansardlog/hansard/model"
	"github.com/hansardlog/hansard/session"
)

// GetState implements [session.SharedState].
func (s *Service) GetState(ctx context.Context, req *session.GetStateRequest) (*session.GetStateResponse, error) {
	if err := s.cfg.GetState(ctx, req); err != nil {
		return nil, err
	}
	var state session.State
	err := s.inStatement(ctx, func(tx *gorm.DB) (err error) {
		state, err = s.sharedState(tx, req.AppName, req.UserID)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &session.GetStateResponse{State: state}, nil
}

// UpdateState implements [session.SharedState].
func (s *Service) UpdateState(ctx context.Context, req *session.UpdateStateRequest) (*session.UpdateStateResponse, error) {
	up, err := s.cfg.UpdateState(ctx, req)
	if err != nil {
		return nil, err
	}
	var state session.State
	err = s.inTx(ctx, func(tx *gorm.DB) (err error) {
		state, err = s.updateState(tx, up)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &session.UpdateStateResponse{State: state}, nil
}

func (s *Service) updateState(tx *gorm.DB, up *request.UpdateState) (session.State, error) {
	err := writeStates(tx, s.dialect, s.t, model.Conversation{AppName: up.AppName}, changes{
		app:   up.Changes.App,
		users: map[string]stateutil.Values{up.UserID: up.Changes.User},
	}, up.Now)
	if err != nil {
		return nil, err
	}
	return s.sharedState(tx, up.AppName, up.UserID)
}

func (s *Service) sharedState(tx *gorm.DB, app, user string) (session.State, error) {
	scopes, err := s.readShared(tx, app, user)
	if err != nil {
		return nil, err
	}
	return stateutil.Decode(scopes)
}

const (
	selectApp  = `SELECT 'app' AS scope, name, value FROM {app_states} WHERE app_name = ? AND value IS NOT NULL`
	selectUser = `SELECT 'user' AS scope, name, value FROM {user_states} WHERE app_name = ? AND user_id = ? AND value IS NOT NULL`
	selectOwn  = `SELECT 'session' AS scope, name, value FROM {session_states}
		WHERE conversation_id = ? AND generation = ? AND value IS NOT NULL`
	unionAll = ` UNION ALL `
)

// readShared reads app state and, with a user, that user's state.
func (s *Service) readShared(tx *gorm.DB, app, user string) (stateutil.Scopes, error) {
	if user == "" {
		return s.readScopes(tx, selectApp, app)
	}
	return s.readScopes(tx, selectApp+unionAll+selectUser, app, app, user)
}

// readState reads the state that user sees of a conversation, in one query;
// session keys only if own is set.
func (s *Service) readState(tx *gorm.DB, conv model.Conversation, user string, own bool) (session.State, error) {
	statement, args := selectApp+unionAll+selectUser, []any{conv.AppName, conv.AppName, user}
	if own {
		statement += unionAll + selectOwn
		args = append(args, s.dialect.uuid(conv.ID), conv.Generation)
	}
	scopes, err := s.readScopes(tx, statement, args...)
	if err != nil {
		return nil, err
	}
	return stateutil.Decode(scopes)
}

func (s *Service) readScopes(tx *gorm.DB, statement string, args ...any) (scopes stateutil.Scopes, err error) {
	err = query(tx, s.t.sql(statement), args, func(rows *sql.Rows) error {
		var scope, name string
		var value []byte
		if err := rows.Scan(&scope, &name, &value); err != nil {
			return err
		}
		into := &scopes.App
		switch scope {
		case "user":
			into = &scopes.User
		case "session":
			into = &scopes.Session
		}
		if *into == nil {
			*into = stateutil.Values{}
		}
		(*into)[name] = value
		return nil
	})
	return scopes, err
}

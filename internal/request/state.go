package request

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hansardlog/hansard/internal/check"
	"github.com/hansardlog/hansard/internal/stateutil"
	"github.com/hansardlog/hansard/session"
)

// UpdateState is a prepared change of shared state.
type UpdateState struct {
	AppName, UserID string
	Changes         stateutil.Scopes // App and User only
	Now             int64
}

// GetState checks a read of shared state.
func (c Config) GetState(ctx context.Context, req *session.GetStateRequest) error {
	if req == nil {
		return required()
	}
	if err := checkScopes(req.AppName, req.UserID); err != nil {
		return err
	}
	return ctx.Err()
}

// UpdateState prepares a change of shared state.
func (c Config) UpdateState(ctx context.Context, req *session.UpdateStateRequest) (*UpdateState, error) {
	if req == nil {
		return nil, required()
	}
	if err := checkScopes(req.AppName, req.UserID); err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(req.Delta)) {
		if err := checkShared(fmt.Sprintf("Delta[%q]", key), key, req.UserID); err != nil {
			return nil, err
		}
	}
	for i, key := range req.Delete {
		if err := checkShared(fmt.Sprintf("Delete[%d]", i), key, req.UserID); err != nil {
			return nil, err
		}
	}
	delta, err := stateutil.Encode("Delta", req.Delta, "Delete", req.Delete)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &UpdateState{
		AppName: req.AppName,
		UserID:  req.UserID,
		Changes: stateutil.Split(delta.Changes()),
		Now:     c.now(ctx),
	}, nil
}

func checkScopes(app, user string) error {
	if err := check.Name("AppName", app); err != nil {
		return err
	}
	return check.Text("UserID", user, session.MaxTextBytes)
}

// checkShared checks that a key has a scope which the request names.
func checkShared(field, key, user string) error {
	switch {
	case strings.HasPrefix(key, session.AppPrefix):
		return nil
	case strings.HasPrefix(key, session.UserPrefix):
		if user == "" {
			return check.Invalid(field, "%s key without UserID", session.UserPrefix)
		}
		return nil
	}
	return check.Invalid(field, "only %s and %s keys are shared state", session.AppPrefix, session.UserPrefix)
}

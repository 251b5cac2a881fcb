package request

import (
	"context"
	"slices"

	"github.com/hansardlog/hansard/internal/check"
	"github.com/hansardlog/hansard/internal/stateutil"
	"github.com/hansardlog/hansard/session"
)

// Change is a prepared join or leave.
type Change struct {
	Key   session.Key
	UID   string
	Now   int64
	Event *Event // Author is the actor, Subject the member
}

// Join prepares a join.
func (c Config) Join(ctx context.Context, req *session.JoinRequest) (*Change, error) {
	if req == nil {
		return nil, required()
	}
	return c.change(ctx, session.EventJoin, *req)
}

// Leave prepares a leave.
func (c Config) Leave(ctx context.Context, req *session.LeaveRequest) (*Change, error) {
	if req == nil {
		return nil, required()
	}
	return c.change(ctx, session.EventLeave, session.JoinRequest(*req))
}

func (c Config) change(ctx context.Context, kind session.EventKind, req session.JoinRequest) (*Change, error) {
	if err := check.Key(req.Key); err != nil {
		return nil, err
	}
	if err := check.Name("Member", req.Member); err != nil {
		return nil, err
	}
	if err := check.Text("Actor", req.Actor, session.MaxTextBytes); err != nil {
		return nil, err
	}
	if err := check.Text("IdempotencyKey", req.IdempotencyKey, session.MaxTextBytes); err != nil {
		return nil, err
	}
	if err := check.JSON("Payload", req.Payload, c.MaxPayload); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ch := &Change{Key: req.Key, UID: req.UID, Now: c.now(ctx)}
	var err error
	ch.Event, err = c.membershipEvent(ctx, kind, req.Actor, req.Member, req.IdempotencyKey, req.Payload, ch.Now)
	return ch, err
}

func (c Config) membershipEvent(ctx context.Context, kind session.EventKind, actor, member, key string, payload []byte, now int64) (*Event, error) {
	id, err := c.newID(ctx)
	if err != nil {
		return nil, check.In("Event.ID", err)
	}
	e := &Event{
		ID:             id,
		Kind:           kind,
		Author:         actor,
		Subject:        member,
		Timestamp:      now,
		IdempotencyKey: key,
	}
	if len(payload) > 0 {
		e.Payload = slices.Clone(payload)
	}
	if e.IdempotencyKey != "" { // else nobody asks for it
		e.Hash = requestHash(e, stateutil.Delta{})
	}
	return e, nil
}

// ListMembers checks a read of members.
func (c Config) ListMembers(ctx context.Context, req *session.ListMembersRequest) error {
	if req == nil {
		return required()
	}
	if err := check.Key(req.Key); err != nil {
		return err
	}
	if err := check.NotNegative("AtSeq", req.AtSeq); err != nil {
		return err
	}
	if req.History && req.AtSeq != 0 {
		return check.Invalid("History", "together with AtSeq %d, only one of them", req.AtSeq)
	}
	return ctx.Err()
}

// NoGroup is the error of a join or leave in a kind whose members are fixed.
func NoGroup(kind session.Kind) error {
	return check.Invalid("Key", "members join and leave in kind %q only, this session is of kind %q", session.KindGroup, kind)
}

// CheckChange is the last check of a join or leave: whether the member is one.
func CheckChange(kind session.EventKind, member bool) error {
	switch {
	case kind == session.EventJoin && member:
		return session.ErrAlreadyMember
	case kind == session.EventLeave && !member:
		return session.ErrNotMember
	}
	return nil
}

package request

import (
	"context"
	"fmt"

	"github.com/hansardlog/hansard/internal/check"
	"github.com/hansardlog/hansard/internal/stateutil"
	"github.com/hansardlog/hansard/session"
)

// Create is a prepared creation.
type Create struct {
	Key       session.Key
	Kind      session.Kind
	State     stateutil.Scopes
	CreatedAt int64    // microseconds
	Now       int64    // microseconds
	Joins     []*Event // one for each member, with sequences from 1
}

// Create prepares a creation.
func (c Config) Create(ctx context.Context, req *session.CreateRequest) (*Create, error) {
	if req == nil {
		return nil, required()
	}
	if err := check.Owner(req.Key); err != nil {
		return nil, err
	}
	if err := check.Text("Key.SessionID", req.Key.SessionID, session.MaxTextBytes); err != nil {
		return nil, err
	}
	cr := &Create{Key: req.Key, Kind: req.Kind}
	if cr.Kind == "" {
		cr.Kind = session.KindSession
	}
	if err := checkMembers(cr.Kind, req.Members); err != nil {
		return nil, err
	}
	delta, err := stateutil.Encode("State", req.State, "", nil)
	if err != nil {
		return nil, err
	}
	cr.State = stateutil.Split(delta.Set)
	createdAt, set, err := check.Micros("CreatedAt", req.CreatedAt)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	cr.Now = c.now(ctx)
	if cr.CreatedAt = createdAt; !set {
		cr.CreatedAt = cr.Now
	}
	if cr.Key.SessionID == "" {
		if cr.Key.SessionID, err = c.newID(ctx); err != nil {
			return nil, check.In("Key.SessionID", err)
		}
	}
	for i, member := range req.Members {
		join, err := c.membershipEvent(ctx, session.EventJoin, "", member, "", nil, cr.Now)
		if err != nil {
			return nil, err
		}
		join.Seq, join.RecordedAt = int64(i+1), cr.Now
		cr.Joins = append(cr.Joins, join)
	}
	return cr, nil
}

func checkMembers(kind session.Kind, members []string) error {
	n := len(members)
	switch kind {
	case session.KindSession:
		if n != 0 {
			return check.Invalid("Members", "%d members, kind %q has none", n, kind)
		}
	case session.KindDirect:
		if n != 2 {
			return check.Invalid("Members", "%d members, kind %q has exactly 2", n, kind)
		}
	case session.KindGroup:
		if n == 0 {
			return check.Invalid("Members", "0 members, kind %q has at least 1", kind)
		}
	default:
		return check.Invalid("Kind", "unknown kind %q", kind)
	}
	first := make(map[string]int, n)
	for i, member := range members {
		field := fmt.Sprintf("Members[%d]", i)
		if err := check.Name(field, member); err != nil {
			return err
		}
		if j, twice := first[member]; twice {
			return check.Invalid(field, "the member of Members[%d] again", j)
		}
		first[member] = i
	}
	return nil
}

// Get is a prepared read of a session.
type Get struct {
	session.GetRequest
	AfterMicros int64 // valid if FilterTime
	FilterTime  bool
}

// Get prepares a read of a session.
func (c Config) Get(ctx context.Context, req *session.GetRequest) (*Get, error) {
	if req == nil {
		return nil, required()
	}
	g := &Get{GetRequest: *req}
	if err := check.Key(g.Key); err != nil {
		return nil, err
	}
	if err := check.Text("Viewer", g.Viewer, session.MaxTextBytes); err != nil {
		return nil, err
	}
	if err := check.NotNegative("NumRecentEvents", int64(g.NumRecentEvents)); err != nil {
		return nil, err
	}
	if err := check.NotNegative("AfterSeq", g.AfterSeq); err != nil {
		return nil, err
	}
	var err error
	if g.AfterMicros, g.FilterTime, err = check.Micros("After", g.After); err != nil {
		return nil, err
	}
	return g, ctx.Err()
}

// Delete checks a deletion and returns its time.
func (c Config) Delete(ctx context.Context, req *session.DeleteRequest) (now int64, err error) {
	if req == nil {
		return 0, required()
	}
	if err := check.Key(req.Key); err != nil {
		return 0, err
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return c.now(ctx), nil
}

// ListEvents prepares a read of a page of events: the copy it returns has the
// default limit filled in.
func (c Config) ListEvents(ctx context.Context, req *session.ListEventsRequest) (*session.ListEventsRequest, error) {
	if req == nil {
		return nil, required()
	}
	l := *req
	if err := check.Key(l.Key); err != nil {
		return nil, err
	}
	if err := check.Text("Viewer", l.Viewer, session.MaxTextBytes); err != nil {
		return nil, err
	}
	for _, f := range []struct {
		name  string
		value int64
	}{{"AfterSeq", l.AfterSeq}, {"BeforeSeq", l.BeforeSeq}, {"Epoch", l.Epoch}} {
		if err := check.NotNegative(f.name, f.value); err != nil {
			return nil, err
		}
	}
	var err error
	if l.Limit, err = check.Size("Limit", l.Limit); err != nil {
		return nil, err
	}
	return &l, ctx.Err()
}

package inmemory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/hansardlog/hansard/internal/request"
	"github.com/hansardlog/hansard/internal/stateutil"
	"github.com/hansardlog/hansard/internal/view"
	"github.com/hansardlog/hansard/session"
)

// List implements [session.Sessions].
func (s *Service) List(ctx context.Context, req *session.ListRequest) (*session.ListResponse, error) {
	l, err := s.cfg.List(ctx, req)
	if err != nil {
		return nil, err
	}
	conversations, release := s.lockAll(l.AppName, l.UserID)
	defer release()
	page := selectPage(l, conversations)
	resp := &session.ListResponse{}
	if len(page) > l.PageSize {
		page = page[:l.PageSize]
		resp.NextPageToken = l.Token(page[len(page)-1].cursor(l.Order))
	}
	states, err := s.states(l, page)
	if err != nil {
		return nil, err
	}
	for i, c := range page {
		found := c.session(view.Whole(c.head()))
		if l.WithState {
			found.State = states[i]
		}
		resp.Sessions = append(resp.Sessions, found)
	}
	return resp, nil
}

// lockAll locks all conversations of an app, or of one owner in it, for
// reading: a page shows one instant.
func (s *Service) lockAll(app, owner string) (conversations []*conversation, release func()) {
	s.conversations.Range(func(k, v any) bool {
		if key := k.(session.Key); key.AppName == app && (owner == "" || key.UserID == owner) {
			conversations = append(conversations, v.(*conversation))
		}
		return true
	})
	slices.SortFunc(conversations, func(a, b *conversation) int {
		return cmp.Or(strings.Compare(a.key.UserID, b.key.UserID), strings.Compare(a.key.SessionID, b.key.SessionID))
	})
	for _, c := range conversations {
		c.mu.RLock()
	}
	return conversations, func() {
		for _, c := range conversations {
			c.mu.RUnlock()
		}
	}
}

// selectPage returns the conversations of the page and one more if there is one.
func selectPage(l *request.List, conversations []*conversation) []*conversation {
	var page []*conversation
	for _, c := range conversations {
		if c.deleted || l.Member != "" && c.openPeriod(l.Member) < 0 {
			continue
		}
		if l.Cursor != nil && compare(l.Order, c.cursor(l.Order), *l.Cursor) <= 0 {
			continue
		}
		page = append(page, c)
	}
	slices.SortFunc(page, func(a, b *conversation) int {
		return compare(l.Order, a.cursor(l.Order), b.cursor(l.Order))
	})
	return page[:min(len(page), l.PageSize+1)]
}

func (c *conversation) cursor(order session.Order) request.Cursor {
	cur := request.Cursor{Micros: c.createdAt, UserID: c.key.UserID, SessionID: c.key.SessionID}
	if order == session.OrderUpdated {
		cur.Micros = c.updatedAt
	}
	return cur
}

// compare orders two places: by owner, creation and session, or by change,
// owner and session from the last to the first.
func compare(order session.Order, a, b request.Cursor) int {
	if order == session.OrderUpdated {
		return cmp.Or(cmp.Compare(b.Micros, a.Micros), strings.Compare(b.UserID, a.UserID), strings.Compare(b.SessionID, a.SessionID))
	}
	return cmp.Or(strings.Compare(a.UserID, b.UserID), cmp.Compare(a.Micros, b.Micros), strings.Compare(a.SessionID, b.SessionID))
}

// states returns the state of each conversation of a page, nil if not asked for.
func (s *Service) states(l *request.List, page []*conversation) ([]session.State, error) {
	if !l.WithState {
		return nil, nil
	}
	viewers := map[string]bool{}
	for _, c := range page {
		viewers[l.StateOwner(c.key.UserID)] = true
	}
	names := slices.Sorted(maps.Keys(viewers))
	app, users := s.readShared(l.AppName, names...)
	states := make([]session.State, len(page))
	for i, c := range page {
		user, _ := slices.BinarySearch(names, l.StateOwner(c.key.UserID))
		var err error
		states[i], err = stateutil.Decode(stateutil.Scopes{App: app, User: users[user], Session: c.state})
		if err != nil {
			return nil, request.Failed("list", c.key, "", err)
		}
	}
	return states, nil
}

package inmemory

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/hansardlog/hansard/internal/request"
	"github.com/hansardlog/hansard/internal/stateutil"
	"github.com/hansardlog/hansard/session"
)

// shared is the state of one app or of one user of it.
type shared struct {
	mu     sync.RWMutex
	values stateutil.Values // names without prefix; values never change in place
}

type userKey struct{ app, user string }

func (s *Service) app(app string) *shared { return load(&s.apps, app) }

func (s *Service) user(app, user string) *shared { return load(&s.users, userKey{app, user}) }

func load(m *sync.Map, key any) *shared {
	v, ok := m.Load(key)
	if !ok {
		v, _ = m.LoadOrStore(key, &shared{})
	}
	return v.(*shared)
}

// apply sets the changed values and removes those that are nil.
func apply(values *stateutil.Values, changes stateutil.Values) {
	for name, value := range changes {
		if value == nil {
			delete(*values, name)
			continue
		}
		if *values == nil {
			*values = stateutil.Values{}
		}
		(*values)[name] = value
	}
}

// applyShared applies changes of shared state, those of users by user, and
// returns a function that releases the locks. Whoever reads both a conversation
// and shared state holds all locks at once, so it sees all of a change or none.
func (s *Service) applyShared(app string, appChanges stateutil.Values, userChanges map[string]stateutil.Values) (release func()) {
	var locked []*shared
	lock := func(sh *shared, changes stateutil.Values) {
		sh.mu.Lock()
		locked = append(locked, sh)
		apply(&sh.values, changes)
	}
	if len(appChanges) > 0 {
		lock(s.app(app), appChanges)
	}
	for _, user := range slices.Sorted(maps.Keys(userChanges)) {
		if len(userChanges[user]) > 0 {
			lock(s.user(app, user), userChanges[user])
		}
	}
	return func() {
		for _, sh := range locked {
			sh.mu.Unlock()
		}
	}
}

// readShared returns copies of the app's and the users' values as of one
// instant. Users must be in byte order and distinct.
func (s *Service) readShared(app string, users ...string) (appValues stateutil.Values, userValues []stateutil.Values) {
	var locked []*shared
	defer func() {
		for _, sh := range locked {
			sh.mu.RUnlock()
		}
	}()
	read := func(m *sync.Map, key any) stateutil.Values {
		v, ok := m.Load(key)
		if !ok {
			return nil // reading makes no entry: anybody may ask for any name
		}
		sh := v.(*shared)
		sh.mu.RLock()
		locked = append(locked, sh)
		return maps.Clone(sh.values)
	}
	appValues = read(&s.apps, app)
	for _, user := range users {
		userValues = append(userValues, read(&s.users, userKey{app, user}))
	}
	return appValues, userValues
}

// GetState implements [session.SharedState].
func (s *Service) GetState(ctx context.Context, req *session.GetStateRequest) (*session.GetStateResponse, error) {
	if err := s.cfg.GetState(ctx, req); err != nil {
		return nil, err
	}
	state, err := s.sharedState(req.AppName, req.UserID)
	if err != nil {
		return nil, err
	}
	return &session.GetStateResponse{State: state}, nil
}

func (s *Service) sharedState(app, user string) (session.State, error) {
	if user == "" {
		values, _ := s.readShared(app)
		return stateutil.Decode(stateutil.Scopes{App: values})
	}
	appValues, userValues := s.readShared(app, user)
	return stateutil.Decode(stateutil.Scopes{App: appValues, User: userValues[0]})
}

// UpdateState implements [session.SharedState].
func (s *Service) UpdateState(ctx context.Context, req *session.UpdateStateRequest) (*session.UpdateStateResponse, error) {
	up, err := s.cfg.UpdateState(ctx, req)
	if err != nil {
		return nil, err
	}
	state, err := s.updateState(up)
	if err != nil {
		return nil, err
	}
	return &session.UpdateStateResponse{State: state}, nil
}

// updateState holds both scopes from the change to the read, so that the
// answer is the state right after the change.
func (s *Service) updateState(up *request.UpdateState) (session.State, error) {
	var scopes stateutil.Scopes
	app := s.app(up.AppName)
	app.mu.Lock()
	defer app.mu.Unlock()
	apply(&app.values, up.Changes.App)
	scopes.App = app.values
	if up.UserID != "" {
		user := s.user(up.AppName, up.UserID)
		user.mu.Lock()
		defer user.mu.Unlock()
		apply(&user.values, up.Changes.User)
		scopes.User = user.values
	}
	return stateutil.Decode(scopes)
}

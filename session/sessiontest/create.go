package sessiontest

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/hansardlog/hansard/session"
)

var createTests = []test{
	{name: "defaults: kind session, epoch 1, MinSeq 1, head 0, a UID, the clock", run: createDefaults},
	{name: "defaults: an empty SessionID becomes a UUIDv7", run: createNewID},
	{name: "ErrAlreadyExists: a key that exists, whatever else is asked", run: createTwice},
	{name: "rule 13: the response has State and HeadSeq but no Events, and equals Get", run: createResponse},
	{name: "rule 10: one join event each, in order", run: createJoins},
	{name: "P6: a large group is created whole, and all speak in one batch", run: createLargeGroup},
	{name: "rule 6: user keys given to Create are the owner's in every kind", run: createUserState},
	{name: "rule 5: temp keys are dropped, encodable or not", run: createTemp},
	{name: "rule 13: CreatedAt of importers, in UTC, cut to microseconds", run: createImported},
	{name: "rule 1: CreatedAt lies in the years 1 to 9999", run: createYears},
	{name: "P6: a refused Create leaves nothing", run: createRefused},
	{name: "options: IDs and clock, with the caller's context", with: createOptions},
}

var (
	anyUUID = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	uuidV7  = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
)

func createDefaults(t *testing.T, svc session.Service) {
	before := time.Now().Truncate(time.Microsecond)
	s := create(t, svc, "")
	after := time.Now()
	if !anyUUID.MatchString(s.UID) {
		t.Errorf("UID is %q, want a UUID", s.UID)
	}
	if s.CreatedAt.Before(before) || s.CreatedAt.After(after) {
		t.Errorf("CreatedAt is %v, want it between %v and %v", s.CreatedAt, before, after)
	}
	same(t, "session", s, &session.Session{
		Key: testKey, UID: s.UID, Kind: session.KindSession, MinSeq: 1, Epoch: 1,
		State: session.State{}, CreatedAt: s.CreatedAt, UpdatedAt: s.CreatedAt,
	})
}

func createNewID(t *testing.T, svc session.Service) {
	owner := session.Key{AppName: "app", UserID: "olga"}
	var ids []string
	for range 2 {
		s := ok(svc.Create(t.Context(), &session.CreateRequest{Key: owner}))(t).Session
		if !uuidV7.MatchString(s.Key.SessionID) {
			t.Errorf("SessionID is %q, want a UUIDv7", s.Key.SessionID)
		}
		got := ok(svc.Get(t.Context(), &session.GetRequest{Key: s.Key}))(t).Session
		same(t, "session under its new ID", got, s)
		ids = append(ids, s.Key.SessionID)
	}
	if ids[0] == ids[1] {
		t.Errorf("two sessions have the SessionID %s", ids[0])
	}
}

func createTwice(t *testing.T, svc session.Service) {
	s := createState(t, svc, session.State{"k": "first", "app:k": "first"})
	for _, req := range []session.CreateRequest{
		{},
		{State: session.State{"k": "second", "app:k": "second"}},
		{Kind: session.KindGroup, Members: []string{"ana"}},
		{CreatedAt: at},
	} {
		req.Key = testKey
		wantErr(t, fmt.Sprintf("%+v", req), errOf(svc.Create(t.Context(), &req)), session.ErrAlreadyExists)
	}
	same(t, "the first session", get(t, svc), s)
}

func createResponse(t *testing.T, svc session.Service) {
	ok(svc.UpdateState(t.Context(), &session.UpdateStateRequest{
		AppName: "app", UserID: "olga", Delta: session.State{"app:old": 1, "user:old": 2, "app:both": 3},
	}))(t)
	s := ok(svc.Create(t.Context(), &session.CreateRequest{
		Key: testKey, Kind: session.KindDirect, Members: []string{"olga", "ana"},
		State: session.State{"k": 4, "app:both": 5},
	}))(t).Session
	if s.Events != nil {
		t.Errorf("Create returned Events %v, want none", s.Events)
	}
	if s.HeadSeq != 2 || s.Kind != session.KindDirect {
		t.Errorf("HeadSeq is %d and Kind %q, want 2, for the two joins, and direct", s.HeadSeq, s.Kind)
	}
	same(t, "state", s.State, session.State{
		"app:old": num(1), "user:old": num(2), "app:both": num(5), "k": num(4),
	})
	same(t, "Get", view(t, svc, session.GetRequest{WithoutEvents: true}), s)
}

func createJoins(t *testing.T, svc session.Service) {
	s := create(t, svc, session.KindGroup, "zoe", "ana", "ben")
	events := get(t, svc).Events
	same(t, "sequences", seqs(events), upTo(1, 3))
	for i, member := range []string{"zoe", "ana", "ben"} {
		e := events[i]
		if !uuidV7.MatchString(e.ID) {
			t.Errorf("event %d: ID is %q, want a UUIDv7", e.Seq, e.ID)
		}
		if e.RecordedAt.After(s.UpdatedAt) || e.Timestamp.IsZero() {
			t.Errorf("event %d: Timestamp %v, RecordedAt %v, UpdatedAt of the session %v", e.Seq, e.Timestamp, e.RecordedAt, s.UpdatedAt)
		}
		same(t, "join event", e, &session.Event{
			Seq: int64(i + 1), ID: e.ID, Kind: session.EventJoin, Subject: member,
			Timestamp: e.Timestamp, RecordedAt: e.RecordedAt,
		})
	}
	if last := events[2].RecordedAt; !s.UpdatedAt.Equal(last) {
		t.Errorf("UpdatedAt is %v, want RecordedAt %v of the last event", s.UpdatedAt, last)
	}
	if next := add(t, svc, say("ana", "hello")); next.Seq != 4 {
		t.Errorf("first message has sequence %d, want 4", next.Seq)
	}
}

// More members, and more authors of one batch, than one statement of some
// engines takes as parameters.
func createLargeGroup(t *testing.T, svc session.Service) {
	members := make([]string, full(6_000, 700))
	events := make([]*session.Event, len(members))
	for i := range members {
		members[i] = fmt.Sprint("member ", i)
		events[i] = withKey(members[i], "key")
	}
	n := int64(len(members))
	if s := create(t, svc, session.KindGroup, members...); s.HeadSeq != n || s.Kind != session.KindGroup {
		t.Errorf("HeadSeq is %d and Kind %q, want %d and group", s.HeadSeq, s.Kind, n)
	}
	same(t, "sequences of the batch", seqs(addAll(t, svc, events...).Events), upTo(n+1, 2*n))
	if again := addAll(t, svc, events...); !again.Replayed {
		t.Error("the repeated batch is not Replayed")
	}
	events[len(events)-1] = say("eve", "a stranger")
	events = events[1:]
	for _, e := range events {
		e.IdempotencyKey = ""
	}
	wantNotMember(t, "a batch with one stranger", addAllErr(t, svc, events...))
	s := get(t, svc)
	same(t, "sequences", seqs(s.Events), upTo(1, 2*n))
	for i, member := range members {
		if e := s.Events[i]; e.Kind != session.EventJoin || e.Subject != member {
			t.Fatalf("event %d is %s of %q, want join of %q", e.Seq, e.Kind, e.Subject, member)
		}
	}
}

func createUserState(t *testing.T, svc session.Service) {
	for kind, members := range map[session.Kind][]string{
		session.KindSession: nil,
		session.KindDirect:  {"ana", "ben"},
		session.KindGroup:   {"ana"},
	} {
		name := "user:" + string(kind)
		ok(svc.Create(t.Context(), &session.CreateRequest{
			Key:  session.Key{AppName: "app", UserID: "olga", SessionID: string(kind)},
			Kind: kind, Members: members, State: session.State{name: true},
		}))(t)
		if v := shared(t, svc, "app", "olga")[name]; v != true {
			t.Errorf("kind %s: the owner's %s is %v, want true", kind, name, v)
		}
		same(t, "state of a member", shared(t, svc, "app", "ana"), session.State{})
	}
}

func createTemp(t *testing.T, svc session.Service) {
	channel := make(chan int)
	build := func() *session.CreateRequest {
		return &session.CreateRequest{Key: testKey, State: session.State{"temp:a": channel, "temp:b": 1, "k": 2}}
	}
	req := build()
	s := ok(svc.Create(t.Context(), req))(t).Session
	same(t, "state", s.State, session.State{"k": num(2)})
	same(t, "state read back", get(t, svc).State, session.State{"k": num(2)})
	same(t, "the caller's request", req, build())
}

func createImported(t *testing.T, svc session.Service) {
	zone := time.FixedZone("west", -5*3600)
	s := ok(svc.Create(t.Context(), &session.CreateRequest{
		Key: testKey, CreatedAt: time.Date(1969, 12, 31, 18, 59, 59, 999_999_999, zone),
	}))(t).Session
	same(t, "CreatedAt", s.CreatedAt, time.Date(1969, 12, 31, 23, 59, 59, 999_999_000, time.UTC))
	same(t, "CreatedAt read back", get(t, svc).CreatedAt, s.CreatedAt)
	// The import date is data: events are recorded by the service's clock.
	before := time.Now().Truncate(time.Microsecond)
	if e := add(t, svc, say("ana", "hello")); e.RecordedAt.Before(before) {
		t.Errorf("RecordedAt is %v, want the service's clock, %v or later", e.RecordedAt, before)
	}
}

func createYears(t *testing.T, svc session.Service) {
	for name, tt := range yearEdges {
		key := session.Key{AppName: "app", UserID: "olga", SessionID: name}
		resp, err := svc.Create(t.Context(), &session.CreateRequest{Key: key, CreatedAt: tt.at})
		if tt.refused {
			wantInvalid(t, name, err, "CreatedAt")
			continue
		}
		same(t, name, ok(resp, err)(t).Session.CreatedAt, tt.want)
		same(t, name, ok(svc.Get(t.Context(), &session.GetRequest{Key: key}))(t).Session.CreatedAt, tt.want)
	}
}

// yearEdges are times at the limits of rule 1.
var yearEdges = map[string]struct {
	at, want time.Time
	refused  bool
}{
	"first microsecond of year 1": {
		at:   time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC),
		want: time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC),
	},
	"last nanosecond of year 9999": {
		at:   time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC),
		want: time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC),
	},
	"year 10000 where the caller lives": {
		at:   time.Date(10000, 1, 1, 0, 30, 0, 0, time.FixedZone("east", 3600)),
		want: time.Date(9999, 12, 31, 23, 30, 0, 0, time.UTC),
	},
	"year 10000":        {at: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), refused: true},
	"year 10000 in UTC": {at: time.Date(9999, 12, 31, 23, 30, 0, 0, time.FixedZone("west", -3600)), refused: true},
	"year 0":            {at: time.Date(0, 12, 31, 23, 59, 59, 999_999_999, time.UTC), refused: true},
	"year 0 in UTC":     {at: time.Date(1, 1, 1, 0, 30, 0, 0, time.FixedZone("east", 3600)), refused: true},
	"year 300000":       {at: time.Date(300000, 1, 1, 0, 0, 0, 0, time.UTC), refused: true},
}

func createRefused(t *testing.T, svc session.Service) {
	err := errOf(svc.Create(t.Context(), &session.CreateRequest{
		Key: testKey, State: session.State{"app:k": 1, "user:k": 2, "k": json.Number("no number")},
	}))
	wantInvalid(t, "Create", err, `State["k"]`)
	wantErr(t, "Get", errOf(svc.Get(t.Context(), &session.GetRequest{Key: testKey})), session.ErrNotFound)
	same(t, "shared state", shared(t, svc, "app", "olga"), session.State{})
}

func createOptions(t *testing.T, newWith func(Options) session.Service) {
	type clockKey struct{}
	ids := 0
	svc := newWith(Options{
		Clock: func(ctx context.Context) time.Time {
			now, _ := ctx.Value(clockKey{}).(time.Time)
			return now
		},
		IDs: func(context.Context) string { ids++; return fmt.Sprint("id-", ids) },
	})
	now := time.Date(2030, 1, 2, 3, 4, 5, 999_999_999, time.FixedZone("east", 7200))
	ctx := context.WithValue(t.Context(), clockKey{}, now)
	s := ok(svc.Create(ctx, &session.CreateRequest{
		Key: session.Key{AppName: "app", UserID: "olga"}, Kind: session.KindGroup, Members: []string{"ana"},
	}))(t).Session
	want := now.UTC().Truncate(time.Microsecond)
	same(t, "session", s, &session.Session{
		Key: session.Key{AppName: "app", UserID: "olga", SessionID: "id-1"}, UID: s.UID, Kind: session.KindGroup,
		MinSeq: 1, HeadSeq: 1, Epoch: 1, State: session.State{}, CreatedAt: want, UpdatedAt: want,
	})
	if !anyUUID.MatchString(s.UID) {
		t.Errorf("UID is %q, want a UUID: it never comes from the option", s.UID)
	}
	e := ok(svc.AppendEvent(ctx, &session.AppendEventRequest{Key: s.Key, Event: say("ana", "hello")}))(t).Event
	events := ok(svc.Get(ctx, &session.GetRequest{Key: s.Key}))(t).Session.Events
	same(t, "the message", events[1], e)
	for i, e := range events {
		if want := fmt.Sprint("id-", i+2); e.ID != want {
			t.Errorf("event %d: ID is %q, want %q", e.Seq, e.ID, want)
		}
		same(t, "Timestamp", e.Timestamp, want)
		same(t, "RecordedAt", e.RecordedAt, want)
	}
}

package sessiontest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hansardlog/hansard/session"
)

var incarnationTests = []test{
	{name: "rule 1: a wrong UID, UUID or not, is not found", run: uidWrong},
	{name: "the UID of the session is found by every call", run: uidRight},
	{name: "rule 12: delete makes the session vanish at once", run: deleteVanish},
	{name: "deleting what is not there is no error, another UID deletes nothing", run: deleteNothing},
	{name: "rule 12: app and user state stay", run: deleteShared},
	{name: "rule 12: appending to what is gone never revives it", run: deleteRevive},
	{name: "rule 12: a new session of the same key shows nothing of the old", run: recreateEmpty},
	{name: "rule 12: a long log is gone too", run: recreateLong},
	{name: "P2: idempotency keys of the old incarnation are forgotten", run: recreateKeys},
	{name: "EpochError: another epoch than the session's", run: epochWrong},
}

// everyCall calls, on testKey with a UID, everything that names a session.
// Calls with a viewer, actor or author answer ErrNotMember for what is not
// there, the others ErrNotFound.
func everyCall(t *testing.T, svc session.Service, uid string) (asMember, plain map[string]error) {
	t.Helper()
	e := sets("ana", session.State{"revived": true, "app:revived": true, "user:revived": true})
	e.IdempotencyKey = "revived"
	asMember = map[string]error{
		"AppendEvent":  errOf(svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: testKey, UID: uid, Event: e})),
		"AppendEvents": errOf(svc.AppendEvents(t.Context(), &session.AppendEventsRequest{Key: testKey, UID: uid, Events: []*session.Event{e}})),
		"Join, actor":  errOf(svc.Join(t.Context(), &session.JoinRequest{Key: testKey, UID: uid, Member: "dan", Actor: "ana"})),
		"Leave, actor": errOf(svc.Leave(t.Context(), &session.LeaveRequest{Key: testKey, UID: uid, Member: "dan", Actor: "ana"})),
		"Get, viewer":  errOf(svc.Get(t.Context(), &session.GetRequest{Key: testKey, UID: uid, Viewer: "ana"})),
		"List, viewer": errOf(svc.ListEvents(t.Context(), &session.ListEventsRequest{Key: testKey, UID: uid, Viewer: "ana"})),
	}
	plain = map[string]error{
		"Get":         errOf(svc.Get(t.Context(), &session.GetRequest{Key: testKey, UID: uid})),
		"ListEvents":  errOf(svc.ListEvents(t.Context(), &session.ListEventsRequest{Key: testKey, UID: uid})),
		"ListMembers": errOf(svc.ListMembers(t.Context(), &session.ListMembersRequest{Key: testKey, UID: uid})),
		"Join":        errOf(svc.Join(t.Context(), &session.JoinRequest{Key: testKey, UID: uid, Member: "fay"})),
		"Leave":       errOf(svc.Leave(t.Context(), &session.LeaveRequest{Key: testKey, UID: uid, Member: "fay"})),
	}
	return asMember, plain
}

// wantGone checks that nothing is found under testKey with a UID.
func wantGone(t *testing.T, svc session.Service, uid string) {
	t.Helper()
	asMember, plain := everyCall(t, svc, uid)
	for what, err := range asMember {
		wantNotMember(t, fmt.Sprintf("%s with UID %.50q", what, uid), err)
	}
	for what, err := range plain {
		wantErr(t, fmt.Sprintf("%s with UID %.50q", what, uid), err, session.ErrNotFound)
		if errors.Is(err, session.ErrNotMember) {
			t.Errorf("%s with UID %.50q: got ErrNotMember, but there is no viewer or actor", what, uid)
		}
	}
}

func uidWrong(t *testing.T, svc session.Service) {
	s := create(t, svc, session.KindGroup, "ana")
	check := unchanged(t, svc)
	bare := strings.ReplaceAll(s.UID, "-", "")
	for _, uid := range []string{
		noUID, "no UUID", " ", "\x00", "\xff", strings.Repeat("x", 5000), "' OR ''='",
		// Other spellings are other UIDs: names are compared byte for byte.
		s.UID + " ", bare, "{" + s.UID + "}", "urn:uuid:" + s.UID,
	} {
		wantGone(t, svc, uid)
	}
	check()
}

func uidRight(t *testing.T, svc session.Service) {
	s := create(t, svc, session.KindGroup, "ana")
	asMember, plain := everyCall(t, svc, s.UID)
	for _, calls := range []map[string]error{asMember, plain} {
		for what, err := range calls {
			if err != nil {
				t.Errorf("%s: got error %v", what, err)
			}
		}
	}
	got := view(t, svc, session.GetRequest{UID: s.UID})
	if got.UID != s.UID || page(t, svc, session.ListEventsRequest{}).UID != s.UID {
		t.Errorf("UID is %s, want %s as created", got.UID, s.UID)
	}
	if err := svc.Delete(t.Context(), &session.DeleteRequest{Key: testKey, UID: s.UID}); err != nil {
		t.Errorf("Delete: got error %v", err)
	}
	wantErr(t, "Get", errOf(svc.Get(t.Context(), &session.GetRequest{Key: testKey})), session.ErrNotFound)
}

// remove deletes testKey.
func remove(t *testing.T, svc session.Service) {
	t.Helper()
	if err := svc.Delete(t.Context(), &session.DeleteRequest{Key: testKey}); err != nil {
		t.Fatalf("Delete: got error %v", err)
	}
}

func deleteVanish(t *testing.T, svc session.Service) {
	s := create(t, svc, session.KindGroup, "ana", "dan")
	add(t, svc, keyed("ana"))
	remove(t, svc)
	wantGone(t, svc, "")
	wantGone(t, svc, s.UID)
	for _, req := range []session.ListRequest{
		{AppName: "app"}, {AppName: "app", UserID: "olga"}, {AppName: "app", Member: "ana"}, {AppName: "app", Member: "ana", Order: session.OrderUpdated},
	} {
		if list := ok(svc.List(t.Context(), &req))(t); list.Sessions != nil || list.NextPageToken != "" {
			t.Errorf("List %+v: got %s, want nothing", req, dump(list))
		}
	}
}

func deleteNothing(t *testing.T, svc session.Service) {
	remove(t, svc)
	s := create(t, svc, session.KindGroup, "ana")
	for _, uid := range []string{noUID, "no UUID", "\x00", s.UID + " ", strings.Repeat("x", 5000)} {
		if err := svc.Delete(t.Context(), &session.DeleteRequest{Key: testKey, UID: uid}); err != nil {
			t.Errorf("Delete with UID %.20q: got error %v", uid, err)
		}
	}
	same(t, "the session", view(t, svc, session.GetRequest{WithoutEvents: true}), s)
	other := testKey
	other.SessionID = "s2"
	ok(svc.Create(t.Context(), &session.CreateRequest{Key: other}))(t)
	for range 3 {
		remove(t, svc)
	}
	ok(svc.Get(t.Context(), &session.GetRequest{Key: other}))(t) // its neighbour stays
}

func deleteShared(t *testing.T, svc session.Service) {
	createState(t, svc, session.State{"k": 1, "app:k": 2, "user:k": 3})
	remove(t, svc)
	want := session.State{"app:k": num(2), "user:k": num(3)}
	same(t, "shared state", shared(t, svc, "app", "olga"), want)
	same(t, "state of the next session", create(t, svc, session.KindSession).State, want)
}

func deleteRevive(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	first := keyed("ana")
	add(t, svc, first)
	remove(t, svc)
	before := shared(t, svc, "app", "olga")
	for range 2 {
		wantNotMember(t, "a known request", addErr(t, svc, first))
		wantGone(t, svc, "")
	}
	same(t, "shared state", shared(t, svc, "app", "olga"), before)
	partial := say("ana", "a")
	partial.Partial = true
	add(t, svc, partial)
	wantGone(t, svc, "")
}

func recreateEmpty(t *testing.T, svc session.Service) {
	uids := map[string]bool{}
	for i := range 3 {
		s := create(t, svc, session.KindGroup, "ana", "ben")
		if uids[s.UID] {
			t.Errorf("incarnation %d has the UID %s of an earlier one", i, s.UID)
		}
		for uid := range uids {
			wantGone(t, svc, uid)
		}
		uids[s.UID] = true
		if s.HeadSeq != 2 || s.MinSeq != 1 || s.Epoch != 1 {
			t.Errorf("incarnation %d: head %d, min %d, epoch %d, want 2, 1, 1", i, s.HeadSeq, s.MinSeq, s.Epoch)
		}
		same(t, "state", s.State, session.State{})
		same(t, "events", seqs(get(t, svc).Events), upTo(1, 2))
		same(t, "members", members(t, svc, session.ListMembersRequest{History: true}), []session.Period{
			{Member: "ana", FromSeq: 1}, {Member: "ben", FromSeq: 2},
		})
		wantNotMember(t, "a member of the old one", addErr(t, svc, say("cleo", "a")))
		wantNotMember(t, "a viewer of the old one", errOf(svc.Get(t.Context(), &session.GetRequest{Key: testKey, Viewer: "cleo"})))
		add(t, svc, sets("ana", session.State{"k": i}))
		join(t, svc, "cleo")
		add(t, svc, say("cleo", "a"))
		remove(t, svc)
	}
	// Another kind under the same key.
	s := create(t, svc, session.KindSession)
	same(t, "kind session", s, &session.Session{
		Key: testKey, UID: s.UID, Kind: session.KindSession, MinSeq: 1, Epoch: 1, State: session.State{}, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
	})
	if got := members(t, svc, session.ListMembersRequest{History: true}); got != nil {
		t.Errorf("members of the old incarnation: %v", got)
	}
}

func recreateLong(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	for i := range full(5, 2) {
		batch := make([]*session.Event, 1000)
		for j := range batch {
			batch[j] = withKey("ana", fmt.Sprint(i, "-", j))
		}
		addAll(t, svc, batch...)
	}
	remove(t, svc)
	wantGone(t, svc, "")
	create(t, svc, session.KindSession)
	if e := add(t, svc, withKey("ana", "0-0")); e.Seq != 1 {
		t.Errorf("the first event of the new session has sequence %d, want 1", e.Seq)
	}
	same(t, "events", seqs(get(t, svc).Events), upTo(1, 1))
}

func recreateKeys(t *testing.T, svc session.Service) {
	old := create(t, svc, session.KindGroup, "ana")
	add(t, svc, keyed("ana"))
	byAna := &session.JoinRequest{Key: testKey, Member: "ben", Actor: "ana", IdempotencyKey: "ben"}
	ok(svc.Join(t.Context(), byAna))(t)
	remove(t, svc)
	create(t, svc, session.KindGroup, "ana")
	other := keyed("ana")
	other.Format = "other"
	resp := ok(svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: testKey, Event: other}))(t)
	if resp.Replayed || resp.Event.Seq != 2 {
		t.Errorf("got sequence %d, replayed %t, want a new event 2", resp.Event.Seq, resp.Replayed)
	}
	if again := ok(svc.Join(t.Context(), byAna))(t); again.Replayed || again.Event.Seq != 3 {
		t.Errorf("join: sequence %d, replayed %t, want a new event 3", again.Event.Seq, again.Replayed)
	}
	wantNotMember(t, "a retry meant for the old one",
		errOf(svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: testKey, UID: old.UID, Event: keyed("ana")})))
}

func epochWrong(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana")
	for _, viewer := range []string{"", "ana"} {
		err := errOf(svc.ListEvents(t.Context(), &session.ListEventsRequest{Key: testKey, Viewer: viewer, Epoch: 7}))
		wantErr(t, "epoch 7", err, session.ErrEpochChanged)
		var epoch *session.EpochError
		if !errors.As(err, &epoch) || *epoch != (session.EpochError{Key: testKey, Expected: 7, Epoch: 1}) {
			t.Errorf("got error %#v, want an *EpochError with the key, 7 and 1", err)
		}
	}
	page(t, svc, session.ListEventsRequest{Epoch: 1})
	none := testKey
	none.SessionID = "none"
	wantErr(t, "no such session", errOf(svc.ListEvents(t.Context(), &session.ListEventsRequest{Key: none, Epoch: 7})), session.ErrNotFound)
}

package sessiontest

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/hansardlog/hansard/session"
)

var membershipTests = []test{
	{name: "rule 10: the worked example, ana from 1, ben from 2, the first message is 3", run: memberExample},
	{name: "P4: a join opens a period at its event, a leave closes it at its event", run: memberPeriods},
	{name: "rule 10: only members append in direct and group", run: memberAppend},
	{name: "ErrAlreadyMember and ErrNotMember: join of a member, leave of none", run: memberTwice},
	{name: "rule 8: incarnation, actor, kind, member, in this order", run: memberOrder},
	{name: "rule 10: the actor must be a member", run: memberActor},
	{name: "rule 10: AtSeq, now and History", run: memberAtSeq},
	{name: "rule 10: AtSeq above the head is refused", run: memberAboveHead},
	{name: "ErrNotFound: members of no such session", run: memberUnknown},
	{name: "direct has two members for ever, session none", run: memberKinds},
	{name: "a group may become empty and fill again", run: memberEmpty},
}

// members reads the periods of testKey.
func members(t *testing.T, svc session.Service, req session.ListMembersRequest) []session.Period {
	t.Helper()
	req.Key = testKey
	return ok(svc.ListMembers(t.Context(), &req))(t).Periods
}

// names returns the members of periods.
func names(periods []session.Period) []string {
	var s []string
	for _, p := range periods {
		s = append(s, p.Member)
	}
	return s
}

// join lets a member in, in the name of the program.
func join(t *testing.T, svc session.Service, member string) *session.JoinResponse {
	t.Helper()
	return ok(svc.Join(t.Context(), &session.JoinRequest{Key: testKey, Member: member}))(t)
}

// leave lets a member out, in the name of the program.
func leave(t *testing.T, svc session.Service, member string) *session.LeaveResponse {
	t.Helper()
	return ok(svc.Leave(t.Context(), &session.LeaveRequest{Key: testKey, Member: member}))(t)
}

func memberExample(t *testing.T, svc session.Service) {
	s := create(t, svc, session.KindGroup, "ana", "ben")
	if s.HeadSeq != 2 {
		t.Errorf("HeadSeq is %d, want 2", s.HeadSeq)
	}
	same(t, "periods", members(t, svc, session.ListMembersRequest{}), []session.Period{
		{Member: "ana", FromSeq: 1}, {Member: "ben", FromSeq: 2},
	})
	if e := add(t, svc, say("ana", "hello")); e.Seq != 3 {
		t.Errorf("the first message has sequence %d, want 3", e.Seq)
	}
	same(t, "what ana sees", seqs(page(t, svc, session.ListEventsRequest{Viewer: "ana"}).Events), upTo(1, 3))
	same(t, "what ben sees", seqs(page(t, svc, session.ListEventsRequest{Viewer: "ben"}).Events), upTo(2, 3))
}

func memberPeriods(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana")
	add(t, svc, say("ana", "a"))
	joined := ok(svc.Join(t.Context(), &session.JoinRequest{
		Key: testKey, Member: "ben", Actor: "ana", IdempotencyKey: "in", Payload: json.RawMessage(`{"why":"invited"}`),
	}))(t)
	same(t, "join", joined, &session.JoinResponse{
		Event: &session.Event{
			Seq: 3, ID: joined.Event.ID, Kind: session.EventJoin, Author: "ana", Subject: "ben",
			Timestamp: joined.Event.Timestamp, RecordedAt: joined.Event.RecordedAt,
			IdempotencyKey: "in", Payload: json.RawMessage(`{"why":"invited"}`),
		},
		Period: session.Period{Member: "ben", FromSeq: 3},
	})
	add(t, svc, say("ben", "b"))
	left := ok(svc.Leave(t.Context(), &session.LeaveRequest{
		Key: testKey, Member: "ben", Actor: "ben", IdempotencyKey: "out", Payload: json.RawMessage(`"bye"`),
	}))(t)
	same(t, "leave", left, &session.LeaveResponse{
		Event: &session.Event{
			Seq: 5, ID: left.Event.ID, Kind: session.EventLeave, Author: "ben", Subject: "ben",
			Timestamp: left.Event.Timestamp, RecordedAt: left.Event.RecordedAt,
			IdempotencyKey: "out", Payload: json.RawMessage(`"bye"`),
		},
		Period: session.Period{Member: "ben", FromSeq: 3, ToSeq: 5},
	})
	for _, e := range []*session.Event{joined.Event, left.Event} {
		if !uuidV7.MatchString(e.ID) || e.Timestamp.IsZero() || e.RecordedAt.IsZero() {
			t.Errorf("event %d: ID %q, Timestamp %v, RecordedAt %v", e.Seq, e.ID, e.Timestamp, e.RecordedAt)
		}
	}
	plain := join(t, svc, "ben")
	if e := plain.Event; e.Author != "" || e.Subject != "ben" || e.Payload != nil || e.Seq != 6 {
		t.Errorf("join by the program: got %s", dump(e))
	}
	events := get(t, svc).Events
	same(t, "join read back", events[2], joined.Event)
	same(t, "leave read back", events[4], left.Event)
	same(t, "History", members(t, svc, session.ListMembersRequest{History: true}), []session.Period{
		{Member: "ana", FromSeq: 1}, {Member: "ben", FromSeq: 3, ToSeq: 5}, {Member: "ben", FromSeq: 6},
	})
}

func memberAppend(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana", "ben")
	for _, author := range []string{"eve", "olga", "Ana", "ana ", "an"} {
		wantNotMember(t, "append of "+author, addErr(t, svc, say(author, "hello")))
	}
	leave(t, svc, "ben")
	wantNotMember(t, "append of a former member", addErr(t, svc, say("ben", "hello")))
	join(t, svc, "ben")
	add(t, svc, say("ben", "back"))
	join(t, svc, "olga")
	add(t, svc, say("olga", "the owner, now a member"))
	same(t, "sequences", seqs(get(t, svc).Events), upTo(1, 7))
}

func memberTwice(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana", "ben")
	wantErr(t, "join of a member", errOf(svc.Join(t.Context(), &session.JoinRequest{Key: testKey, Member: "ben"})), session.ErrAlreadyMember)
	byAna := &session.JoinRequest{Key: testKey, Member: "ana", Actor: "ana", IdempotencyKey: "k"}
	wantErr(t, "join of oneself", errOf(svc.Join(t.Context(), byAna)), session.ErrAlreadyMember)
	for _, actor := range []string{"", "ana"} {
		req := &session.LeaveRequest{Key: testKey, Member: "eve", Actor: actor}
		wantNotMember(t, "leave of a stranger", errOf(svc.Leave(t.Context(), req)))
	}
	leave(t, svc, "ben")
	wantNotMember(t, "second leave", errOf(svc.Leave(t.Context(), &session.LeaveRequest{Key: testKey, Member: "ben"})))
	if head := get(t, svc).HeadSeq; head != 3 {
		t.Errorf("HeadSeq is %d, want 3: refusals take no sequence", head)
	}
}

// change makes the same change by Join and by Leave.
func change(t *testing.T, svc session.Service, r session.JoinRequest) map[string]error {
	t.Helper()
	l := session.LeaveRequest(r)
	return map[string]error{
		"Join":  errOf(svc.Join(t.Context(), &r)),
		"Leave": errOf(svc.Leave(t.Context(), &l)),
	}
}

func memberOrder(t *testing.T, svc session.Service) {
	kinds := map[session.Kind][]string{
		session.KindSession: nil, session.KindDirect: {"ana", "ben"}, session.KindGroup: {"ana", "ben"},
	}
	for kind, members := range kinds {
		key := session.Key{AppName: "app", UserID: "olga", SessionID: string(kind)}
		ok(svc.Create(t.Context(), &session.CreateRequest{Key: key, Kind: kind, Members: members}))(t)
		for what, err := range change(t, svc, session.JoinRequest{Key: key, UID: noUID, Member: "ben"}) {
			wantErr(t, fmt.Sprint(kind, ", another UID: ", what), err, session.ErrNotFound)
		}
		for what, err := range change(t, svc, session.JoinRequest{Key: key, UID: noUID, Member: "ben", Actor: "ana"}) {
			wantNotMember(t, fmt.Sprint(kind, ", another UID, with an actor: ", what), err)
		}
		for what, err := range change(t, svc, session.JoinRequest{Key: key, Member: "ben", Actor: "eve"}) {
			wantNotMember(t, fmt.Sprint(kind, ", actor is a stranger: ", what), err)
		}
		if kind == session.KindGroup {
			continue
		}
		for _, member := range []string{"ben", "eve"} {
			for what, err := range change(t, svc, session.JoinRequest{Key: key, Member: member}) {
				wantInvalid(t, fmt.Sprint(kind, ", without an actor: ", what, " of ", member), err)
			}
			if kind == session.KindDirect {
				for what, err := range change(t, svc, session.JoinRequest{Key: key, Member: member, Actor: "ana"}) {
					wantInvalid(t, fmt.Sprint(kind, ", actor is a member: ", what, " of ", member), err)
				}
			}
		}
		s := ok(svc.Get(t.Context(), &session.GetRequest{Key: key}))(t).Session
		if s.HeadSeq != int64(len(members)) {
			t.Errorf("%s: HeadSeq is %d after refusals, want %d", kind, s.HeadSeq, len(members))
		}
	}
	none := session.Key{AppName: "app", UserID: "olga", SessionID: "none"}
	for what, err := range change(t, svc, session.JoinRequest{Key: none, Member: "ben"}) {
		wantErr(t, "no such session: "+what, err, session.ErrNotFound)
	}
	for what, err := range change(t, svc, session.JoinRequest{Key: none, Member: "ben", Actor: "ana", IdempotencyKey: "k"}) {
		wantNotMember(t, "no such session, with an actor: "+what, err)
	}
}

func memberActor(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana", "ben")
	byBen := session.JoinRequest{Key: testKey, Member: "cleo", Actor: "ben"}
	ok(svc.Join(t.Context(), &byBen))(t)
	leave(t, svc, "ben")
	byBen.Member = "dan"
	wantNotMember(t, "join by a former member", errOf(svc.Join(t.Context(), &byBen)))
	byOwner := session.JoinRequest{Key: testKey, Member: "dan", Actor: "olga"}
	wantNotMember(t, "join by the owner, who is no member", errOf(svc.Join(t.Context(), &byOwner)))
	self := session.JoinRequest{Key: testKey, Member: "dan", Actor: "dan"}
	wantNotMember(t, "join by the newcomer", errOf(svc.Join(t.Context(), &self)))
	ok(svc.Leave(t.Context(), &session.LeaveRequest{Key: testKey, Member: "ana", Actor: "cleo"}))(t)
	same(t, "members", names(members(t, svc, session.ListMembersRequest{})), []string{"cleo"})
}

func memberAtSeq(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana", "ben") // 1, 2
	add(t, svc, say("ana", "a"))                    // 3
	leave(t, svc, "ana")                            // 4
	join(t, svc, "cleo")                            // 5
	join(t, svc, "ana")                             // 6
	leave(t, svc, "ben")                            // 7
	for seq, want := range [][]string{
		1: {"ana"}, 2: {"ana", "ben"}, 3: {"ana", "ben"},
		4: {"ana", "ben"}, // the leaver is still listed at the own leave
		5: {"ben", "cleo"}, 6: {"ben", "cleo", "ana"}, 7: {"ben", "cleo", "ana"},
	} {
		if seq == 0 {
			want = []string{"cleo", "ana"} // now
		}
		got := members(t, svc, session.ListMembersRequest{AtSeq: int64(seq)})
		same(t, fmt.Sprint("members at ", seq), names(got), want)
	}
	same(t, "now", members(t, svc, session.ListMembersRequest{}), []session.Period{
		{Member: "cleo", FromSeq: 5}, {Member: "ana", FromSeq: 6},
	})
	same(t, "History", members(t, svc, session.ListMembersRequest{History: true}), []session.Period{
		{Member: "ana", FromSeq: 1, ToSeq: 4}, {Member: "ben", FromSeq: 2, ToSeq: 7},
		{Member: "cleo", FromSeq: 5}, {Member: "ana", FromSeq: 6},
	})
}

func memberAboveHead(t *testing.T, svc session.Service) {
	s := create(t, svc, session.KindGroup, "ana")
	for _, seq := range []int64{s.HeadSeq + 1, 1<<63 - 1} {
		err := errOf(svc.ListMembers(t.Context(), &session.ListMembersRequest{Key: testKey, AtSeq: seq}))
		wantInvalid(t, fmt.Sprint("AtSeq ", seq), err, "AtSeq")
	}
}

func memberUnknown(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana")
	none := testKey
	none.SessionID = "none"
	for _, req := range []session.ListMembersRequest{
		{Key: none}, {Key: none, History: true}, {Key: none, AtSeq: 99}, {Key: testKey, UID: noUID}, {Key: testKey, UID: noUID, AtSeq: 99},
	} {
		err := errOf(svc.ListMembers(t.Context(), &req))
		wantErr(t, fmt.Sprintf("%+v", req), err, session.ErrNotFound)
		if errors.Is(err, session.ErrNotMember) {
			t.Errorf("%+v: got ErrNotMember, but there is no viewer", req)
		}
	}
}

func memberKinds(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	add(t, svc, say("ana", "a"))
	for _, req := range []session.ListMembersRequest{{}, {AtSeq: 1}, {History: true}} {
		if got := members(t, svc, req); got != nil {
			t.Errorf("members in kind session: got %v, want none", got)
		}
	}
	direct := session.Key{AppName: "app", UserID: "olga", SessionID: "direct"}
	ok(svc.Create(t.Context(), &session.CreateRequest{Key: direct, Kind: session.KindDirect, Members: []string{"zoe", "ana"}}))(t)
	got := ok(svc.ListMembers(t.Context(), &session.ListMembersRequest{Key: direct}))(t).Periods
	same(t, "members in direct", got, []session.Period{{Member: "zoe", FromSeq: 1}, {Member: "ana", FromSeq: 2}})
}

func memberEmpty(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana")
	leave(t, svc, "ana")
	if got := members(t, svc, session.ListMembersRequest{}); got != nil {
		t.Errorf("members of an empty group: got %v, want none", got)
	}
	wantNotMember(t, "append to an empty group", addErr(t, svc, say("ana", "a")))
	if p := join(t, svc, "ben").Period; p != (session.Period{Member: "ben", FromSeq: 3}) {
		t.Errorf("period is %+v, want ben from 3", p)
	}
	add(t, svc, say("ben", "b"))
}

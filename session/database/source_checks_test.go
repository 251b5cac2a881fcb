package database_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/hansardlog/hansard/session"
)

// The tests in this file are the table of checks of the messaging design that
// Hansard's numbering, membership and request keys come from, one test a line.

func TestNormalHistory(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		r := newRig(t, b)
		key := made(t, r.svc, "s1", nil, "ana", "ben")
		var sent []*session.Event
		for i := range 10 {
			author := []string{"ana", "ben"}[i%2]
			sent = append(sent, said(t, r.svc, key, keyed(author, fmt.Sprintf("k%d", i), fmt.Sprintf("line %d", i))))
		}
		for i, e := range sent {
			if want := int64(i + 3); e.Seq != want {
				t.Errorf("message %d has sequence %d, want %d: two joins come first", i, e.Seq, want)
			}
		}
		whole := got(r.svc.Get(t.Context(), &session.GetRequest{Key: key}))(t).Session
		if whole.HeadSeq != 12 || whole.MinSeq != 1 || len(whole.Events) != 12 {
			t.Fatalf("from %d to %d with %d events, want from 1 to 12 with 12", whole.MinSeq, whole.HeadSeq, len(whole.Events))
		}
		for i, e := range whole.Events {
			if e.Seq != int64(i+1) {
				t.Errorf("event %d of the history has sequence %d", i, e.Seq)
			}
		}
		for i, member := range []string{"ana", "ben"} {
			if e := whole.Events[i]; e.Kind != session.EventJoin || e.Subject != member {
				t.Errorf("event %d is %s of %q, want the join of %s", e.Seq, e.Kind, e.Subject, member)
			}
		}
		if read := whole.Events[2:]; !reflect.DeepEqual(read, sent) {
			t.Errorf("the history differs from what the appends returned:\n%+v\n%+v", read, sent)
		}
		page := got(r.svc.ListEvents(t.Context(), &session.ListEventsRequest{Key: key, AfterSeq: 4, Limit: 3}))(t)
		if !reflect.DeepEqual(page.Events, whole.Events[4:7]) || !page.More {
			t.Errorf("the page after 4 is %+v, more %v, want events 5 to 7 and more", page.Events, page.More)
		}
		r.healthy(t)
	})
}

func TestNonMemberRejected(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		r := newRig(t, b)
		key := made(t, r.svc, "s1", nil, "ana", "ben")
		_, err := r.svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: key, Event: words("mallory", "let me in")})
		if !errors.Is(err, session.ErrNotMember) || session.Code(err) != "NOT_MEMBER" {
			t.Errorf("append of a stranger: %v with code %s, want ErrNotMember", err, session.Code(err))
		}
		got(r.svc.Leave(t.Context(), &session.LeaveRequest{Key: key, Member: "ben"}))(t)
		_, err = r.svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: key, Event: words("ben", "one more thing")})
		if !errors.Is(err, session.ErrNotMember) {
			t.Errorf("append of a former member: %v, want ErrNotMember", err)
		}
		if n := r.number(t, "SELECT count(*) FROM hansard_events WHERE kind = 'message'"); n != 0 {
			t.Errorf("%d messages are stored, want none", n)
		}
		if e := said(t, r.svc, key, words("ana", "alone")); e.Seq != 4 {
			t.Errorf("the next message has sequence %d, want 4: a refusal takes none", e.Seq)
		}
		r.healthy(t)
	})
}

func TestUnknownConversationSameError(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		r := newRig(t, b)
		key := made(t, r.svc, "s1", nil, "ana", "ben")
		_, stranger := r.svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: key, Event: words("mallory", "x")})
		_, unknown := r.svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: sessionKey("none"), Event: words("mallory", "x")})
		_, other := r.svc.AppendEvent(t.Context(), &session.AppendEventRequest{
			Key: key, UID: "00000000-0000-4000-8000-000000000000", Event: words("ana", "x"),
		})
		for what, err := range map[string]error{
			"append of a stranger":              stranger,
			"append to an unknown conversation": unknown,
			"append to another incarnation":     other,
		} {
			if err != session.ErrNotMember { //nolint:errorlint // one value, so that nobody can tell them apart
				t.Errorf("%s: %v, want the value ErrNotMember itself", what, err)
			}
		}
	})
}

func TestIdempotencyMismatch(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		r := newRig(t, b)
		key := made(t, r.svc, "s1", nil, "ana", "ben")
		first := said(t, r.svc, key, keyed("ana", "k1", "buy"))
		_, err := r.svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: key, Event: keyed("ana", "k1", "sell")})
		if !errors.Is(err, session.ErrIdempotencyMismatch) || session.Code(err) != "IDEMPOTENCY_MISMATCH" {
			t.Errorf("another request under a known key: %v, want ErrIdempotencyMismatch", err)
		}
		again := got(r.svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: key, Event: keyed("ana", "k1", "buy")}))(t)
		if !again.Replayed || !reflect.DeepEqual(again.Event, first) {
			t.Errorf("the replay is %+v, replayed %v, want the first answer", again.Event, again.Replayed)
		}
		if e := said(t, r.svc, key, keyed("ben", "k1", "sell")); e.Seq != 4 {
			t.Errorf("the same key of another author has sequence %d, want 4", e.Seq)
		}
		r.healthy(t)
	})
}

func TestConcurrentReplaysStoreOneRow(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		r := newRig(t, b)
		key := made(t, r.svc, "s1", nil, "ana", "ben")
		const n = 32
		answers := make([]*session.AppendEventResponse, n)
		atOnce(n, func(i int) {
			resp, err := r.svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: key, Event: keyed("ana", "k1", "once")})
			if err != nil {
				t.Errorf("request %d: %v", i, err)
			}
			answers[i] = resp
		})
		if t.Failed() {
			return
		}
		first := slices.IndexFunc(answers, func(a *session.AppendEventResponse) bool { return !a.Replayed })
		if first < 0 {
			t.Fatal("every answer is a replay, want one that is not")
		}
		for i, a := range answers {
			if i != first && !a.Replayed {
				t.Errorf("requests %d and %d were both stored", first, i)
			}
			if !reflect.DeepEqual(a.Event, answers[first].Event) {
				t.Errorf("answer %d is %+v, want %+v", i, a.Event, answers[first].Event)
			}
		}
		if rows := r.number(t, "SELECT count(*) FROM hansard_events WHERE idempotency_key = 'k1'"); rows != 1 {
			t.Errorf("%d rows are stored, want 1", rows)
		}
		r.healthy(t)
	})
}

func TestConcurrentSendsAreGapless(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		r := newRig(t, b)
		members := []string{"ana", "ben", "cem", "dora"}
		key := made(t, r.svc, "s1", nil, members...)
		const n = 200
		seqs := make([]int64, n)
		atOnce(n, func(i int) {
			e := keyed(members[i%len(members)], fmt.Sprintf("k%d", i), fmt.Sprintf("line %d", i))
			resp, err := r.svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: key, Event: e})
			if err != nil {
				t.Errorf("send %d: %v", i, err)
				return
			}
			seqs[i] = resp.Event.Seq
		})
		if t.Failed() {
			return
		}
		slices.Sort(seqs)
		for i, seq := range seqs {
			if want := int64(i + len(members) + 1); seq != want {
				t.Fatalf("sorted sequence %d is %d, want %d", i, seq, want)
			}
		}
		for query, want := range map[string]int64{
			"SELECT count(*) FROM hansard_events":            204,
			"SELECT count(DISTINCT seq) FROM hansard_events": 204,
			"SELECT max(seq) FROM hansard_events":            204,
			"SELECT next_seq FROM hansard_conversations":     205,
		} {
			if n := r.number(t, query); n != want {
				t.Errorf("%s = %d, want %d", query, n, want)
			}
		}
		r.healthy(t)
	})
}

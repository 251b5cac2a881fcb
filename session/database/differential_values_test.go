package database_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hansardlog/hansard/session"
)

// The name spaces are small, so that names collide, and their names are alike.
var (
	apps        = []string{"app", "app", "App"}
	users       = []string{"ana", "Ana", "ána", "ana "}
	sessionIDs  = []string{"s1", "S1", "s1 ", "日本"}
	people      = []string{"ana", "ben", "Ana", "ána", "a\u0301na", "ana ", "agent:1"}
	requestKeys = []string{"k1", "K1", "k1 ", "k2"}
	badNames    = []string{"", "a\x00", "a\nb", "a\u0085", "\xff", strings.Repeat("x", 256), strings.Repeat("x", 1025), longName}
	sharedKeys  = []string{"app:k", "app:K", "app:ключ", "user:k", "user:k ", "user:app:k"}
	stateKeys   = append([]string{"k", "K", "k ", "ключ", "a<b>&\u2028", "app", "temp:k", "temp:x", "session:k"}, sharedKeys...)
	badKeys     = []string{"", "app:", "user:", "temp:", "k\x00", "\xff", strings.Repeat("x", 256), "bare", "temp:t"}
)

// longName has 255 bytes, as many as a name may have.
var longName = strings.Repeat("é", 127) + "x"

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

func pick[T any](g *generator, from []T) T { return from[g.IntN(len(from))] }

// name returns one of the names, rarely one that breaks a rule.
func (g *generator) name(from []string) string {
	if g.chance(1) {
		return pick(g, badNames)
	}
	return pick(g, from)
}

func (g *generator) orEmpty(percent int, from []string) string {
	if g.chance(percent) {
		return ""
	}
	return g.name(from)
}

// some returns n different names in a random order.
func (g *generator) some(from []string, n int) []string {
	all := slices.Clone(from)
	g.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:n]
}

// key returns the key of a session that exists or did, rarely another.
func (g *generator) key() session.Key {
	switch {
	case g.chance(2):
		return session.Key{AppName: g.name(badNames), UserID: g.name(badNames), SessionID: g.name(badNames)}
	case g.chance(5) || len(g.m.keys) == 0:
		return session.Key{AppName: g.name(apps), UserID: g.name(users), SessionID: g.name(sessionIDs)}
	}
	key := g.m.keys[g.recent(len(g.m.keys))]
	for range 3 {
		if s, _ := g.m.look(key); s.UID != "" {
			break
		}
		key = g.m.keys[g.recent(len(g.m.keys))] // mostly one that is there
	}
	return key
}

// recent returns an index below n, the later the likelier.
func (g *generator) recent(n int) int { return max(g.IntN(n), g.IntN(n), g.IntN(n)) }

// uid mostly leaves the incarnation open.
func (g *generator) uid(key session.Key) string {
	switch n := g.IntN(100); {
	case n < 85:
		return ""
	case n < 93:
		s, _ := g.m.look(key)
		return s.UID
	case n < 96 && len(g.m.uids) > 0:
		return pick(g, g.m.uids)
	case n < 97:
		s, _ := g.m.look(key)
		return shouted + s.UID
	}
	return pick(g, []string{"no UUID", "00000000-0000-4000-8000-000000000000", "a\x00", "\xff"})
}

// actor is mostly a member.
func (g *generator) actor(key session.Key) string {
	_, members := g.m.look(key)
	if len(members) > 0 && g.chance(75) {
		return pick(g, members)
	}
	return g.name(people)
}

func (g *generator) viewer(key session.Key) string {
	switch n := g.IntN(10); {
	case n < 4:
		return ""
	case n < 5:
		return key.UserID
	case n < 8:
		return g.actor(key)
	}
	if list, err := g.m.oracle.svc.ListMembers(context.Background(), &session.ListMembersRequest{Key: key, History: true}); err == nil && len(list.Periods) > 0 {
		return pick(g, list.Periods).Member // a former member, perhaps
	}
	return g.name(people)
}

// seq is a cursor: open, within the log, at its ends or beyond them.
func (g *generator) seq(key session.Key) int64 {
	if g.chance(60) {
		return 0
	}
	if g.chance(2) {
		return -1
	}
	s, _ := g.m.look(key)
	return pick(g, []int64{1, 2, 3, s.HeadSeq / 2, max(s.HeadSeq-1, 0), s.HeadSeq, s.HeadSeq + 1, math.MaxInt64})
}

func (g *generator) expected(key session.Key) *int64 {
	if g.chance(75) {
		return nil
	}
	s, _ := g.m.look(key)
	n := pick(g, []int64{s.HeadSeq, s.HeadSeq, s.HeadSeq, s.HeadSeq, s.HeadSeq + 1, s.HeadSeq - 1})
	return &n
}

// time is a caller's time, near those of the clock or at an edge.
func (g *generator) time() time.Time {
	if g.chance(80) {
		at := time.Date(2024, 5, 1, 12, g.IntN(60), g.IntN(60), g.IntN(1e9), time.UTC)
		return at.In(time.FixedZone("", 3600*(g.IntN(25)-12)))
	}
	return pick(g, []time.Time{
		time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC), // zero after the cut
		time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -3600)),
		time.Date(0, 12, 31, 23, 59, 59, 0, time.UTC),
		time.Date(1969, 12, 31, 23, 59, 59, 999999999, time.UTC),
		time.Unix(0, 0),
	})
}

func (g *generator) payload() json.RawMessage {
	if g.chance(3) {
		return json.RawMessage(pick(g, []string{"{", "  ", "\"\xff\"", `"` + strings.Repeat("x", diffMaxPayload) + `"`}))
	}
	return json.RawMessage(pick(g, []string{
		"", "", `{}`, `null`, ` { "b" : 1.0 ,"a":1e2, "a":2 } `, `"\u0000\u2028<>&\ud83d\ude00"`, "\"\u2028😀\"", `9007199254740993`,
		`[[[]],{"":""}]`, "\t[1]\n",
	}))
}

// unencodable refuses to be JSON.
type unencodable struct{ Why string }

func (u unencodable) MarshalJSON() ([]byte, error) { return nil, errors.New(u.Why) }

var channel = make(chan int) // one for all, so that requests compare

// value returns a state value.
func (g *generator) value() any {
	if g.chance(3) {
		return pick(g, []any{channel, math.Inf(1), "\xff", json.Number("one"), json.RawMessage("{"), unencodable{"no"},
			map[string]any{"a": []any{"\xc3"}}, json.RawMessage(`"\ud800"`)})
	}
	return pick(g, []any{
		nil, true, "", "a", "<>&\u2028\x00\ufffd😀", 1, math.Copysign(0, -1), 0.1, 1e21, int64(9007199254740993), uint64(math.MaxUint64),
		json.Number("1e400"), json.Number("1.10"), json.Number("-0"),
		[]any{}, []string(nil), map[string]any{}, []byte("bytes"),
		map[string]any{"b": []any{nil, 1.5, map[string]any{"ü": "<"}}, "a": json.Number("123456789012345678901234567890")},
		json.RawMessage(` {"b":1.0, "a":[2e3,"\u0041\u0000"], "b":3} `),
		struct {
			B int
			A *int `json:"a,omitempty"`
		}{B: 1},
	})
}

func (g *generator) state(keys []string) session.State {
	if g.chance(40) {
		return nil
	}
	state := session.State{}
	for range g.IntN(4) {
		state[g.stateKey(keys)] = g.value()
	}
	return state
}

// delta returns keys to set and keys to remove, rarely one key for both.
func (g *generator) delta(keys []string) (set session.State, del []string) {
	set = g.state(keys)
	if g.chance(60) {
		return set, nil
	}
	for range g.IntN(4) {
		key := g.stateKey(keys)
		if _, both := set[key]; !both || g.chance(5) {
			del = append(del, key)
		}
	}
	return set, del
}

func (g *generator) stateKey(keys []string) string {
	if g.chance(1) {
		return pick(g, badKeys)
	}
	return pick(g, keys)
}

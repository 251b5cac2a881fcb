package request_test

import (
	"encoding/hex"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hansardlog/hansard/internal/request"
	"github.com/hansardlog/hansard/session"
)

// The vectors were computed by another program from the words of the design. A
// stored hash outlives the version of the code that wrote it, and an ID is how
// a key finds its row: a change of either loses what is stored.

func TestConversationIDVectors(t *testing.T) {
	long := func(letter byte) string {
		b := make([]byte, session.MaxTextBytes)
		for i := range b {
			b[i] = letter
		}
		return string(b)
	}
	for _, tt := range []struct {
		key  session.Key
		want string
	}{
		{session.Key{AppName: "app", UserID: "olga", SessionID: "s1"}, "af1e6032-1588-8569-b00c-4fec8a382d95"},
		{session.Key{AppName: "a", UserID: "bc", SessionID: "d"}, "32a9e052-3a12-8669-ac29-ef3b318a97b0"},
		{session.Key{AppName: "ab", UserID: "c", SessionID: "d"}, "184d50fc-8f7a-8741-a6b8-7b3806252677"},
		{session.Key{AppName: "αpp", UserID: "Ölga", SessionID: "s 1"}, "a2ba7c56-b35a-85fb-9516-f2206f6a94e8"},
		{session.Key{AppName: long('a'), UserID: long('b'), SessionID: long('c')}, "2ea6f457-f8d5-8b1b-9e6c-bf0047a58180"},
	} {
		id := request.ConversationID(tt.key)
		if id.String() != tt.want {
			t.Errorf("ID of %v = %s, want %s", tt.key, id, tt.want)
		}
		if id.Version() != 8 || id.Variant() != uuid.RFC4122 {
			t.Errorf("ID of %v is of version %d and variant %v, want 8 of RFC 4122", tt.key, id.Version(), id.Variant())
		}
	}
}

var hashedKey = session.Key{AppName: "app", UserID: "olga", SessionID: "s1"}

// hashOf returns the hash of an append.
func hashOf(t *testing.T, e session.Event) string {
	if e.IdempotencyKey == "" {
		e.IdempotencyKey = "key" // without one there is no hash; it is no part of it
	}
	t.Helper()
	a, err := request.DefaultConfig().AppendEvent(t.Context(), &session.AppendEventRequest{Key: hashedKey, Event: &e})
	if err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(a.Events[0].Hash)
}

// full has something in every field that is part of the hash.
func full() session.Event {
	return session.Event{
		Author:       "ana",
		InvocationID: "run-1",
		Branch:       "root.child",
		Format:       "adk-go/v2",
		Payload:      json.RawMessage(`{"b": 1, "a":[1.10, "é"]}`),
		StateDelta: session.State{
			"z":      map[string]any{"b": []any{map[string]int{"d": 2, "c": 1}}, "a": json.Number("1e400")},
			"app:n":  int64(9007199254740993),
			"user:t": "a<b & é\x00\b\u2028",
			"temp:x": 5,
			"none":   nil,
		},
		StateDelete: []string{"user:old", "temp:y", "app:gone", "old", "app:gone"},
	}
}

func TestRequestHashVectors(t *testing.T) {
	if got, want := hashOf(t, session.Event{Author: "ana"}), "011a12507a69c0a1a434d84a945c599f0e1a538214507d7a0da4fb5e2ed588f2c5"; got != want {
		t.Errorf("hash of a bare message = %s, want %s", got, want)
	}
	if got, want := hashOf(t, full()), "01cbb508eacfe94ebae899bcf9d46fae484f47691142dcdacf1bb72d6ea6bacf9a"; got != want {
		t.Errorf("hash of a full message = %s, want %s", got, want)
	}
	join, err := request.DefaultConfig().Join(t.Context(), &session.JoinRequest{
		Key: hashedKey, Actor: "ana", Member: "ben", Payload: json.RawMessage(`{"why":"asked"}`), IdempotencyKey: "key",
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := hex.EncodeToString(join.Event.Hash), "0140e7d275cb37f22ff352ea4f831a5d3dd112e2a861200db79ce87088e32454cf"; got != want {
		t.Errorf("hash of a join = %s, want %s", got, want)
	}
	leave, err := request.DefaultConfig().Leave(t.Context(), &session.LeaveRequest{Key: hashedKey, Member: "ben", IdempotencyKey: "key"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := hex.EncodeToString(leave.Event.Hash), "01d09cb194f8d667c20a77b48b830332fcef25bc95d647a97b77e9bafa005a49f0"; got != want {
		t.Errorf("hash of a leave = %s, want %s", got, want)
	}
}

func TestRequestHashSameRequest(t *testing.T) {
	for what, change := range map[string]func(e *session.Event){
		"ID":              func(e *session.Event) { e.ID = "another" },
		"timestamp":       func(e *session.Event) { e.Timestamp = time.Unix(1, 0) },
		"sequence":        func(e *session.Event) { e.Seq = 7 },
		"idempotency key": func(e *session.Event) { e.IdempotencyKey = "k" },
		"named kind":      func(e *session.Event) { e.Kind = session.EventMessage },
		"temp: keys": func(e *session.Event) {
			delete(e.StateDelta, "temp:x")
			e.StateDelete = []string{"user:old", "app:gone", "old"}
		},
		"order of removed keys": func(e *session.Event) { e.StateDelete = []string{"old", "app:gone", "user:old"} },
		"order of members of an object": func(e *session.Event) {
			e.StateDelta["z"] = json.RawMessage(`{ "b": [{"d":2,"c":1}], "a": 1e400 }`)
		},
		"type of a value": func(e *session.Event) { e.StateDelta["app:n"] = json.Number("9007199254740993") },
	} {
		e := full()
		change(&e)
		if hashOf(t, e) != hashOf(t, full()) {
			t.Errorf("another %s makes another request", what)
		}
	}
}

func TestRequestHashOtherRequest(t *testing.T) {
	seen := map[string]string{hashOf(t, full()): "the message"}
	for what, change := range map[string]func(e *session.Event){
		"author":                                func(e *session.Event) { e.Author = "ben" },
		"invocation":                            func(e *session.Event) { e.InvocationID = "run-2" },
		"branch":                                func(e *session.Event) { e.Branch = "root" },
		"format":                                func(e *session.Event) { e.Format = "" },
		"space in the payload":                  func(e *session.Event) { e.Payload = json.RawMessage(`{"b":1,"a":[1.10,"é"]}`) },
		"payload":                               func(e *session.Event) { e.Payload = nil },
		"number as written":                     func(e *session.Event) { e.StateDelta["app:n"] = json.Number("9007199254740993.0") },
		"neighbour of a number":                 func(e *session.Event) { e.StateDelta["app:n"] = int64(9007199254740992) },
		"null":                                  func(e *session.Event) { e.StateDelta["none"] = "null" },
		"scope":                                 func(e *session.Event) { delete(e.StateDelta, "none"); e.StateDelta["app:none"] = nil },
		"set key less":                          func(e *session.Event) { delete(e.StateDelta, "none") },
		"removed key less":                      func(e *session.Event) { e.StateDelete = []string{"user:old", "app:gone"} },
		"removed instead of set":                func(e *session.Event) { delete(e.StateDelta, "none"); e.StateDelete = append(e.StateDelete, "none") },
		"text moved from one field to the next": func(e *session.Event) { e.Author, e.InvocationID = "an", "arun-1" },
	} {
		e := full()
		change(&e)
		hash := hashOf(t, e)
		if first, ok := seen[hash]; ok {
			t.Errorf("%s and %s have the same hash", first, what)
		}
		seen[hash] = what
	}
	// A set key and its value are not taken for two removed ones.
	set := hashOf(t, session.Event{Author: "ana", StateDelta: session.State{"a": 1}})
	if removed := hashOf(t, session.Event{Author: "ana", StateDelete: []string{"a", "1"}}); removed == set {
		t.Error("setting a to 1 and removing a and 1 have the same hash")
	}
}

func TestNoHashWithoutKey(t *testing.T) {
	req := &session.AppendEventRequest{Key: hashedKey, Event: &session.Event{Author: "ana"}}
	a, err := request.DefaultConfig().AppendEvent(t.Context(), req)
	if err != nil || a.Events[0].Hash != nil {
		t.Errorf("hash %x, %v; nobody asks for it without a key", a.Events[0].Hash, err)
	}
}

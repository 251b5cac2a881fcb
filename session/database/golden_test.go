package database_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"testing"

	"github.com/google/uuid"

	"github.com/hansardlog/hansard/session"
)

// derivedID computes the ID of a conversation from the words of the design
// alone: a UUIDv8 of SHA-256 over the name space, then app, user and session,
// each behind its length in four bytes, big end first.
func derivedID(key session.Key) uuid.UUID {
	namespace := uuid.MustParse("5d0f6c1e-3b7a-4a52-9f0e-8c2d71b6e4a9")
	data := namespace[:]
	for _, part := range []string{key.AppName, key.UserID, key.SessionID} {
		data = binary.BigEndian.AppendUint32(data, uint32(len(part)))
		data = append(data, part...)
	}
	sum := sha256.Sum256(data)
	id := uuid.UUID(sum[:16])
	id[6] = id[6]&0x0f | 8<<4
	id[8] = id[8]&0x3f | 0x80
	return id
}

// What stands in the tables is fixed for ever: another derivation of IDs would
// not find the conversations that are stored, another hash would refuse replays.

func TestStoredConversationIDs(t *testing.T) {
	golden := map[session.Key]string{
		{AppName: "app", UserID: "olga", SessionID: "s1"}:  "af1e6032-1588-8569-b00c-4fec8a382d95",
		{AppName: "a", UserID: "bc", SessionID: "d"}:       "32a9e052-3a12-8669-ac29-ef3b318a97b0",
		{AppName: "ab", UserID: "c", SessionID: "d"}:       "184d50fc-8f7a-8741-a6b8-7b3806252677",
		{AppName: "αpp", UserID: "Ölga", SessionID: "s 1"}: "a2ba7c56-b35a-85fb-9516-f2206f6a94e8",
	}
	each(t, func(t *testing.T, b backend) {
		r := newRig(t, b)
		for key, want := range golden {
			created := got(r.svc.Create(t.Context(), &session.CreateRequest{Key: key, State: session.State{"a": 1}}))(t).Session
			said(t, r.svc, key, words("agent", "words"))
			if id := derivedID(key).String(); id != want {
				t.Errorf("ID of %v by the design is %s, want %s", key, id, want)
			}
			var id, uid uuid.UUID
			row := r.db.Raw("SELECT id, uid FROM hansard_conversations WHERE app_name = ? AND user_id = ? AND session_id = ?",
				key.AppName, key.UserID, key.SessionID).Row()
			must(t, row.Scan(&id, &uid))
			if id.String() != want {
				t.Errorf("stored ID of %v is %s, want %s", key, id, want)
			}
			if uid.String() != created.UID || uid == id {
				t.Errorf("stored UID of %v is %s, want %s, which no key tells", key, uid, created.UID)
			}
			for _, table := range []string{"hansard_events", "hansard_session_states", "hansard_state_checkpoints"} {
				if n := r.number(t, "SELECT count(*) FROM "+table+" WHERE conversation_id = "+r.idLiteral(id)); n != 1 {
					t.Errorf("%s has %d rows under the ID of %v, want 1", table, n, key)
				}
			}
		}
	})
}

func TestStoredRequestHashes(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		r := newRig(t, b)
		key := made(t, r.svc, "s1", nil, "ana")
		bare := &session.Event{Author: "ana", IdempotencyKey: "bare"}
		whole := &session.Event{
			Author:         "ana",
			IdempotencyKey: "whole",
			InvocationID:   "run-1",
			Branch:         "root.child",
			Format:         "adk-go/v2",
			Payload:        json.RawMessage(`{"b": 1, "a":[1.10, "é"]}`),
			StateDelta: session.State{
				"z":      map[string]any{"b": []any{map[string]int{"d": 2, "c": 1}}, "a": json.Number("1e400")},
				"app:n":  int64(9007199254740993),
				"user:t": "a<b & é\x00\b\u2028",
				"none":   nil,
			},
			StateDelete: []string{"user:old", "app:gone", "old"},
		}
		said(t, r.svc, key, bare)
		said(t, r.svc, key, words("ana", "no key, no hash"))
		got(r.svc.AppendEvents(t.Context(), &session.AppendEventsRequest{Key: key, Events: []*session.Event{whole, words("ana", "beside")}}))(t)
		got(r.svc.Join(t.Context(), &session.JoinRequest{
			Key: key, Actor: "ana", Member: "ben", IdempotencyKey: "join", Payload: json.RawMessage(`{"why":"asked"}`),
		}))(t)
		for name, want := range map[string]string{
			"bare":  "011a12507a69c0a1a434d84a945c599f0e1a538214507d7a0da4fb5e2ed588f2c5",
			"whole": "01cbb508eacfe94ebae899bcf9d46fae484f47691142dcdacf1bb72d6ea6bacf9a",
			"join":  "0140e7d275cb37f22ff352ea4f831a5d3dd112e2a861200db79ce87088e32454cf",
		} {
			var hash []byte
			must(t, r.db.Raw("SELECT request_hash FROM hansard_events WHERE idempotency_key = ?", name).Row().Scan(&hash))
			if golden := got(hex.DecodeString(want))(t); !bytes.Equal(hash, golden) {
				t.Errorf("stored hash of %q is %x, want %s", name, hash, want)
			}
		}
		if n := r.number(t, "SELECT count(*) FROM hansard_events WHERE request_hash IS NULL AND idempotency_key IS NULL"); n != 3 {
			t.Errorf("%d events have neither key nor hash, want 3", n)
		}
	})
}

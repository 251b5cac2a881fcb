package request

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"

	"github.com/google/uuid"

	"github.com/hansardlog/hansard/internal/stateutil"
	"github.com/hansardlog/hansard/session"
)

// namespace is the name space of conversation IDs.
var namespace = uuid.MustParse("5d0f6c1e-3b7a-4a52-9f0e-8c2d71b6e4a9")

// ConversationID derives the ID of a conversation's row from its key: a UUIDv8
// over app, user and session, each framed. So a key finds its row by primary
// key, and two keys whose parts merely join to the same text differ.
func ConversationID(key session.Key) uuid.UUID {
	var data []byte
	for _, part := range []string{key.AppName, key.UserID, key.SessionID} {
		data = binary.BigEndian.AppendUint32(data, uint32(len(part)))
		data = append(data, part...)
	}
	return uuid.NewHash(sha256.New(), namespace, data, 8)
}

// hashVersion is the first byte of a request hash.
const hashVersion = 1

// requestHash returns the fingerprint of a request: the version byte, then SHA-256
// over the framed author, invocation, branch, format and payload, the set keys
// in order with their canonical JSON, and the removed keys in order. Both lists
// begin with their length, so that a set key is not taken for two removed ones.
// ID and Timestamp are not part of it: a retry may bear others.
//
// A join or leave adds its kind and member at the end, where a message has
// nothing.
func requestHash(e *Event, delta stateutil.Delta) []byte {
	f := framer{sha256.New()}
	for _, s := range []string{e.Author, e.InvocationID, e.Branch, e.Format} {
		f.text(s)
	}
	f.bytes(e.Payload)
	f.count(len(delta.Set))
	for _, key := range stateutil.Names(delta.Set) {
		f.text(key)
		f.bytes(delta.Set[key])
	}
	f.count(len(delta.Delete))
	for _, key := range slices.Sorted(slices.Values(delta.Delete)) {
		f.text(key)
	}
	if e.Kind != session.EventMessage {
		f.text(string(e.Kind))
		f.text(e.Subject)
	}
	return f.Sum([]byte{hashVersion})
}

// framer writes values so that no two sequences of values write the same bytes:
// a 4-byte big-endian length before each. Writing to a hash cannot fail.
type framer struct{ hash.Hash }

func (f framer) int64(n int64) { _ = binary.Write(f, binary.BigEndian, n) }

func (f framer) count(n int) { _ = binary.Write(f, binary.BigEndian, uint32(n)) }

func (f framer) bytes(data []byte) {
	f.count(len(data))
	_, _ = f.Write(data)
}

func (f framer) text(s string) { f.bytes([]byte(s)) }

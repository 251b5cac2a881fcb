package request

import (
	"crypto/sha256"
	"encoding/binary"
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
	data := make([]byte, 0, 256)
	data = append(data, namespace[:]...)
	for _, part := range []string{key.AppName, key.UserID, key.SessionID} {
		data = appendText(data, part)
	}
	sum := sha256.Sum256(data)
	id := uuid.UUID(sum[:16])
	id[6] = id[6]&0x0f | 8<<4 // version 8
	id[8] = id[8]&0x3f | 0x80 // RFC 9562 variant
	return id
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
	h := sha256.New() // a payload is not copied to be hashed
	data := make([]byte, 0, 512)
	for _, s := range []string{e.Author, e.InvocationID, e.Branch, e.Format} {
		data = appendText(data, s)
	}
	data = appendCount(data, len(e.Payload))
	_, _ = h.Write(data) // a hash takes everything
	_, _ = h.Write(e.Payload)
	data = appendCount(data[:0], len(delta.Set))
	for _, key := range stateutil.Names(delta.Set) {
		data = appendText(data, key)
		data = appendText(data, delta.Set[key])
	}
	data = appendCount(data, len(delta.Delete))
	for _, key := range slices.Sorted(slices.Values(delta.Delete)) {
		data = appendText(data, key)
	}
	if e.Kind != session.EventMessage {
		data = appendText(data, string(e.Kind))
		data = appendText(data, e.Subject)
	}
	_, _ = h.Write(data)
	return h.Sum(append(make([]byte, 0, 1+sha256.Size), hashVersion))
}

// appendText and appendCount frame values, so that no two sequences of values
// are the same bytes: a 4-byte big-endian length stands before each.
func appendText[T string | []byte](data []byte, s T) []byte {
	return append(appendCount(data, len(s)), s...)
}

func appendCount(data []byte, n int) []byte {
	return binary.BigEndian.AppendUint32(data, uint32(n))
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/hansardlog/hansard/session"
)

// store is what is measured: Hansard, ADK-Go or a floor, used in the way that
// suits it best.
type store interface {
	// create makes a session with a state.
	create(ctx context.Context, key session.Key, state map[string]any) error
	// fill appends n messages in the quickest way that the store has.
	fill(ctx context.Context, key session.Key, n int) error
	// writer returns a client that appends to a session; shared says that other
	// clients do so at the same time.
	writer(ctx context.Context, key session.Key, shared bool) (writer, error)
	// read returns the last events of a session, all of them if recent is 0.
	read(ctx context.Context, key session.Key, recent int) (record, error)
	// list reads pages of sessions of an app with their state and returns how
	// many there were. It reads all pages, or one if one is set; a store without
	// pages reads all sessions.
	list(ctx context.Context, app string, pageSize int, one, state bool) (int, error)
}

// writer appends to one session.
type writer interface {
	append(ctx context.Context, m message) (receipt, error)
}

// message is what a writer appends.
type message struct {
	id      string
	payload []byte // JSON
	text    string // the same words, for a store that encodes them itself
	delta   map[string]any
}

// receipt is what an acknowledged append says.
type receipt struct {
	seq      int64 // 0 from a store without sequences
	attempts int
}

// record is what a store gives back of a session.
type record struct {
	ids   []string
	seqs  []int64 // of the events in ids; nil from a store without sequences
	head  int64
	state map[string]any
}

const (
	author     = "ana"
	invocation = "run-1"
	format     = "bench"
)

var (
	// words make an event of 1 KB.
	words   = strings.Repeat("All that was said, in the order it was said. ", 22)
	payload = fmt.Appendf(nil, `{"text":%q}`, words)
)

// said is the n-th message of a writer. Its content is its own, as if it had
// just been received.
func said(writer, n int) message {
	return message{id: fmt.Sprintf("%d-%d", writer, n), payload: bytes.Clone(payload), text: strings.Clone(words)}
}

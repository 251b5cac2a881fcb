package main

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"

	"github.com/hansardlog/hansard/session"
)

// verifyAll reads the input once more and compares it with what is stored. It
// leaves out the lines without a row, which are known to be bad.
func verifyAll(ctx context.Context, svc session.Service, in input, workers int, rows []row, out *printer) error {
	imported := make(map[int]bool, len(rows))
	for _, r := range rows {
		imported[r.line] = true
	}
	app, err := svc.GetState(ctx, &session.GetStateRequest{AppName: appName})
	if err != nil {
		return unfinished(ctx, err)
	}
	var conversations, events atomic.Int64
	bad, err := forEach(ctx, in, workers, func(ctx context.Context, c *conversation) error {
		if !imported[c.line] {
			return nil
		}
		if err := verify(ctx, svc, c, app.State); err != nil {
			return err
		}
		conversations.Add(1)
		events.Add(int64(len(c.events)))
		return nil
	})
	if err != nil {
		return unfinished(ctx, err)
	}
	for _, line := range bad {
		if imported[line.number] {
			return fmt.Errorf("NOT verified: %w", line)
		}
	}
	if n := conversations.Load(); n != int64(len(rows)) {
		return fmt.Errorf("NOT verified: the input changed: %d of %d conversations are still in it", n, len(rows))
	}
	out.printf("verified: %d events of %d conversations equal the input byte for byte, in order, numbered without a gap\n",
		events.Load(), conversations.Load())
	return out.err
}

// verify compares c, its state of tool calls too, with what is stored.
func verify(ctx context.Context, svc session.Service, c *conversation, app session.State) error {
	differs := func(format string, args ...any) error {
		return fmt.Errorf("conversation %q: %w: %s", c.id, errDifferent, fmt.Sprintf(format, args...))
	}
	n := 0
	for event, err := range session.AllEvents(ctx, svc, session.ListEventsRequest{Key: c.key()}) {
		if err != nil {
			return fmt.Errorf("conversation %q: %w", c.id, err)
		}
		if n == len(c.events) {
			return differs("it goes on after message %d, the last of the input", n)
		}
		want := c.events[n]
		n++
		switch {
		case event.Seq != int64(n):
			return differs("message %d has sequence %d", n, event.Seq)
		case event.Author != want.Author:
			return differs("message %d is by %q, want %q", n, event.Author, want.Author)
		case !bytes.Equal(event.Payload, want.Payload):
			return differs("message %d has another payload", n)
		}
	}
	if n < len(c.events) {
		return differs("it ends after message %d of %d", n, len(c.events))
	}
	resp, err := svc.Get(ctx, &session.GetRequest{Key: c.key(), WithoutEvents: true})
	if err != nil {
		return fmt.Errorf("conversation %q: %w", c.id, err)
	}
	if c.toolCalls > 0 {
		got, err := session.Get[int](resp.Session.State, stateToolCalls)
		if err != nil || got != c.toolCalls {
			return differs("state counts %d tool calls, want %d (%v)", got, c.toolCalls, err)
		}
	}
	for name := range c.tools {
		if app[stateTool+name] != true {
			return differs("state %q is %v, want true", stateTool+name, app[stateTool+name])
		}
	}
	return nil
}

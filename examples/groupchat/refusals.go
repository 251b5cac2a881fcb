package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/hansardlog/hansard/session"
)

// printRefusals tries what is not allowed and prints the code of each error.
func printRefusals(ctx context.Context, w io.Writer, r *room) error {
	elsewhere := &room{svc: r.svc, key: session.Key{AppName: r.key.AppName, UserID: "ana", SessionID: "no such room"}}
	refusals := []struct {
		what string
		want error
		call func() error
	}{
		{"eve, a stranger, speaks", session.ErrNotMember, func() error {
			_, err := r.say(ctx, "eve", "e1", "Hello?")
			return err
		}},
		{"ana speaks in a room that does not exist: a stranger cannot tell", session.ErrNotMember, func() error {
			_, err := elsewhere.say(ctx, "ana", "a1", "Hello?")
			return err
		}},
		{"critic speaks after leaving", session.ErrNotMember, func() error {
			_, err := r.say(ctx, "critic", "c2", "One more thing.")
			return err
		}},
		{"ben joins while in the room", session.ErrAlreadyMember, func() error {
			return r.join(ctx, "ben", "ana")
		}},
		{"who is in a room that does not exist", session.ErrNotFound, func() error {
			_, err := r.svc.ListMembers(ctx, &session.ListMembersRequest{Key: elsewhere.key})
			return err
		}},
		{"a room of the same key", session.ErrAlreadyExists, func() error {
			_, err := r.svc.Create(ctx, &session.CreateRequest{Key: r.key})
			return err
		}},
		{"ana uses an idempotency key for other words", session.ErrIdempotencyMismatch, func() error {
			_, err := r.say(ctx, "ana", "a1", "Planner, a weekend by boat?")
			return err
		}},
		{"planner answers what is no longer the last event", session.ErrStale, func() error {
			outdated := int64(4)
			_, err := r.svc.AppendEvent(ctx, &session.AppendEventRequest{
				Key:         r.key,
				Event:       &session.Event{Author: "planner"},
				ExpectedSeq: &outdated,
			})
			return err
		}},
		{"a cursor into another epoch of the log", session.ErrEpochChanged, func() error {
			_, err := r.svc.ListEvents(ctx, &session.ListEventsRequest{Key: r.key, Epoch: 7})
			return err
		}},
		{"a message without an author", session.ErrInvalidArgument, func() error {
			_, err := r.say(ctx, "", "", "Who am I?")
			return err
		}},
	}
	_, _ = fmt.Fprintln(w, "refused with\tbecause")
	for _, refusal := range refusals {
		err := refusal.call()
		if !errors.Is(err, refusal.want) {
			return fmt.Errorf("%s: got error %v, want %w", refusal.what, err, refusal.want)
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\n", session.Code(err), refusal.what)
	}
	return nil
}

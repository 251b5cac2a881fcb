package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hansardlog/hansard/session"
)

// room is one conversation of kind group.
type room struct {
	svc session.Service
	key session.Key
}

// text is what this program puts into a payload.
type text struct {
	Text string `json:"text"`
}

// say appends a message. The key names the request: a program that lost the
// answer sends the same again.
func (r *room) say(ctx context.Context, author, key, words string) (*session.AppendEventResponse, error) {
	payload, err := json.Marshal(text{words})
	if err != nil {
		return nil, err
	}
	return r.svc.AppendEvent(ctx, &session.AppendEventRequest{
		Key:   r.key,
		Event: &session.Event{Author: author, IdempotencyKey: key, Payload: payload},
	})
}

// join lets member in on the word of actor, who has to be in the room.
func (r *room) join(ctx context.Context, member, actor string) error {
	_, err := r.svc.Join(ctx, &session.JoinRequest{Key: r.key, Member: member, Actor: actor})
	return err
}

func (r *room) leave(ctx context.Context, member, actor string) error {
	_, err := r.svc.Leave(ctx, &session.LeaveRequest{Key: r.key, Member: member, Actor: actor})
	return err
}

// play is the conversation: ana and ben are people, planner and critic agents.
func (r *room) play(ctx context.Context) error {
	// The founders join at sequences 1 and 2.
	_, err := r.svc.Create(ctx, &session.CreateRequest{
		Key:     r.key,
		Kind:    session.KindGroup,
		Members: []string{"ana", "planner"},
	})
	if err != nil {
		return err
	}
	says := func(author, key, words string) func() error {
		return func() error { _, err := r.say(ctx, author, key, words); return err }
	}
	joins := func(member, actor string) func() error {
		return func() error { return r.join(ctx, member, actor) }
	}
	leaves := func(member, actor string) func() error {
		return func() error { return r.leave(ctx, member, actor) }
	}
	steps := []func() error{
		says("ana", "a1", "Planner, a weekend by train?"),
		says("planner", "p1", "Trieste: nine hours, one change."),
		joins("ben", "ana"),
		says("ben", "b1", "I would rather see snow."),
		joins("critic", "planner"),
		says("critic", "c1", "Trieste has no snow in May."),
		leaves("ben", "ben"),
		says("ana", "a2", "Quick, a surprise for Ben: the glacier?"),
		func() error { return r.retry(ctx, "ben", "b1", "I would rather see snow.") },
		leaves("critic", "ana"),
		says("planner", "p2", "Glacier it is. Booked for three."),
		joins("ben", "ana"),
		says("ben", "b2", "Back! What did I miss?"),
	}
	for i, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return nil
}

// retry sends a message again whose answer was lost. It gets the first answer
// even if the author has left since, and stores nothing.
func (r *room) retry(ctx context.Context, author, key, words string) error {
	resp, err := r.say(ctx, author, key, words)
	if err != nil {
		return err
	}
	if !resp.Replayed {
		return fmt.Errorf("message %q of %s was stored twice", key, author)
	}
	return nil
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/hansardlog/hansard/session"
)

var everybody = []string{"ana", "ben", "planner", "critic"}

// printViews prints the log, and for each member which of it is visible.
func printViews(ctx context.Context, w io.Writer, r *room) error {
	sees := make(map[string]map[int64]bool, len(everybody))
	for _, member := range everybody {
		sees[member] = make(map[int64]bool)
		for event, err := range session.AllEvents(ctx, r.svc, session.ListEventsRequest{Key: r.key, Viewer: member}) {
			if err != nil {
				return err
			}
			sees[member][event.Seq] = true
		}
	}
	_, _ = fmt.Fprintf(w, "seq\t%s\tevent\n", strings.Join(everybody, "\t"))
	for event, err := range session.AllEvents(ctx, r.svc, session.ListEventsRequest{Key: r.key}) {
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(w, "%d", event.Seq)
		for _, member := range everybody {
			mark := "-"
			if sees[member][event.Seq] {
				mark = "sees"
			}
			_, _ = fmt.Fprintf(w, "\t%s", mark)
		}
		what, err := describe(event)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(w, "\t%s\n", what)
	}
	_, _ = fmt.Fprintln(w)
	return nil
}

// describe puts an event into words.
func describe(event *session.Event) (string, error) {
	by := event.Author
	if by == "" {
		by = "the program"
	}
	switch event.Kind {
	case session.EventJoin:
		return fmt.Sprintf("%s joins, let in by %s", event.Subject, by), nil
	case session.EventLeave:
		if by == event.Subject {
			return event.Subject + " leaves", nil
		}
		return fmt.Sprintf("%s leaves, sent away by %s", event.Subject, by), nil
	}
	var said text
	if err := json.Unmarshal(event.Payload, &said); err != nil {
		return "", fmt.Errorf("payload of event %d: %w", event.Seq, err)
	}
	return by + ": " + said.Text, nil
}

// printPeriods prints when each member was in the room, as sequences.
func printPeriods(ctx context.Context, w io.Writer, r *room) error {
	resp, err := r.svc.ListMembers(ctx, &session.ListMembersRequest{Key: r.key, History: true})
	if err != nil {
		return err
	}
	periods := make(map[string][]string)
	for _, p := range resp.Periods {
		until := "now"
		if p.ToSeq != 0 {
			until = fmt.Sprint(p.ToSeq)
		}
		periods[p.Member] = append(periods[p.Member], fmt.Sprintf("%d to %s", p.FromSeq, until))
	}
	_, _ = fmt.Fprintln(w, "member\tin the room")
	for _, member := range everybody {
		_, _ = fmt.Fprintf(w, "%s\t%s\n", member, strings.Join(periods[member], ", "))
	}
	_, _ = fmt.Fprintln(w)
	return nil
}

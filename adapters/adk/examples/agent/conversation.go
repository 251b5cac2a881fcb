package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/runner"
	"google.golang.org/adk/v2/session"
	"google.golang.org/genai"
)

// This file knows ADK alone: whose service it gets is not its business.

const (
	appName = "office"
	userID  = "ana"
)

// converse holds a conversation at the desk; what it leaves open is answered in
// the office. It returns the ID of the session.
func converse(ctx context.Context, desk, office session.Service) (id string, err error) {
	created, err := desk.Create(ctx, &session.CreateRequest{
		AppName: appName, UserID: userID,
		State: map[string]any{"app:currency": "EUR", "user:name": "Ana", "budget": 1000},
	})
	if err != nil {
		return "", err
	}
	id = created.Session.ID()
	for _, text := range []string{"What would 3 desks cost?", "Order them, please."} {
		if err := turn(ctx, desk, id, genai.NewContentFromText(text, genai.RoleUser)); err != nil {
			return "", err
		}
	}
	open, err := openCall(ctx, office, id)
	if err != nil {
		return "", err
	}
	answer := genai.NewContentFromFunctionResponse(open.Name, map[string]any{"status": "approved", "by": "ben"}, genai.RoleUser)
	answer.Parts[0].FunctionResponse.ID = open.ID
	return id, turn(ctx, office, id, answer)
}

// turn runs the agents on one message of the user.
func turn(ctx context.Context, svc session.Service, id string, message *genai.Content) error {
	root, err := newBuyer()
	if err != nil {
		return err
	}
	r, err := runner.New(runner.Config{AppName: appName, Agent: root, SessionService: svc})
	if err != nil {
		return err
	}
	for _, err := range r.Run(ctx, userID, id, message, agent.RunConfig{}) {
		if err != nil {
			return err
		}
	}
	return nil
}

// openCall returns the last call whose result is still to come.
func openCall(ctx context.Context, svc session.Service, id string) (*genai.FunctionCall, error) {
	got, err := svc.Get(ctx, &session.GetRequest{AppName: appName, UserID: userID, SessionID: id})
	if err != nil {
		return nil, err
	}
	for _, event := range slices.Backward(slices.Collect(got.Session.Events().All())) {
		if event.Content == nil || len(event.LongRunningToolIDs) == 0 {
			continue
		}
		for _, part := range event.Content.Parts {
			if call := part.FunctionCall; call != nil && slices.Contains(event.LongRunningToolIDs, call.ID) {
				return call, nil
			}
		}
	}
	return nil, errors.New("no call is open")
}

// show prints what is recorded of a session.
func show(ctx context.Context, svc session.Service, id string, w io.Writer) error {
	got, err := svc.Get(ctx, &session.GetRequest{AppName: appName, UserID: userID, SessionID: id})
	if err != nil {
		return err
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	n := 0
	for event := range got.Session.Events().All() {
		if event.Content == nil {
			continue
		}
		for _, part := range event.Content.Parts {
			n++
			_, _ = fmt.Fprintf(tw, "%d\t%s\t%s\n", n, event.Author, describe(part))
		}
	}
	_, _ = fmt.Fprintln(tw)
	var lines []string
	for key, value := range got.Session.State().All() {
		lines = append(lines, fmt.Sprintf("%s\t= %v\n", key, value))
	}
	slices.Sort(lines)
	for _, line := range lines {
		_, _ = fmt.Fprint(tw, line)
	}
	return tw.Flush() // with the first error of the writes above
}

func describe(part *genai.Part) string {
	switch {
	case part.FunctionCall != nil:
		return "calls " + part.FunctionCall.Name + " " + encoded(part.FunctionCall.Args)
	case part.FunctionResponse != nil:
		return part.FunctionResponse.Name + " answers " + encoded(part.FunctionResponse.Response)
	}
	return part.Text
}

func encoded(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

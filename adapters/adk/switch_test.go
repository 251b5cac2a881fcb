package adk_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/adk/v2/model"
	adksession "google.golang.org/adk/v2/session"
	adkdatabase "google.golang.org/adk/v2/session/database"
	"google.golang.org/genai"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/hansardlog/hansard/adapters/adk"
	"github.com/hansardlog/hansard/internal/dbtest"
)

// program is written against ADK alone: it knows nothing of Hansard. It returns
// what a user of it can see.
func program(ctx context.Context, svc adksession.Service) (string, error) {
	var out strings.Builder
	created, err := svc.Create(ctx, &adksession.CreateRequest{
		AppName: "notes", UserID: "ana", SessionID: "today",
		State: map[string]any{"app:version": 1.0, "user:name": "Ana", "count": 0.0},
	})
	if err != nil {
		return "", err
	}
	s := created.Session
	for i, text := range []string{"milk", "bread", "salt"} {
		for _, author := range []string{"user", "assistant"} {
			event := adksession.NewEvent(ctx, fmt.Sprint("run-", i))
			event.Author = author
			event.Timestamp = time.Date(2025, 1, 1, 0, i, len(author), 0, time.UTC)
			event.LLMResponse = model.LLMResponse{Content: genai.NewContentFromText(text, genai.RoleUser)}
			event.Actions.StateDelta["count"] = float64(i + 1)
			event.Actions.StateDelta["user:last"] = text
			event.Actions.StateDelta["temp:draft"] = text
			// ADK's database service compares the time of the last update.
			got, err := svc.Get(ctx, &adksession.GetRequest{AppName: "notes", UserID: "ana", SessionID: "today"})
			if err != nil {
				return "", err
			}
			s = got.Session
			event.Timestamp = later(event.Timestamp, s.LastUpdateTime())
			if err := svc.AppendEvent(ctx, s, event); err != nil {
				return "", err
			}
		}
	}
	fmt.Fprintln(&out, "running:", render(s))
	if _, err := svc.Create(ctx, &adksession.CreateRequest{AppName: "notes", UserID: "ana", SessionID: "tomorrow"}); err != nil {
		return "", err
	}
	if _, err := svc.Create(ctx, &adksession.CreateRequest{AppName: "notes", UserID: "ana", SessionID: "today"}); err == nil {
		fmt.Fprintln(&out, "created twice")
	}
	for _, req := range []*adksession.GetRequest{
		{AppName: "notes", UserID: "ana", SessionID: "today"},
		{AppName: "notes", UserID: "ana", SessionID: "today", NumRecentEvents: 2},
	} {
		got, err := svc.Get(ctx, req)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(&out, "read:", render(got.Session))
	}
	list, err := svc.List(ctx, &adksession.ListRequest{AppName: "notes", UserID: "ana"})
	if err != nil {
		return "", err
	}
	slices.SortFunc(list.Sessions, func(a, b adksession.Session) int { return strings.Compare(a.ID(), b.ID()) })
	for _, s := range list.Sessions {
		fmt.Fprintln(&out, "listed:", s.ID(), render(s))
	}
	if err := svc.Delete(ctx, &adksession.DeleteRequest{AppName: "notes", UserID: "ana", SessionID: "today"}); err != nil {
		return "", err
	}
	if _, err := svc.Get(ctx, &adksession.GetRequest{AppName: "notes", UserID: "ana", SessionID: "today"}); err == nil {
		fmt.Fprintln(&out, "there after its deletion")
	}
	return out.String(), nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b.Add(time.Millisecond)
}

// render writes what a session shows, with the types of the state. ADK's service
// in memory leaves temp: keys in the events, the others do not.
func render(s adksession.Session) string {
	var lines []string
	for key, value := range s.State().All() {
		lines = append(lines, fmt.Sprintf("%s=%T(%v)", key, value, value))
	}
	slices.Sort(lines)
	for event := range s.Events().All() {
		delta := event.Actions.StateDelta
		lines = append(lines, fmt.Sprintf("%s:%s:%s:%v,%v", event.InvocationID, event.Author, event.Content.Parts[0].Text, delta["count"], delta["user:last"]))
	}
	return strings.Join(lines, " ")
}

// A program that changes its constructor, and nothing else, sees the same.
func TestProgramSwitchedByItsConstructor(t *testing.T) {
	t.Parallel()
	ofADK := func(dialector func(t *testing.T) gorm.Dialector) func(t *testing.T) adksession.Service {
		return func(t *testing.T) adksession.Service {
			svc, err := adkdatabase.NewSessionService(dialector(t), &gorm.Config{Logger: logger.Discard})
			if err != nil {
				t.Fatal(err)
			}
			if err := adkdatabase.AutoMigrate(svc); err != nil {
				t.Fatal(err)
			}
			return svc
		}
	}
	services := []struct {
		name string
		new  func(t *testing.T) adksession.Service
	}{
		{"ADK in memory", func(*testing.T) adksession.Service { return adksession.InMemoryService() }},
		{"ADK on SQLite", ofADK(func(t *testing.T) gorm.Dialector { return sqlite.Open(dbtest.SQLiteDSN(dbtest.SQLite(t))) })},
		{"ADK on PostgreSQL", ofADK(func(t *testing.T) gorm.Dialector { return postgres.Open(dbtest.Postgres(t)) })},
	}
	for _, b := range backends {
		services = append(services, struct {
			name string
			new  func(t *testing.T) adksession.Service
		}{"Hansard, " + b.name, func(t *testing.T) adksession.Service { return adk.New(b.new(t)(t)) }})
	}
	want, err := program(t.Context(), adksession.InMemoryService())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range services {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			got, err := program(t.Context(), s.new(t))
			if err != nil {
				t.Fatal(err)
			}
			if d := difference(strings.Split(want, "\n"), strings.Split(got, "\n")); d != "" {
				t.Errorf("against ADK in memory:\n%s", d)
			}
		})
	}
}

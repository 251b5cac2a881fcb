package adk_test

import (
	"errors"
	"fmt"
	"iter"
	"testing"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/workflowagents/parallelagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/runner"
	adksession "google.golang.org/adk/v2/session"
	"google.golang.org/genai"

	"github.com/hansardlog/hansard/adapters/adk"
	"github.com/hansardlog/hansard/session"
)

// speaker is an agent that says what its function yields.
func speaker(t *testing.T, name string, run func(ctx agent.InvocationContext, say func(text string, delta map[string]any) bool)) agent.Agent {
	t.Helper()
	a, err := agent.New(agent.Config{Name: name, Run: func(ctx agent.InvocationContext) iter.Seq2[*adksession.Event, error] {
		return func(yield func(*adksession.Event, error) bool) {
			run(ctx, func(text string, delta map[string]any) bool {
				event := adksession.NewEvent(ctx, ctx.InvocationID())
				event.LLMResponse = model.LLMResponse{Content: genai.NewContentFromText(text, genai.RoleModel)}
				event.Actions.StateDelta = delta
				return yield(event, nil)
			})
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// turn lets ADK's runner run an agent on one message and returns the first error.
func turn(t *testing.T, svc adksession.Service, root agent.Agent) error {
	t.Helper()
	r, err := runner.New(runner.Config{AppName: key.AppName, Agent: root, SessionService: svc, AutoCreateSession: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range r.Run(t.Context(), key.UserID, key.SessionID, genai.NewContentFromText("go", genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestRunnerWithParallelAgents(t *testing.T) {
	t.Parallel()
	onBackends(t, func(t *testing.T, open opener) {
		for name, svc := range map[string]adksession.Service{
			"default":        adk.New(open(t)),
			"exclusive runs": adk.New(open(t), adk.WithExclusiveRuns()),
		} {
			var subs []agent.Agent
			for a := range agents {
				subs = append(subs, speaker(t, fmt.Sprint("agent", a), func(ctx agent.InvocationContext, say func(string, map[string]any) bool) {
					for n := range each {
						if !say(fmt.Sprint(n), map[string]any{fmt.Sprint("agent", a): n, "user:last": a, "temp:x": n}) {
							return
						}
						if got, err := ctx.Session().State().Get(fmt.Sprint("agent", a)); err != nil || got != n {
							t.Errorf("agent %d reads %v, %v after writing %d", a, got, err, n)
						}
					}
				}))
			}
			root, err := parallelagent.New(parallelagent.Config{AgentConfig: agent.Config{Name: "all", SubAgents: subs}})
			if err != nil {
				t.Fatal(err)
			}
			before := 0
			if got, err := svc.Get(t.Context(), &adksession.GetRequest{AppName: key.AppName, UserID: key.UserID, SessionID: key.SessionID}); err == nil {
				before = got.Session.Events().Len()
			}
			if err := turn(t, svc, root); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			now := get(t, svc)
			if n := now.Events().Len() - before; n != agents*each+1 {
				t.Errorf("%s: %d events, want the message and %d of agents", name, n, agents*each)
			}
			for a := range agents {
				if got, want := value(t, now, fmt.Sprint("agent", a)), fmt.Sprint("float64 ", each-1); got != want {
					t.Errorf("%s: agent%d = %s, want %s", name, a, got, want)
				}
			}
		}
	})
}

// Somebody deletes the session while a turn runs, and makes it again: the turn
// ends as not found and leaves nothing in the new one.
func TestRunnerAndARecreatedSession(t *testing.T) {
	t.Parallel()
	onBackends(t, func(t *testing.T, open opener) {
		svc, other := adk.New(open(t)), adk.New(open(t))
		root := speaker(t, "agent", func(_ agent.InvocationContext, say func(string, map[string]any) bool) {
			if !say("before", nil) {
				return
			}
			if err := other.Delete(t.Context(), &adksession.DeleteRequest{AppName: key.AppName, UserID: key.UserID, SessionID: key.SessionID}); err != nil {
				t.Error(err)
			}
			create(t, other, map[string]any{"k": "new"})
			say("after", map[string]any{"k": "late", "user:k": "late"})
		})
		if err := turn(t, svc, root); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("the turn: %v, want ErrNotFound", err)
		}
		now := get(t, other)
		if now.Events().Len() != 0 || value(t, now, "k") != "string new" || value(t, now, "user:k") != adksession.ErrStateKeyNotExist.Error() {
			t.Errorf("the new session has events %v, k = %s, user:k = %s", ids(now), value(t, now, "k"), value(t, now, "user:k"))
		}
	})
}

// A run with exclusive runs that another one overtakes fails through the runner,
// too; what it said before stays.
func TestRunnerOvertaken(t *testing.T) {
	t.Parallel()
	onBackends(t, func(t *testing.T, open opener) {
		svc := adk.New(open(t), adk.WithExclusiveRuns())
		root := speaker(t, "agent", func(_ agent.InvocationContext, say func(string, map[string]any) bool) {
			if say("before", nil) {
				mustAppend(t, svc, get(t, svc), said("foreign", nil))
				say("after", nil)
			}
		})
		if err := turn(t, svc, root); !errors.Is(err, session.ErrStale) {
			t.Errorf("the turn: %v, want ErrStale", err)
		}
		if got := ids(get(t, svc)); len(got) != 3 || got[2] != "foreign" {
			t.Errorf("stored %v, want the message, what was said before, and foreign", got)
		}
	})
}

package adk_test

import (
	"context"
	"errors"
	"fmt"

	adksession "google.golang.org/adk/v2/session"

	"github.com/hansardlog/hansard/adapters/adk"
	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/inmemory"
)

// twoRuns lets two runs of one session append in turn, as two requests of one
// user do that arrive together, and prints what the second one got.
func twoRuns(svc adksession.Service) error {
	ctx := context.Background()
	if _, err := svc.Create(ctx, &adksession.CreateRequest{AppName: "shop", UserID: "ana", SessionID: "1"}); err != nil {
		return err
	}
	var runs [2]adksession.Session // as the runner gets them when each run begins
	for i := range runs {
		got, err := svc.Get(ctx, &adksession.GetRequest{AppName: "shop", UserID: "ana", SessionID: "1"})
		if err != nil {
			return err
		}
		runs[i] = got.Session
	}
	for _, step := range []struct {
		run    int
		author string
		text   string
	}{
		{0, "user", "Order the blue one."},
		{1, "user", "No, the red one."},
		{0, "clerk", "The blue one is ordered."},
	} {
		event := adksession.NewEvent(ctx, fmt.Sprint("run ", step.run))
		event.Author = step.author
		event.Actions.StateDelta["text"] = step.text
		switch err := svc.AppendEvent(ctx, runs[step.run], event); {
		case errors.Is(err, session.ErrStale):
			fmt.Printf("run %d is stale: begin it again\n", step.run)
		case err != nil:
			return err
		}
	}
	got, err := svc.Get(ctx, &adksession.GetRequest{AppName: "shop", UserID: "ana", SessionID: "1"})
	if err != nil {
		return err
	}
	for event := range got.Session.Events().All() {
		fmt.Println(event.InvocationID, event.Author, event.Actions.StateDelta["text"])
	}
	return nil
}

// By default every legitimate writer succeeds. This is what google/adk-go issue
// 1229 asks for: a second writer should not end the turn that runs. The price is
// that events of two runs may stand between each other, in one order for
// everybody.
func ExampleNew() {
	if err := twoRuns(adk.New(inmemory.New())); err != nil {
		fmt.Println(err)
	}
	// Output:
	// run 0 user Order the blue one.
	// run 1 user No, the red one.
	// run 0 clerk The blue one is ordered.
}

// With exclusive runs no event stands between two of one run. This is the other
// half of the dilemma, google/adk-python issue 4751: two runs that interleave
// leave a history that contradicts itself. The price is that a run fails and is to be begun
// again; what it stored before stays. Which of two runs fails is not promised.
func ExampleWithExclusiveRuns() {
	if err := twoRuns(adk.New(inmemory.New(), adk.WithExclusiveRuns())); err != nil {
		fmt.Println(err)
	}
	// Output:
	// run 1 is stale: begin it again
	// run 0 user Order the blue one.
	// run 0 clerk The blue one is ordered.
}

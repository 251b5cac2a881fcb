// Command quickstart records one turn of an agent in a SQLite file, closes it,
// opens it again and reads the conversation back.
//
//	go run ./examples/quickstart [-db FILE]
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"gorm.io/driver/sqlite"

	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
)

var key = session.Key{AppName: "weather", UserID: "ana", SessionID: "monday"}

// turn is what one question leads to. Each event names its request with an
// idempotency key, so that sending it again is safe.
var turn = []*session.Event{
	{
		Author:         "ana",
		IdempotencyKey: "turn-1/question",
		Payload:        json.RawMessage(`{"text": "Will it rain in Bergen tomorrow?"}`),
		StateDelta:     session.State{"user:home": "Bergen"}, // in every session of ana
	},
	{
		Author:         "forecaster",
		IdempotencyKey: "turn-1/call",
		Payload:        json.RawMessage(`{"call": "forecast", "args": {"place": "Bergen", "days": 1}}`),
		StateDelta:     session.State{"temp:attempt": 1}, // never stored
	},
	{
		Author:         "forecast",
		IdempotencyKey: "turn-1/result",
		Payload:        json.RawMessage(`{"rain_mm": 11.50, "station": 9007199254740993}`),
		StateDelta:     session.State{"app:station": 9007199254740993}, // in every session of the app
	},
	{
		Author:         "forecaster",
		IdempotencyKey: "turn-1/answer",
		Payload:        json.RawMessage(`{"text": "Yes, 11.5 mm. Take a coat."}`),
		StateDelta:     session.State{"topic": "rain"}, // in this session
	},
}

func main() { os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) }

// run is the program without its process; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(stderr)
	path := flags.String("db", "", "keep the conversation in this SQLite `FILE` (default: a temporary one)")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if err := quickstart(ctx, *path, stdout); err != nil {
		_, _ = fmt.Fprintln(stderr, "quickstart:", err)
		return 1
	}
	return 0
}

func quickstart(ctx context.Context, path string, w io.Writer) error {
	if path == "" {
		dir, err := os.MkdirTemp("", "hansard-quickstart-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		path = filepath.Join(dir, "quickstart.db")
	}
	if err := record(ctx, path); err != nil {
		return err
	}
	return show(ctx, path, w)
}

// open opens the file, new or not. WAL and a busy timeout let several programs
// use it at a time.
func open(ctx context.Context, path string) (*database.Service, error) {
	svc, err := database.Open(sqlite.Open("file:" + path + "?_journal_mode=WAL&_busy_timeout=10000"))
	if err != nil {
		return nil, err
	}
	if err := svc.Migrate(ctx); err != nil {
		return nil, errors.Join(err, svc.Close())
	}
	return svc, nil
}

// record stores the turn, or finds that it is stored.
func record(ctx context.Context, path string) (err error) {
	svc, err := open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, svc.Close()) }()

	_, err = svc.Create(ctx, &session.CreateRequest{Key: key})
	if err != nil && !errors.Is(err, session.ErrAlreadyExists) {
		return err
	}
	for _, event := range turn {
		if _, err := svc.AppendEvent(ctx, &session.AppendEventRequest{Key: key, Event: event}); err != nil {
			return err
		}
	}
	return nil
}

// show prints the conversation and the state that it left.
func show(ctx context.Context, path string, w io.Writer) (err error) {
	svc, err := open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, svc.Close()) }()

	resp, err := svc.Get(ctx, &session.GetRequest{Key: key})
	if err != nil {
		return err
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, event := range resp.Session.Events {
		_, _ = fmt.Fprintf(tw, "%d\t%s\t%s\n", event.Seq, event.Author, event.Payload)
	}
	_, _ = fmt.Fprintln(tw)
	state := resp.Session.State
	for _, name := range slices.Sorted(maps.Keys(state)) {
		_, _ = fmt.Fprintf(tw, "%s\t= %v\n", name, state[name])
	}
	station, err := session.Get[int64](state, "app:station") // exact, or an error
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(tw, "\nthe next station is %d\n", station+1)
	return tw.Flush() // with the first error of the writes above
}

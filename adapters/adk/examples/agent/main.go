// Command agent runs ADK's runner on Hansard and prints the conversation that
// it recorded: an agent with two tools, agents in sequence and in parallel, state
// of every scope, and a tool whose answer comes later, from another process. The
// model is scripted, so nothing is asked of a network.
//
//	go run ./examples/agent [-db FILE | -postgres DSN]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"google.golang.org/adk/v2/platform"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/hansardlog/hansard/adapters/adk"
	"github.com/hansardlog/hansard/session/database"
)

func main() { os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) }

// run is the program without its process; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("agent", flag.ContinueOnError)
	flags.SetOutput(stderr)
	path := flags.String("db", "", "keep the conversation in this SQLite `FILE` (default: a temporary one)")
	dsn := flags.String("postgres", "", "keep the conversation in the PostgreSQL database of this `DSN`")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if err := record(ctx, *path, *dsn, stdout); err != nil {
		_, _ = fmt.Fprintln(stderr, "agent:", err)
		return 1
	}
	return 0
}

// record holds the conversation and prints it.
func record(ctx context.Context, path, dsn string, w io.Writer) (err error) {
	dialector := func() gorm.Dialector { return postgres.Open(dsn) }
	if dsn == "" {
		if path == "" {
			dir, err := os.MkdirTemp("", "hansard-agent-")
			if err != nil {
				return err
			}
			defer func() { _ = os.RemoveAll(dir) }()
			path = filepath.Join(dir, "agent.db")
		}
		dialector = func() gorm.Dialector { return sqlite.Open("file:" + path + "?_journal_mode=WAL&_busy_timeout=10000") }
	}
	// Two services on one database, as two processes have them.
	var services [2]*database.Service
	for i := range services {
		if services[i], err = database.Open(dialector(), database.WithClock(platform.Now)); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, services[i].Close()) }()
	}
	if err := services[0].Migrate(ctx); err != nil {
		return err
	}
	desk, office := adk.New(services[0]), adk.New(services[1])
	id, err := converse(ctx, desk, office)
	if err != nil {
		return err
	}
	return show(ctx, office, id, w)
}

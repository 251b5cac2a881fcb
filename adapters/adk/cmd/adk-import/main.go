// Command adk-import copies the sessions of ADK-Go's own database service into
// Hansard.
//
//	go run github.com/hansardlog/hansard/adapters/adk/cmd/adk-import -from sessions.db -to hansard.db
//	adk-import -from postgres://me@db.example/agents -to postgres://me@db.example/agents
//
// Each of the two is PostgreSQL, named by a URL or by host=... dbname=..., or
// SQLite, named by a file or by a file: URI of the driver
// github.com/glebarez/sqlite. They may be the same database. Passwords need not
// stand on the command line: PGPASSWORD, PGSERVICE and ~/.pgpass are read as
// psql reads them.
//
// The source is only read. The destination gets Hansard's tables if it has none
// yet. After an interruption the same command goes on where it was. The exit
// status is 0 if everything has been imported, 1 if not, and 2 for a command
// line that makes no sense; what could not be imported is named on standard
// error.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/hansardlog/hansard/adapters/adk"
	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program without its process. It returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	opts, err := parseOptions(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2
	}
	if err := importAll(ctx, opts, stdout, stderr); err != nil {
		_, _ = fmt.Fprintln(stderr, "adk-import:", opts.from.clean(opts.to.clean(err.Error())))
		return 1
	}
	return 0
}

type options struct {
	from, to dsn
	app      string
	prefix   string
}

// parseOptions says on stderr what is wrong with args before it returns an error.
func parseOptions(args []string, stderr io.Writer) (options, error) {
	var opts options
	var from, to, fromDriver, toDriver string
	flags := flag.NewFlagSet("adk-import", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&from, "from", "", "read ADK-Go's tables in the database at this `DSN`")
	flags.StringVar(&to, "to", "", "write Hansard's tables in the database at this `DSN`")
	flags.StringVar(&fromDriver, "from-driver", "", "postgres or sqlite, if the DSN does not tell")
	flags.StringVar(&toDriver, "to-driver", "", "postgres or sqlite, if the DSN does not tell")
	flags.StringVar(&opts.app, "app", "", "import this app `name` only")
	flags.StringVar(&opts.prefix, "prefix", "hansard_", "what the names of Hansard's tables begin with")
	if err := flags.Parse(args); err != nil {
		return opts, err
	}
	var err error
	if flags.NArg() > 0 {
		err = errors.New("unexpected argument: the databases are named with -from and -to") // it may be a DSN
	} else if opts.from, err = parseDSN("-from", from, fromDriver); err == nil {
		opts.to, err = parseDSN("-to", to, toDriver)
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "adk-import:", err)
		flags.Usage()
	}
	return opts, err
}

// importAll opens the databases, imports and reports.
func importAll(ctx context.Context, opts options, stdout, stderr io.Writer) (err error) {
	src, closeSource, err := opts.from.openSource()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeSource()) }()
	dst, err := database.Open(opts.to.destination(), database.WithTablePrefix(opts.prefix))
	if err != nil {
		return fmt.Errorf("-to: %w", err)
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	if err := dst.Migrate(ctx); err != nil {
		return unfinished(ctx, fmt.Errorf("-to: %w", err))
	}

	bar := progress{w: stderr}
	rep, err := adk.Import(ctx, src, dst, adk.WithAppName(opts.app), adk.WithProgress(bar.show))
	bar.clear()
	if err := printReport(stdout, rep); err != nil {
		return err
	}
	for _, c := range rep.Conflicts {
		_, _ = fmt.Fprintln(stderr, "adk-import: conflict:", c)
	}
	return unfinished(ctx, err)
}

// unfinished explains why an import stopped before the end.
func unfinished(ctx context.Context, err error) error {
	const hint = "run the same command again to complete the import"
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return errors.New("interrupted: " + hint)
	case errors.Is(err, adk.ErrIncomplete):
		return adk.ErrIncomplete // the conflicts have been named
	case errors.Is(err, session.ErrBusy):
		return fmt.Errorf("%w: other writers kept the database locked; %s", err, hint)
	}
	return err
}

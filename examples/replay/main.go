// Command replay stores recorded conversations in a database, reads them back
// and checks that not a byte of them has changed.
//
//	go run ./examples/replay                               # a small sample of its own, on a temporary SQLite file
//	go run ./examples/replay -in FILE.jsonl -db FILE.db    # your conversations, kept
//	go run ./examples/replay -in FILE.jsonl -postgres DSN
//
// A line of the input is one conversation in the chat-completions shape:
//
//	{"id": "support-1-0", "messages": [{"role": "user", "content": "Hello"}, …]}
//
// It becomes one session of the app "replay" and each message one event, with
// the message's own bytes as payload. Running the command again on the same
// database stores nothing: every event is a replay. An import that was
// interrupted is completed by the next run.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"time"

	"github.com/hansardlog/hansard/session"
)

//go:embed sample.jsonl
var sample []byte

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program without its process. It returns the exit code: 0 if the
// whole input is stored and verified, 1 if anything of it is not, 2 for a
// command line that makes no sense.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	opts, err := parseOptions(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2
	}
	if err := replay(ctx, opts, stdout, stderr); err != nil {
		_, _ = fmt.Fprintln(stderr, "replay:", err)
		return 1
	}
	return 0
}

type options struct {
	in       string // empty: the sample
	db       string // empty: a temporary file
	postgres string
	workers  int
}

// parseOptions says on stderr what is wrong with args before it returns an error.
func parseOptions(args []string, stderr io.Writer) (options, error) {
	var opts options
	flags := flag.NewFlagSet("replay", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&opts.in, "in", "", "read conversations from this `FILE.jsonl` (default: a sample that is built in)")
	flags.StringVar(&opts.db, "db", "", "store them in this SQLite `FILE` and keep it (default: a temporary file)")
	flags.StringVar(&opts.postgres, "postgres", "", "store them in the PostgreSQL database at this `DSN`")
	flags.IntVar(&opts.workers, "workers", 2*runtime.GOMAXPROCS(0), "import this many conversations at a time")
	if err := flags.Parse(args); err != nil {
		return opts, err
	}
	var err error
	switch {
	case flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q: the input is named with -in", flags.Arg(0))
	case opts.db != "" && opts.postgres != "":
		err = errors.New("-db and -postgres exclude each other")
	case opts.workers < 1:
		err = fmt.Errorf("-workers is %d: at least 1 is needed", opts.workers)
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "replay:", err)
		flags.Usage()
	}
	return opts, err
}

// replay imports the input, reports, and verifies what is stored.
func replay(ctx context.Context, opts options, stdout, stderr io.Writer) (err error) {
	in, err := openInput(opts.in)
	if err != nil {
		return err
	}
	svc, where, closeService, err := openService(ctx, opts)
	if err != nil {
		return unfinished(ctx, err)
	}
	defer func() { err = errors.Join(err, closeService()) }()
	out := &printer{w: stdout}
	out.printf("database: %s\n\n", where)

	bar := newProgress(stderr, in.size)
	imp := &importer{svc: svc, done: bar.add}
	start := time.Now()
	bad, err := forEach(ctx, in, opts.workers, imp.add)
	elapsed := time.Since(start)
	bar.clear()

	out.table(imp.rows)
	out.totals(imp.rows, elapsed)
	if out.err != nil {
		return out.err
	}
	for _, line := range bad {
		_, _ = fmt.Fprintln(stderr, "replay:", line)
	}
	if err != nil {
		return unfinished(ctx, err)
	}
	if err := verifyAll(ctx, svc, in, opts.workers, imp.rows, out); err != nil {
		return err
	}
	switch len(bad) {
	case 0:
		return out.err
	case 1:
		return errors.New("1 bad line was skipped")
	default:
		return fmt.Errorf("%d bad lines were skipped", len(bad))
	}
}

// unfinished explains why an import or its verification stopped before the end.
func unfinished(ctx context.Context, err error) error {
	const hint = "run the same command again to complete the import"
	if ctx.Err() != nil {
		return errors.New("interrupted: " + hint)
	}
	if errors.Is(err, session.ErrBusy) {
		return fmt.Errorf("%w: other writers kept the database locked; %s", err, hint)
	}
	return err
}

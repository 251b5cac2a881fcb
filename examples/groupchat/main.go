// Command groupchat plays a conversation of two people and two agents who come
// and go, and prints what each of them may see of it.
//
//	go run ./examples/groupchat
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"

	"gorm.io/driver/sqlite"

	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
)

func main() { os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) }

// run is the program without its process; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("groupchat", flag.ContinueOnError)
	flags.SetOutput(stderr)
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if flags.NArg() > 0 {
		_, _ = fmt.Fprintf(stderr, "groupchat: unexpected argument %q\n", flags.Arg(0))
		return 2
	}
	if err := groupchat(ctx, stdout); err != nil {
		_, _ = fmt.Fprintln(stderr, "groupchat:", err)
		return 1
	}
	return 0
}

func groupchat(ctx context.Context, stdout io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "hansard-groupchat-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	svc, err := database.Open(sqlite.Open("file:" + filepath.Join(dir, "chat.db") + "?_journal_mode=WAL&_busy_timeout=10000"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, svc.Close()) }()
	if err := svc.Migrate(ctx); err != nil {
		return err
	}

	r := &room{svc: svc, key: session.Key{AppName: "groupchat", UserID: "ana", SessionID: "trip"}}
	if err := r.play(ctx); err != nil {
		return err
	}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	if err := printViews(ctx, w, r); err != nil {
		return err
	}
	if err := printPeriods(ctx, w, r); err != nil {
		return err
	}
	if err := printRefusals(ctx, w, r); err != nil {
		return err
	}
	return w.Flush() // with the first error of the writes above
}

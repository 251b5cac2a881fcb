// Command difference runs the same scenarios on ADK-Go's own database service and
// on Hansard, on the same databases, and prints a table of what came of them.
//
//	go run ./difference [-runs N] [-postgres DSN]
//
// On SQLite it uses a temporary file, on PostgreSQL a schema of its own, which it
// drops. Without a DSN there is no PostgreSQL in the table.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() { os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) }

// run is the program without its process; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("difference", flag.ContinueOnError)
	flags.SetOutput(stderr)
	runs := flags.Int("runs", 20, "run each scenario `N` times")
	dsn := flags.String("postgres", "", "also use the PostgreSQL database of this `DSN`")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if *runs < 1 {
		_, _ = fmt.Fprintln(stderr, "difference: -runs is at least 1")
		return 2
	}
	columns, err := measure(ctx, *dsn, *runs)
	if err == nil {
		err = write(stdout, columns, *runs)
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "difference:", err)
		return 1
	}
	return 0
}

// column is one service and what it counted, scenario by scenario.
type column struct {
	name    string
	results []result
}

// measure runs every scenario on every service.
func measure(ctx context.Context, dsn string, runs int) (columns []column, err error) {
	stores, err := openStores(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stores.close()) }()
	for _, svc := range stores.services {
		c := column{name: svc.name}
		for i, s := range scenarios {
			var r result
			for n := range runs {
				w := &world{ctx: ctx, svc: svc.Service, app: fmt.Sprintf("%d-%d", i, n)}
				counts := s.run(w)
				if w.err != nil {
					return nil, fmt.Errorf("%s: %s: %w", svc.name, s.name, w.err)
				}
				r = append(r, counts)
			}
			c.results = append(c.results, r)
		}
		columns = append(columns, c)
	}
	return columns, nil
}

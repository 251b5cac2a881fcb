package main

import (
	"flag"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// options are what the command line asks for.
type options struct {
	config
	quick, growth  bool
	only           *regexp.Regexp
	json, markdown string
}

func fullConfig() config {
	return config{
		reps: 5, window: 2 * time.Second, pool: 16, short: 1000, long: 1_000_000, whole: 10_000, sessions: 10_000,
		state: 1 << 20, allocs: 2000, live: 50_000, growEvents: 1_000_000, growSessions: 1_000_000,
	}
}

// quickConfig is all of it, as little as there can be.
func quickConfig() config {
	return config{
		reps: 1, window: 25 * time.Millisecond, pool: 16, short: 100, long: 2000, whole: 200, sessions: 120,
		state: 1 << 16, allocs: 50, live: 1000, growEvents: 3000, growSessions: 500,
	}
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.BoolVar(&o.quick, "quick", false, "everything once and tiny: to see that it works")
	flags.BoolVar(&o.growth, "growth", false, "fill large tables and report plans and sizes, instead of the workloads")
	reps := flags.Int("reps", 0, "repeat each workload `N` times (default 5)")
	window := flags.Duration("window", 0, "length of a repetition (default 2s)")
	pool := flags.Int("pool", 0, "connections of each client (default 16)")
	sizes := flags.String("sizes", "", "events of a short and a long history, `SHORT,LONG` (default 1k,1M)")
	events := flags.String("grow-events", "", "with -growth: `N` events in one session (default 1M)")
	sessions := flags.String("grow-sessions", "", "with -growth: `N` sessions in one table (default 1M)")
	only := flags.String("only", "", "only workloads whose goals or name match `REGEXP`, such as 'P1\\b' or SQLite")
	flags.StringVar(&o.sqlite, "sqlite", "mattn", "SQLite driver: mattn (needs cgo) or pure")
	flags.StringVar(&o.json, "json", "", "write the report as JSON to `FILE`")
	flags.StringVar(&o.markdown, "markdown", "", "write the report as Markdown to `FILE` instead of standard output")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	driver := o.sqlite
	o.config = fullConfig()
	if o.quick {
		o.config = quickConfig()
	}
	o.sqlite = driver
	err := func() (err error) {
		if flags.NArg() > 0 {
			return fmt.Errorf("unknown argument %q", flags.Arg(0))
		}
		if _, ok := sqliteDrivers[driver]; !ok {
			return fmt.Errorf("no SQLite driver %q", driver)
		}
		if o.only, err = regexp.Compile(*only); err != nil {
			return err
		}
		set(&o.reps, *reps)
		set(&o.window, *window)
		set(&o.pool, *pool)
		if *sizes != "" {
			short, long, _ := strings.Cut(*sizes, ",")
			if err := setSize(&o.short, short); err != nil {
				return err
			}
			if err := setSize(&o.long, long); err != nil {
				return err
			}
		}
		if err := setSize(&o.growEvents, *events); err != nil {
			return err
		}
		return setSize(&o.growSessions, *sessions)
	}()
	if err == nil && (o.reps < 1 || o.window <= 0 || o.pool < 1 || o.short < recentEvents || o.long <= o.short) {
		err = fmt.Errorf("repetitions, window and pool are positive, a short history has %d events and a long one more", recentEvents)
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "bench:", err)
	}
	return o, err
}

// set keeps the default for a flag that was not given.
func set[T int | time.Duration](to *T, value T) {
	if value != 0 {
		*to = value
	}
}

// setSize reads 1000, 1k or 1M.
func setSize(to *int, text string) error {
	if text == "" {
		return nil
	}
	factor := 1
	digits := text
	for suffix, f := range map[string]int{"k": 1000, "M": 1_000_000} {
		if d, ok := strings.CutSuffix(text, suffix); ok {
			digits, factor = d, f
		}
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 {
		return fmt.Errorf("%q is no size: 1000, 1k or 1M", text)
	}
	*to = n * factor
	return nil
}

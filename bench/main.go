// Command bench measures Hansard against ADK-Go's own session services and
// against a floor written by hand, side by side, and verifies in every workload
// that what was acknowledged is stored.
//
//	go run . [-quick] [-reps N] [-only REGEXP] [-sizes 1k,1M] [-json FILE] [-markdown FILE]
//	go run . -growth [-grow-events N] [-grow-sessions N]
//
// It starts a PostgreSQL server of its own from the binaries on the machine and
// makes SQLite files in a temporary directory. It exits with 1 if Hansard lost,
// repeated or misplaced anything; a goal that is missed is printed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr, nil)
	stop()
	os.Exit(code)
}

// run is the program without its process; it returns the exit code. With wrap,
// Hansard is measured through it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, wrap func(store) store) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	r, err := o.measure(ctx, stderr, wrap)
	if err == nil {
		err = o.write(r, stdout)
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	damage := r.damage()
	for _, fault := range damage {
		_, _ = fmt.Fprintln(stderr, "bench:", fault)
	}
	return min(len(damage), 1)
}

// measure runs the selected workloads, or the growth, and tells of each.
func (o *options) measure(ctx context.Context, progress io.Writer, wrap func(store) store) (_ *report, err error) {
	l := &lab{config: o.config, wrap: wrap}
	defer func() { err = errors.Join(err, l.run()) }()
	r := &report{Started: time.Now().UTC(), Quick: o.quick, Reps: o.reps, Window: o.window.String(), Pool: o.pool}
	if o.growth {
		r.Growth, err = l.grow(ctx, progress)
	} else {
		r.Series, err = l.measureAll(ctx, o.only, progress)
	}
	if err != nil {
		return nil, err
	}
	r.judge(o.config)
	r.Machine, err = l.describe(ctx)
	r.Took = time.Since(r.Started).Round(time.Second).String()
	return r, err
}

func (l *lab) measureAll(ctx context.Context, only *regexp.Regexp, progress io.Writer) (all []series, err error) {
	var selected []workload
	for _, w := range workloads() {
		if only.MatchString(w.goals + " " + w.name) {
			selected = append(selected, w)
		}
	}
	if len(selected) == 0 {
		return nil, fmt.Errorf("no workload matches %q", only)
	}
	for i, w := range selected {
		start := time.Now()
		found, err := l.measure(ctx, w)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
		_, _ = fmt.Fprintf(progress, "[%d/%d] %s, %s, %s:", i+1, len(selected), w.name, w.unit, time.Since(start).Round(time.Millisecond))
		for _, s := range found {
			_, _ = fmt.Fprintf(progress, "  %s %s", s.Contender, round(s.Median))
			if s.Faults.total() > 0 {
				_, _ = fmt.Fprintf(progress, " (%s)", s.Faults)
			}
		}
		_, _ = fmt.Fprintln(progress)
	}
	return all, nil
}

// write writes the report where the options say.
func (o *options) write(r *report, stdout io.Writer) error {
	if o.json != "" {
		if err := toFile(o.json, r.writeJSON); err != nil {
			return err
		}
	}
	if o.markdown != "" {
		return toFile(o.markdown, r.writeMarkdown)
	}
	return r.writeMarkdown(stdout)
}

func toFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

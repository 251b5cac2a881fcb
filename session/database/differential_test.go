package database_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
	"github.com/hansardlog/hansard/session/inmemory"
)

// seedVar repeats one seed: HANSARD_TEST_SEED=17 go test -run TestDifferential
const seedVar = "HANSARD_TEST_SEED"

// TestDifferential is P10: the same random calls on a database and in memory
// give the same answers and the same errors at every step.
func TestDifferential(t *testing.T) {
	seeds, steps := []uint64{1, 2, 3, 4, 5, 6}, 400
	if testing.Short() {
		seeds, steps = seeds[:2], 200
	}
	// One seed that nobody has tried yet; its number is in the test's name.
	seeds = append(seeds, rand.Uint64N(1_000_000))
	if s := os.Getenv(seedVar); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", seedVar, err)
		}
		seeds = []uint64{seed}
	}
	each(t, func(t *testing.T, b backend) {
		for _, seed := range seeds {
			t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
				memory := newWorld(inmemory.New(inmemory.WithClock(randomClock(seed)), inmemory.WithIDs(numberedIDs()),
					inmemory.WithMaxPayload(diffMaxPayload)))
				stored := newWorld(checked(t, b, database.WithClock(randomClock(seed)), database.WithIDs(numberedIDs()),
					database.WithMaxPayload(diffMaxPayload)))
				compareWorlds(t, seed, steps, memory, stored)
			})
		}
	})
}

const diffMaxPayload = 2048

// randomClock mostly goes forward, by less than a microsecond too; at times it
// stands still or goes back. A backend that asks it more often than the oracle,
// as for a repeated transaction, falls out of step.
func randomClock(seed uint64) func(context.Context) time.Time {
	r := rand.New(rand.NewPCG(seed, 0))
	now := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	steps := []time.Duration{0, 0, 300 * time.Nanosecond, time.Microsecond, time.Second, time.Minute, -time.Second, -time.Hour}
	return func(context.Context) time.Time {
		now = now.Add(steps[r.IntN(len(steps))])
		return now
	}
}

// numberedIDs gives an ID that breaks the rules now and then.
func numberedIDs() func(context.Context) string {
	n := 0
	return func(context.Context) string {
		n++
		if n%61 == 0 {
			return "bad\n"
		}
		return fmt.Sprintf("id-%d", n)
	}
}

func compareWorlds(t *testing.T, seed uint64, steps int, memory, stored *world) {
	var past []*call // as generated, never used in a call
	var tail []string
	m := &model{oracle: memory}
	compare := func(generate func(past []*call) *call) {
		pristine, forMemory, forStored := generate(past), generate(memory.past), generate(stored.past)
		tail = append(tail, fmt.Sprintf("%4d %s", len(past), pristine))
		tail = tail[max(0, len(tail)-15):]

		want, wantErr := memory.do(t.Context(), forMemory)
		got, gotErr := stored.do(t.Context(), forStored)
		difference := differentErrors(gotErr, wantErr)
		if difference == "" && !reflect.DeepEqual(got, want) {
			difference = fmt.Sprintf("got  %s\nwant %s", dumpValue(got), dumpValue(want))
		}
		for _, c := range []*call{forMemory, forStored} {
			if difference == "" && !reflect.DeepEqual(c.req, pristine.req) {
				difference = fmt.Sprintf("the request was modified to\n%s\nwas\n%s", c, pristine)
			}
		}
		if difference != "" {
			t.Fatalf("%s=%d, step %d: %s\n%s\n\nhistory:\n%s", seedVar, seed, len(past), pristine, difference, strings.Join(tail, "\n"))
		}
		m.learn(pristine, want)
		past = append(past, pristine)
	}
	for step := range steps {
		compare(func(past []*call) *call {
			return (&generator{rand.New(rand.NewPCG(seed, uint64(step)+1)), m}).call(past)
		})
	}
	// Whatever the calls happened to ask: in the end everything is the same.
	for _, req := range m.everything() {
		compare(func([]*call) *call { return &call{req: req} })
	}
}

// differentErrors says how two errors differ for a caller, "" if not at all.
func differentErrors(got, want error) string {
	text := func(err error) string {
		if err == nil {
			return "<nil>"
		}
		return err.Error()
	}
	switch {
	case session.Code(got) != session.Code(want), text(got) != text(want):
		return fmt.Sprintf("error: got  %s %s\nerror: want %s %s", session.Code(got), text(got), session.Code(want), text(want))
	case (got == session.ErrNotMember) != (want == session.ErrNotMember): //nolint:errorlint // the value itself is the contract
		return fmt.Sprintf("error: got %#v, want %#v", got, want)
	}
	if d := differentData[*session.ArgumentError](got, want); d != "" {
		return d
	}
	if d := differentData[*session.StaleError](got, want); d != "" {
		return d
	}
	return differentData[*session.EpochError](got, want)
}

func differentData[E error](got, want error) string {
	var g, w E
	if errors.As(got, &g) != errors.As(want, &w) || !reflect.DeepEqual(g, w) {
		return fmt.Sprintf("error: got %#v, want %#v", g, w)
	}
	return ""
}

// dumpValue prints what people can compare; JSON hides the difference of nil
// and empty, Go syntax does not follow pointers.
func dumpValue(v any) string {
	plain := fmt.Sprintf("%#v", v)
	if data, err := json.Marshal(v); err == nil {
		plain = string(data)
	}
	return plain
}

// Package sessiontest is the conformance suite of Hansard: every rule of the
// contract that is visible through [session.Service], a file per topic. A
// backend, of this repository or elsewhere, calls [Run] from a test:
//
//	func TestConformance(t *testing.T) {
//		sessiontest.Run(t, sessiontest.Config{
//			New: func(t *testing.T) session.Service { return newService(t) },
//		})
//	}
//
// The suite says which error it wants, not that it wants one. What it cannot
// see through the interface (the rows of a database, its locks and round trips,
// transactions of the caller) is the backend's own to test.
//
// The name of a subtest begins with what it proves: a guarantee (P1 to P10, as
// package session lists them), an error, or a rule by its number in the design.
// So go test -run '//P7' runs all that there is about lost state keys.
//
// Subtests run in parallel, each on a service of its own. With -short they use
// smaller counts; none is left out.
package sessiontest

import (
	"context"
	"testing"
	"time"

	"github.com/hansardlog/hansard/session"
)

// Config says how to get the services to test.
type Config struct {
	// New returns a fresh, empty service with the backend's defaults, which
	// t.Cleanup closes. It is called from parallel subtests. Required.
	New func(t *testing.T) session.Service
	// NewWith returns one with the given options. If it is nil, the subtests
	// that need them are skipped.
	NewWith func(t *testing.T, o Options) session.Service
}

// Options are what a backend lets its user choose. A zero field is the
// backend's default.
type Options struct {
	Clock      func(context.Context) time.Time
	IDs        func(context.Context) string // session and event IDs
	MaxPayload int                          // bytes
}

type topic struct {
	name  string
	tests []test
}

// test is one subtest; either run or with is set.
type test struct {
	name string // begins with the rule, guarantee or sentinel that it proves
	run  func(t *testing.T, svc session.Service)
	with func(t *testing.T, newWith func(Options) session.Service)
}

// topics lists the topics in the order in which they are best read.
func topics() []topic {
	return []topic{
		{"create", createTests},
		{"append", appendTests},
		{"order", orderTests},
		{"state", stateTests},
		{"exact values", exactTests},
		{"bad input", badInputTests},
		{"idempotency", idempotencyTests},
		{"membership", membershipTests},
		{"visibility", visibilityTests},
		{"incarnation", incarnationTests},
		{"expected sequence", expectedTests},
		{"batch", batchTests},
		{"events", eventsTests},
		{"list", listTests},
		{"shared state", sharedTests},
		{"memory", memoryTests},
		{"cancellation", cancellationTests},
		{"tenants", tenantTests},
		{"concurrency", concurrencyTests},
	}
}

// Run tests the services that cfg makes.
func Run(t *testing.T, cfg Config) {
	t.Helper()
	if cfg.New == nil {
		t.Fatal("sessiontest: Config.New is nil")
	}
	for _, topic := range topics() {
		t.Run(topic.name, func(t *testing.T) {
			t.Parallel()
			for _, tt := range topic.tests {
				t.Run(tt.name, func(t *testing.T) {
					t.Parallel()
					if tt.run != nil {
						tt.run(t, cfg.New(t))
						return
					}
					if cfg.NewWith == nil {
						t.Skip("sessiontest: Config.NewWith is nil")
					}
					tt.with(t, func(o Options) session.Service { return cfg.NewWith(t, o) })
				})
			}
		})
	}
}

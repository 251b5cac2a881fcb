package adk_test

import (
	"testing"

	adksession "google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/session/sessiontestsuite"

	"github.com/hansardlog/hansard/adapters/adk"
)

// ADK's own suite, with an empty store for each of its tests.
func TestSuiteOfADK(t *testing.T) {
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			sessiontestsuite.RunServiceTests(t, sessiontestsuite.SuiteOptions{SupportsUserProvidedSessionID: true},
				func(t *testing.T) adksession.Service { return adk.New(b.new(t)(t)) })
		})
	}
}

// The options change nothing that ADK's suite asks for.
func TestSuiteOfADKWithOptions(t *testing.T) {
	sessiontestsuite.RunServiceTests(t, sessiontestsuite.SuiteOptions{SupportsUserProvidedSessionID: true},
		func(t *testing.T) adksession.Service {
			svc, _ := inMemory(adk.WithExclusiveRuns(), adk.WithNumbers())
			return svc
		})
}

package adk_test

import (
	"os"
	"strings"
	"testing"
)

// Whoever uses Hansard without ADK does not get ADK into his module graph.
func TestHansardDoesNotRequireADK(t *testing.T) {
	for _, file := range []string{"../../go.mod", "../../go.sum"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if strings.Contains(line, "google.golang.org/adk") || strings.Contains(line, "google.golang.org/genai") {
				t.Errorf("%s: %s", file, strings.TrimSpace(line))
			}
		}
	}
}

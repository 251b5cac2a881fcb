package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/hansardlog/hansard/adapters/adk"
)

// printReport prints what was done, without what did not occur.
func printReport(w io.Writer, rep adk.Report) error {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("sessions: %d, of these %d new, %d completed, %d there already", rep.Sessions, rep.Created, rep.Completed, rep.Skipped)
	line("events: %d stored", rep.Events)
	if rep.Replayed > 0 {
		line("events of completed sessions that were stored already: %d, verified", rep.Replayed)
	}
	line("state: %d app: keys and %d user: keys copied, %d there already", rep.AppKeys, rep.UserKeys, rep.KeptKeys)
	if rep.Ties > 0 {
		line("events with the timestamp of the one before, put in the order of their IDs: %d", rep.Ties)
		for _, tie := range rep.TieExamples {
			line("  such as %q in session %s (%d there)", tie.EventID, tie.Key, tie.Events)
		}
	}
	if rep.Orphans > 0 {
		line("events whose session does not exist, not imported: %d", rep.Orphans)
	}
	if n := len(rep.Conflicts); n > 0 {
		line("conflicts: %d", n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// progress is a bar on a terminal and nothing anywhere else.
type progress struct {
	w   io.Writer
	bar *progressbar.ProgressBar
}

// show draws the bar. It is a nicety: that it could not be drawn is no reason to
// stop.
func (p *progress) show(now adk.Progress) {
	// Sessions without events take time, too.
	total, done := now.TotalSessions+now.TotalEvents, now.Sessions+now.Events
	if p.bar == nil {
		file, ok := p.w.(*os.File)
		if !ok || !term.IsTerminal(int(file.Fd())) {
			return
		}
		p.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(file), progressbar.OptionSetDescription("importing"))
	}
	_ = p.bar.Set(min(done, total))
}

func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

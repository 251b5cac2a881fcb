package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
	"unicode/utf8"
)

// printer keeps the first error of w, so that it can be asked for once.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// table prints a line for each conversation, in the order of the input.
func (p *printer) table(rows []row) {
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.line, b.line) })
	if p.err != nil || len(rows) == 0 {
		return
	}
	// Numbers are aligned to the right; names, padded to one width, to the left.
	const title = "conversation"
	width := len(title)
	for _, r := range rows {
		width = max(width, utf8.RuneCountInString(r.id))
	}
	tw := tabwriter.NewWriter(p.w, 0, 0, 2, ' ', tabwriter.AlignRight)
	t := &printer{w: tw}
	t.printf("%-*s\tevents\ttool calls\tbytes\tnew\treplayed\t\n", width, title)
	for _, r := range rows {
		t.printf("%-*s\t%d\t%d\t%s\t%d\t%d\t\n", width, r.id, r.events, r.toolCalls, humanBytes(r.bytes), r.stored, r.replayed)
	}
	t.printf("\n")
	p.err = cmp.Or(t.err, tw.Flush())
}

// totals prints the sums and, if it is so, that nothing had to be stored.
func (p *printer) totals(rows []row, elapsed time.Duration) {
	var sum row
	for _, r := range rows {
		sum.events += r.events
		sum.toolCalls += r.toolCalls
		sum.bytes += r.bytes
		sum.stored += r.stored
		sum.replayed += r.replayed
	}
	p.printf("%d conversations, %d events, %d tool calls, %s: %d new, %d replayed\n",
		len(rows), sum.events, sum.toolCalls, humanBytes(sum.bytes), sum.stored, sum.replayed)
	if sum.events > 0 {
		p.printf("%.0f events per second (%v)\n", float64(sum.events)/elapsed.Seconds(), elapsed.Round(time.Millisecond))
	}
	if sum.events > 0 && sum.stored == 0 {
		p.printf("all were replays: nothing was stored\n")
	}
}

// humanBytes returns n with three digits or so: 999 B, 1.5 KiB, 24 MiB.
func humanBytes(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n), -1
	for value >= 1024 && unit < 3 {
		value /= 1024
		unit++
	}
	digits := 1
	if value >= 10 {
		digits = 0
	}
	return fmt.Sprintf("%.*f %ciB", digits, value, "KMGT"[unit])
}

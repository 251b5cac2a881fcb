package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// report is what a run came to.
type report struct {
	Started time.Time `json:"started"`
	Took    string    `json:"took"`
	Quick   bool      `json:"quick"`
	Reps    int       `json:"repetitions"`
	Window  string    `json:"window"`
	Pool    int       `json:"pool"`
	Machine []fact    `json:"machine"`
	Goals   []goal    `json:"goals,omitempty"`
	Series  []series  `json:"series,omitempty"`
	Growth  []growth  `json:"growth,omitempty"`
}

// judge compares the medians with the goals.
func (r *report) judge(c config) {
	medians := map[point]float64{}
	for _, s := range r.Series {
		medians[point{s.Workload, s.Contender}] = s.Median
	}
	for _, g := range goals(c) {
		g.judge(medians)
		r.Goals = append(r.Goals, g)
	}
}

// damage describes the faults of Hansard, of which there must be none.
func (r *report) damage() (found []string) {
	for _, s := range r.Series {
		if s.Ours && s.Faults.total() > 0 {
			found = append(found, fmt.Sprintf("%s: %s: %s (first: %s)", s.Workload, s.Contender, s.Faults, s.Faults.First))
		}
	}
	for _, g := range r.Growth {
		for _, fault := range g.Faults {
			found = append(found, fmt.Sprintf("growth: %s: %s", g.Database, fault))
		}
	}
	return found
}

func (r *report) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// writeMarkdown writes the tables that a README takes.
func (r *report) writeMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured %s in %s: %s of %s, medians, a pool of %s for each client.\n",
		r.Started.Format(time.DateOnly), r.Took, plural(r.Reps, "interleaved repetition"), r.Window, plural(r.Pool, "connection"))
	if r.Quick {
		b.WriteString("\n**A quick run: it shows that everything works, and no figure means anything.**\n")
	}
	b.WriteString("\n## Machine\n\n| | |\n|---|---|\n")
	for _, f := range r.Machine {
		row(&b, f.Name, f.Value)
	}
	r.goalTable(&b)
	r.seriesTable(&b)
	growthTable(&b, r.Growth)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *report) goalTable(b *strings.Builder) {
	if len(r.Series) == 0 {
		return
	}
	b.WriteString("\n## Goals\n\n| # | workload | ratio of | to | is | must | aim | reached |\n|---|---|---|---|---:|---:|---:|---|\n")
	for _, g := range r.Goals {
		if g.Verdict == unmeasured {
			continue
		}
		sign, times := "≤ ", ""
		if g.AtLeast {
			sign = "≥ "
		}
		if g.To != (point{}) {
			times = "×"
		}
		row(b, g.ID, g.Of.Workload, g.Of.Contender, g.To.Contender, round(g.Value)+times,
			sign+round(g.Must)+times, sign+round(g.Aim)+times, g.Verdict)
	}
}

func (r *report) seriesTable(b *strings.Builder) {
	if len(r.Series) == 0 {
		return
	}
	b.WriteString("\n## Figures\n\n| workload | of | median | unit | from – to | stale, tried again | faults |\n|---|---|---:|---|---:|---:|---|\n")
	for _, s := range r.Series {
		low, high := bounds(s.Values)
		faults := s.Faults.String()
		if faults == "" {
			faults = "0"
		}
		row(b, s.Workload, s.Contender, round(s.Median), s.Unit, round(low)+" – "+round(high), strconv.Itoa(s.Retries), faults)
	}
}

func row(b *strings.Builder, cells ...string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

func bounds(values []float64) (low, high float64) {
	for i, v := range values {
		if i == 0 {
			low, high = v, v
		}
		low, high = min(low, v), max(high, v)
	}
	return low, high
}

// round keeps three digits, or all before the point.
func round(v float64) string {
	digits := 0
	for size := v; size < 100 && digits < 2 && v != 0; size *= 10 {
		digits++
	}
	if v < 0.1 {
		digits = 4
	}
	s := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	}
	return s
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// result is what one scenario counted in each of its runs on one service.
type result [][]int

// cell writes the counts, each as a range over the runs.
func (r result) cell() string {
	var parts []string
	for i := range r[0] {
		low, high := r[0][i], r[0][i]
		for _, counts := range r {
			low, high = min(low, counts[i]), max(high, counts[i])
		}
		if low == high {
			parts = append(parts, fmt.Sprint(low))
		} else {
			parts = append(parts, fmt.Sprintf("%d–%d", low, high))
		}
	}
	return strings.Join(parts, " / ")
}

// right reports in how many runs the counts were as they should be.
func (r result) right(want []int) int {
	n := 0
	for _, counts := range r {
		if slices.Equal(counts, want) {
			n++
		}
	}
	return n
}

// write prints the results, one column for each service, as Markdown.
func write(w io.Writer, columns []column, runs int) error {
	var b strings.Builder
	b.WriteString("| scenario | counted | right |")
	for _, c := range columns {
		fmt.Fprintf(&b, " %s |", c.name)
	}
	b.WriteString("\n|---|---|---|" + strings.Repeat("---|", len(columns)) + "\n")
	for i, s := range scenarios {
		fmt.Fprintf(&b, "| %s | %s | %s |", s.name, s.counted, result{s.right}.cell())
		for _, c := range columns {
			fmt.Fprintf(&b, " %s (%d of %d) |", c.results[i].cell(), c.results[i].right(s.right), runs)
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

package main

import (
	"strconv"
	"strings"
)

func growthTable(b *strings.Builder, all []growth) {
	if len(all) == 0 {
		return
	}
	b.WriteString("\n## Growth\n\n| | rows | written in | read and checked in | bytes of a row on disk | of that indexes | over the payload |\n|---|---:|---:|---:|---:|---:|---:|\n")
	for _, g := range all {
		for _, l := range g.Loads {
			indexes, over := "in it", "–"
			if l.Indexes > 0 {
				indexes = round(l.Indexes)
			}
			if l.Content > 0 {
				over = round(l.Bytes-float64(l.Content)) + " (payload " + strconv.Itoa(l.Content) + ")"
			}
			row(b, g.Database+": "+l.What, strconv.Itoa(l.Rows), round(l.Seconds)+" s", round(l.CheckedIn)+" s",
				round(l.Bytes), indexes, over)
		}
	}
	b.WriteString("\n| call on these tables | p50 | by | whole tables read |\n|---|---:|---|---|\n")
	for _, g := range all {
		for _, p := range g.Plans {
			scan := "0"
			if p.Scan != "" {
				scan = p.Scan
			}
			row(b, g.Database+": "+p.Call, round(p.Micros)+" µs", strings.Join(p.Indexes, ", "), scan)
		}
	}
}

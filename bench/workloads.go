package main

import "fmt"

// Workloads that goals name.
const (
	alone        = "append, 1 client"
	trips        = "round trips of an append"
	allocated    = "allocations of an append"
	userKeys     = "16 sessions of one user, each its own user: key"
	recent       = "get with 50 recent events"
	growing      = "append to a history"
	whole        = "get of a whole session, per event"
	listed       = "list of many sessions"
	besideState  = "append of one key beside other state"
	sqliteAlone  = "SQLite: " + alone
	sqliteBeside = "SQLite: " + besideState
	memoryBytes  = "memory: live bytes of an event beyond its content"
)

// writerCounts are how many append at the same time, memoryCounts in memory.
var (
	writerCounts = []int{16, 64}
	memoryCounts = []int{1, 4, 16}
)

func apart(n int) string          { return fmt.Sprintf("append, %d clients, a session each", n) }
func together(n int) string       { return fmt.Sprintf("append, %d clients, one session", n) }
func sqliteApart(n int) string    { return "SQLite: " + apart(n) }
func sqliteTogether(n int) string { return "SQLite: " + together(n) }
func memoryApart(n int) string {
	return fmt.Sprintf("memory: append, goroutines with a session each: %d", n)
}

const (
	us        = "µs (p50)"
	ms        = "ms (p50)"
	perSecond = "appends/s"
)

// workloads are all of them, in the order in which they run.
func workloads() []workload {
	all := []workload{
		{alone, "P1 P4", us, pgContenders, appendAlone},
		{trips, "P2", "round trips", tripContenders, roundTrips},
		{allocated, "P3", "allocations", pgContenders, allocations},
	}
	for _, n := range writerCounts {
		all = append(all, workload{apart(n), "P5", perSecond, pgContenders, appendApart(n)})
	}
	for _, n := range writerCounts {
		all = append(all, workload{together(n), "P6", perSecond, pgContenders, appendTogether(n)})
	}
	all = append(all,
		workload{userKeys, "P7", perSecond, pgContenders, appendUserKeys(16)},
		workload{recent, "P8", us, recentContenders, getRecent},
		workload{growing, "P9", us, growingContenders, appendToHistory},
		workload{whole, "P10", us, wholeContenders, getWhole},
		workload{listed, "P11", ms, listContenders, listSessions},
		workload{besideState, "A1", us, beside(without(pgContenders, floorName)), appendBesideState},
		workload{sqliteAlone, "S1", us, sqliteContenders, appendAlone},
	)
	for _, n := range writerCounts {
		all = append(all, workload{sqliteApart(n), "S3", perSecond, sqliteContenders, appendApart(n)})
	}
	for _, n := range writerCounts {
		all = append(all, workload{sqliteTogether(n), "S4", perSecond, sqliteContenders, appendTogether(n)})
	}
	all = append(all, workload{sqliteBeside, "A1", us, beside(without(sqliteContenders, floorName)), appendBesideState})
	for _, n := range memoryCounts {
		all = append(all, workload{memoryApart(n), "M1", perSecond, memoryContenders, appendApart(n)})
	}
	return append(all, workload{memoryBytes, "M2", "bytes", memoryContenders, liveBytes})
}

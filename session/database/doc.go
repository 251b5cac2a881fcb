// Package database keeps sessions in a SQL database through GORM: PostgreSQL
// and SQLite. It imports no driver; the caller chooses one.
//
//	svc, err := database.Open(sqlite.Open("file:hansard.db?_journal_mode=WAL&_busy_timeout=10000"))
//	...
//	err = svc.Migrate(ctx)
//
// # How an append works
//
// Everything is validated, encoded and hashed first, with no lock held. Then
// one transaction (append.go) locks the conversation's row, decides under the
// lock, takes the next sequence from the locked row and writes the event and
// the state keys. Lock order, everywhere: conversation, app keys, user keys,
// session keys, each sorted. Reads take no write lock: Get and List are one
// snapshot each.
//
// # Errors
//
// Errors match the sentinels of package session with errors.Is; a caller never
// needs GORM or a driver to classify one. Serialization failures, deadlocks and
// busy locks are retried (see [WithRetry]) and then are [session.ErrBusy]. What
// the database says beyond that is wrapped and has the code INTERNAL; a
// lost connection is never retried, since the transaction may have committed:
// repeat the request with its idempotency key to learn the answer.
//
// # Limits
//
// One conversation takes one append at a time: that is what orders it. SQLite
// has one writer for the whole database, and without WAL and a busy timeout it
// can starve writers, who then get [session.ErrBusy].
package database

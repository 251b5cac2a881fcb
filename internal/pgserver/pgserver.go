// Package pgserver starts a throw-away PostgreSQL server from the binaries
// installed on the machine, for tests and measurements.
package pgserver

import "errors"

// ErrNone says that there is no PostgreSQL to start.
var ErrNone = errors.New("no PostgreSQL")

// Config says how a server is made. The zero Config is PostgreSQL as it comes,
// reached by a Unix socket.
type Config struct {
	// Language, such as en, has text compared by its rules where the server has
	// ICU; else and without one text compares byte for byte.
	Language string
	// Settings are parameters of the server, each name=value.
	Settings []string
}

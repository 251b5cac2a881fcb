//go:build !unix

package dbtest

import "fmt"

// start would need a way to end the server with this process: elsewhere the
// tests use a server that is there already.
func start() (dsn string, stop func() error, err error) {
	return "", nil, fmt.Errorf("%w: set %s to the DSN of a server", errNoPostgres, serverVar)
}

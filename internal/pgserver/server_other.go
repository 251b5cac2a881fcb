//go:build !unix

package pgserver

import "fmt"

// Start would need a way to end the server with this process.
func Start(Config) (dsn string, stop func() error, err error) {
	return "", nil, fmt.Errorf("%w that this program could start on this system", ErrNone)
}

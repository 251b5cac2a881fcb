package database

import (
	"context"
	"errors"
	"fmt"

	"github.com/hansardlog/hansard/internal/request"
	"github.com/hansardlog/hansard/session"
)

// ErrSchemaTooNew is what [Service.Migrate] returns when the database has
// migrations that this version of the code does not know.
var ErrSchemaTooNew = errors.New("database: schema is newer than this version of Hansard")

// translate is the one place where an error of the database becomes one of the
// contract. A broken connection stays what it is, and is never "not found".
func (s *Service) translate(ctx context.Context, err error) error {
	switch {
	case err == nil, errors.Is(err, request.ErrNone), session.Code(err) != "INTERNAL" && !isContext(err):
		return err
	case ctx.Err() != nil:
		return ctx.Err() // drivers report an ended context in words of their own
	case s.dialect.retryable(err):
		return fmt.Errorf("%w: %w", session.ErrBusy, err)
	}
	return err
}

func isContext(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

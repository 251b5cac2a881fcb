package database

import (
	"context"
	"database/sql"
	"strconv"
	"strings"

	"gorm.io/gorm"

	"github.com/hansardlog/hansard/internal/request"
	"github.com/hansardlog/hansard/model"
)

// Direct sends the statements of an append past GORM, all in one round trip. An
// implementation belongs to one driver; [WithDirect] takes it.
type Direct interface {
	// Serves reports whether the pool's driver is the implementation's.
	Serves(pool *sql.DB) bool
	// Transaction runs BEGIN at READ COMMITTED, the statements in order and
	// COMMIT on one connection, sent at once. It returns the first error. After
	// one that the server reported nothing is stored; after a lost connection or
	// an ended context all of it may be, since COMMIT was sent.
	Transaction(ctx context.Context, pool *sql.DB, statements []DirectStatement) error
}

// DirectStatement is a statement for [Direct], with parameters $1, $2 and so on.
type DirectStatement struct {
	SQL  string
	Args []any
	// Row is called for each row; scan copies its columns.
	Row func(scan func(dest ...any) error) error
}

func serves(d Direct, db *gorm.DB) bool {
	pool, err := db.DB()
	return err == nil && db.Name() == postgres{}.name() && d.Serves(pool)
}

// appendDirect appends in one round trip, with the statements of appendEvents:
// the second takes all it needs from the row that the first has locked. It does
// not serve replays, which it finds: what was stored first takes another
// statement.
func (s *Service) appendDirect(ctx context.Context, a *request.Append) (o outcome, served bool) {
	pool, err := s.db.DB()
	if err != nil {
		return outcome{err: err}, true
	}
	key := keyArgs(postgres{}, a.Key)
	text, args := appendStatement(s.t, a, conditions{keyed: a.Keyed(), guarded: true}, key)
	var conv model.Conversation
	var found bool
	var v verdict
	err = s.retry.do(ctx, s.dialect.retryable, func() error {
		found, v = false, verdict{}
		return s.direct.Transaction(ctx, pool, []DirectStatement{
			{s.t.numbered(lockConversation), key, func(scan func(...any) error) error {
				found = true
				if a.UID == "" && a.ExpectedSeq == nil {
					return nil // nothing of it is needed
				}
				return scanConversation(scan, &conv)
			}},
			{s.t.numbered(text), args, v.scan},
		})
	})
	if err == nil && !found {
		err = request.ErrNone
	}
	if err == nil {
		err = isIncarnation(conv, a.UID)
	}
	if err == nil {
		err = v.refusal(conv, a)
	}
	if err != nil {
		return outcome{err: s.translate(ctx, err)}, true
	}
	if v.replays > 0 {
		return outcome{}, false
	}
	return outcome{stored: v.number(a)}, true
}

// numbered is the name of a statement with $1, $2 and so on.
type numbered string

// numbered is sql with $1, $2 and so on in the place of each question mark.
func (t tables) numbered(statement string) string {
	return t.text(numbered(statement), func() string {
		var b strings.Builder
		n := 0
		for part := range strings.SplitSeq(statement, "?") {
			if n > 0 {
				b.WriteString("$" + strconv.Itoa(n))
			}
			b.WriteString(part)
			n++
		}
		return b.String()
	})
}

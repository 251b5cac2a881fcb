package adk

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hansardlog/hansard/session"
)

// sharedRow is a row of app_states or user_states.
type sharedRow struct {
	app, user string
	state     []byte // JSON object, names without prefix
}

// shared returns the next page of a table of shared state, and whether there may
// be more.
func (s *source) shared(ctx context.Context, table string, after *sharedRow, limit int) (page []sharedRow, more bool, err error) {
	user, key := "''", "app_name"
	if table == userStates {
		user, key = "user_id", "app_name, user_id"
	}
	where, args := s.only("")
	if after != nil && table == userStates {
		where += " AND (app_name, user_id) > (?, ?)"
		args = append(args, after.app, after.user)
	} else if after != nil {
		where += " AND app_name > ?"
		args = append(args, after.app)
	}
	size := 0
	err = s.query(ctx, table, `SELECT app_name, `+user+`, state FROM `+table+where+` ORDER BY `+key+` LIMIT ?`,
		append(args, limit), func(rows *sql.Rows) error {
			if size > pageBytes {
				return errEnough
			}
			var row sharedRow
			if err := rows.Scan(&row.app, &row.user, &row.state); err != nil {
				return err
			}
			page = append(page, row)
			size += len(row.state)
			return nil
		})
	return page, len(page) == limit || size > pageBytes, err
}

// copyShared copies the keys of app_states and user_states that the destination
// does not have.
func (im *importer) copyShared(ctx context.Context) error {
	for _, table := range []string{appStates, userStates} {
		var after *sharedRow
		for more := true; more; {
			var page []sharedRow
			var err error
			if page, more, err = im.src.shared(ctx, table, after, im.sessionPage); err != nil {
				return err
			}
			for i := range page {
				after = &page[i]
				if err := im.copyKeys(ctx, table, after); err != nil {
					return fmt.Errorf("%s of %q/%q: %w", table, after.app, after.user, err)
				}
			}
		}
	}
	return nil
}

// copyKeys copies the keys of one row. The error is one that ends the import.
func (im *importer) copyKeys(ctx context.Context, table string, row *sharedRow) error {
	prefix, copied := session.AppPrefix, &im.rep.AppKeys
	if table == userStates {
		prefix, copied = session.UserPrefix, &im.rep.UserKeys
	}
	conflict := func(err error) error {
		if !refused(err) {
			return err
		}
		im.rep.Conflicts = append(im.rep.Conflicts, Conflict{Table: table, Key: session.Key{AppName: row.app, UserID: row.user}, Err: err})
		return nil
	}
	state, err := decodeState(row.state)
	if err != nil {
		return conflict(fmt.Errorf("%w: column state: %w", ErrUnreadable, err))
	}
	resp, err := im.dst.GetState(ctx, &session.GetStateRequest{AppName: row.app, UserID: row.user})
	if err != nil {
		return conflict(err)
	}
	missing := session.State{}
	for name, value := range state {
		if _, there := resp.State[prefix+name]; there {
			im.rep.KeptKeys++
		} else {
			missing[prefix+name] = value
		}
	}
	if len(missing) == 0 {
		return nil
	}
	update := func(delta session.State) error {
		_, err := im.dst.UpdateState(ctx, &session.UpdateStateRequest{AppName: row.app, UserID: row.user, Delta: delta})
		if err == nil {
			*copied += len(delta)
		}
		return err
	}
	if err := update(missing); !errors.Is(err, session.ErrInvalidArgument) {
		return err
	}
	// One key that breaks a rule holds up all: one by one the others pass.
	for _, key := range slices.Sorted(maps.Keys(missing)) {
		if err := update(session.State{key: missing[key]}); err != nil {
			if err := conflict(err); err != nil {
				return err
			}
		}
	}
	return nil
}

// Command transaction writes a row of its own table and the event that tells of
// it in one transaction: both are there, or neither.
//
//	go run ./examples/transaction [-db FILE]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/hansardlog/hansard/session/database"
)

func main() { os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) }

// run is the program without its process; it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("transaction", flag.ContinueOnError)
	flags.SetOutput(stderr)
	path := flags.String("db", "", "keep the shop in this SQLite `FILE`, a new one (default: a temporary one)")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if err := transaction(ctx, *path, stdout); err != nil {
		_, _ = fmt.Fprintln(stderr, "transaction:", err)
		return 1
	}
	return 0
}

func transaction(ctx context.Context, path string, w io.Writer) (err error) {
	if path == "" {
		dir, err := os.MkdirTemp("", "hansard-transaction-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		path = filepath.Join(dir, "shop.db")
	}
	// The database is this program's own: it opens it, configures it and closes
	// it. Hansard borrows it.
	db, err := gorm.Open(sqlite.Open("file:"+path+"?_journal_mode=WAL&_busy_timeout=10000"), &gorm.Config{
		Logger: logger.Discard, // GORM's own prints statements with their values
	})
	if err != nil {
		return err
	}
	pool, err := db.DB()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()

	log, err := database.New(db)
	if err != nil {
		return err
	}
	if err := log.Migrate(ctx); err != nil {
		return err
	}
	if err := db.WithContext(ctx).AutoMigrate(&Order{}); err != nil {
		return err
	}
	return play(ctx, &shop{db: db, log: log}, w)
}

// play shows the three ways in which a transaction can go.
func play(ctx context.Context, s *shop, w io.Writer) error {
	if err := s.open(ctx); err != nil {
		return err
	}

	_, _ = fmt.Fprintln(w, "1. order and event commit together")
	if err := s.place(ctx, &Order{ID: 1, Item: "globe", Cents: 8900}); err != nil {
		return err
	}
	if err := s.print(ctx, w); err != nil {
		return err
	}

	_, _ = fmt.Fprintln(w, "2. the payment fails after both are written: neither stays")
	err := s.placeUnpaid(ctx, &Order{ID: 2, Item: "yacht", Cents: 99_000_000})
	if !errors.Is(err, errDeclined) {
		return fmt.Errorf("place an unpaid order: got error %v, want %w", err, errDeclined)
	}
	if err := s.print(ctx, w); err != nil {
		return err
	}

	_, _ = fmt.Fprintln(w, "3. the event is refused as stale, the transaction goes on and commits")
	if err := s.placeAfter(ctx, 1, &Order{ID: 3, Item: "atlas", Cents: 4500}, w); err != nil {
		return err
	}
	return s.print(ctx, w)
}

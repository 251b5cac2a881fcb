package database_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/glebarez/sqlite" // pure Go; gorm.io/driver/sqlite is the one for cgo
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
)

// exampleDSN names a file in a new directory, which cleanup removes.
func exampleDSN() (dsn string, cleanup func()) {
	dir, err := os.MkdirTemp("", "hansard")
	if err != nil {
		panic(err)
	}
	path := filepath.ToSlash(filepath.Join(dir, "hansard.db"))
	return "file:" + path + "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(10000)", func() { _ = os.RemoveAll(dir) }
}

// Open owns the database: Close closes it.
func ExampleOpen() {
	ctx := context.Background()
	dsn, cleanup := exampleDSN()
	defer cleanup()

	svc, err := database.Open(sqlite.Open(dsn))
	if err != nil {
		panic(err)
	}
	defer svc.Close()
	if err := svc.Migrate(ctx); err != nil {
		panic(err)
	}

	created, err := svc.Create(ctx, &session.CreateRequest{Key: session.Key{AppName: "shop", UserID: "olga"}})
	if err != nil {
		panic(err)
	}
	key := created.Session.Key
	for _, e := range []*session.Event{
		{Author: "olga", Payload: []byte(`"Where is my order?"`)},
		{Author: "agent", Payload: []byte(`"On its way."`), StateDelta: session.State{"answered": true, "user:orders": 1}},
	} {
		if _, err := svc.AppendEvent(ctx, &session.AppendEventRequest{Key: key, Event: e}); err != nil {
			panic(err)
		}
	}

	read, err := svc.Get(ctx, &session.GetRequest{Key: key})
	if err != nil {
		panic(err)
	}
	for _, e := range read.Session.Events {
		fmt.Printf("%d %s: %s\n", e.Seq, e.Author, e.Payload)
	}
	fmt.Println(read.Session.State)
	// Output:
	// 1 olga: "Where is my order?"
	// 2 agent: "On its way."
	// map[answered:true user:orders:1]
}

// A request that is repeated under its idempotency key, as after a lost reply,
// gets the first answer.
func ExampleService_AppendEvent() {
	ctx := context.Background()
	dsn, cleanup := exampleDSN()
	defer cleanup()
	svc, err := database.Open(sqlite.Open(dsn))
	if err != nil {
		panic(err)
	}
	defer svc.Close()
	if err := svc.Migrate(ctx); err != nil {
		panic(err)
	}
	key := session.Key{AppName: "shop", UserID: "olga", SessionID: "s1"}
	if _, err := svc.Create(ctx, &session.CreateRequest{Key: key}); err != nil {
		panic(err)
	}

	for range 2 {
		resp, err := svc.AppendEvent(ctx, &session.AppendEventRequest{Key: key, Event: &session.Event{
			Author: "olga", IdempotencyKey: "request-1", Payload: []byte(`"Hello"`),
		}})
		if err != nil {
			panic(err)
		}
		fmt.Println(resp.Event.Seq, resp.Replayed)
	}
	_, err = svc.AppendEvent(ctx, &session.AppendEventRequest{Key: key, Event: &session.Event{
		Author: "olga", IdempotencyKey: "request-1", Payload: []byte(`"Something else"`),
	}})
	fmt.Println(errors.Is(err, session.ErrIdempotencyMismatch), session.Code(err))
	// Output:
	// 1 false
	// 1 true
	// true IDEMPOTENCY_MISMATCH
}

// What the program stores and what was said about it commit together, or not at
// all.
func ExampleService_WithTx() {
	ctx := context.Background()
	dsn, cleanup := exampleDSN()
	defer cleanup()
	db, err := gorm.Open(sqlite.Open(dsn), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		panic(err)
	}
	if err := db.Exec("CREATE TABLE orders (id integer PRIMARY KEY, item text NOT NULL)").Error; err != nil {
		panic(err)
	}
	svc, err := database.New(db) // db stays ours
	if err != nil {
		panic(err)
	}
	if err := svc.Migrate(ctx); err != nil {
		panic(err)
	}
	key := session.Key{AppName: "shop", UserID: "olga", SessionID: "s1"}
	if _, err := svc.Create(ctx, &session.CreateRequest{Key: key}); err != nil {
		panic(err)
	}

	order := func(id int, item string) error {
		return db.Transaction(func(tx *gorm.DB) error {
			_, err := svc.WithTx(tx).AppendEvent(ctx, &session.AppendEventRequest{Key: key, Event: &session.Event{
				Author: "agent", StateDelta: session.State{"order": id},
			}})
			if err != nil {
				return err
			}
			return tx.Exec("INSERT INTO orders (id, item) VALUES (?, ?)", id, item).Error
		})
	}
	fmt.Println("tea ordered:", order(1, "tea") == nil)
	fmt.Println("coffee ordered under the same number:", order(1, "coffee") == nil)

	read, err := svc.Get(ctx, &session.GetRequest{Key: key})
	if err != nil {
		panic(err)
	}
	fmt.Println("events:", read.Session.HeadSeq)

	pool, err := db.DB()
	if err != nil {
		panic(err)
	}
	if err := pool.Close(); err != nil {
		panic(err)
	}
	// Output:
	// tea ordered: true
	// coffee ordered under the same number: false
	// events: 1
}

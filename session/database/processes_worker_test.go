package database_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	puresqlite "github.com/glebarez/sqlite"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
)

// workerVar makes this binary a worker: a process of its own that does the job
// in the variable instead of running tests.
const workerVar = "HANSARD_TEST_WORKER"

// job is what a worker does with a database.
type job struct {
	Do      string // append, replay, create, migrate, delete
	Backend string
	DSN     string
	Number  int // of the worker
	Count   int // how often; 0: until it is killed
}

func init() {
	text := os.Getenv(workerVar)
	if text == "" {
		return
	}
	var j job
	err := json.Unmarshal([]byte(text), &j)
	if err == nil {
		err = j.run(context.Background(), os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "worker %s: %v\n", text, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// dialector reaches a database that exists. The dialector of the pure driver
// takes the other one as well.
func (j job) dialector() gorm.Dialector {
	switch {
	case strings.HasPrefix(j.Backend, "postgres"):
		return postgres.Open(j.DSN)
	case j.Backend == "sqlite-pure":
		return puresqlite.Open(j.DSN)
	}
	return &puresqlite.Dialector{DriverName: "sqlite3", DSN: j.DSN}
}

var processKey = session.Key{AppName: "app", UserID: "olga", SessionID: "shared"}

// run begins when a line arrives and prints a line for each acknowledged call.
func (j job) run(ctx context.Context, in io.Reader, out io.Writer) error {
	db, err := gorm.Open(j.dialector(), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return err
	}
	var opts []database.Option
	for _, b := range backends() {
		if b.name == j.Backend {
			opts = b.opts
		}
	}
	svc, err := database.New(db, opts...)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, "ready"); err != nil {
		return err
	}
	if _, err := bufio.NewReader(in).ReadString('\n'); err != nil {
		return err
	}
	switch j.Do {
	case "migrate":
		return svc.Migrate(ctx)
	case "delete":
		return j.stuckDelete(ctx, db, svc, out)
	}
	for n := 0; n < j.Count || j.Count == 0; n++ {
		line, err := j.call(ctx, svc, n)
		if err == nil {
			_, err = fmt.Fprintln(out, line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// call makes the n-th call and says what became of it.
func (j job) call(ctx context.Context, svc *database.Service, n int) (string, error) {
	name := fmt.Sprintf("%d/%d", j.Number, n)
	switch j.Do {
	case "append":
		resp, err := svc.AppendEvent(ctx, &session.AppendEventRequest{Key: processKey, Event: &session.Event{
			Author: "worker", IdempotencyKey: name,
			StateDelta: session.State{name: n, "app:" + name: n, "user:" + name: n, "app:last": name, "last": name},
		}})
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%d %s", resp.Event.Seq, name), nil
	case "replay":
		resp, err := svc.AppendEvent(ctx, &session.AppendEventRequest{Key: processKey, Event: &session.Event{
			Author: "worker", IdempotencyKey: fmt.Sprint(n), StateDelta: session.State{"last": n},
		}})
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%d %v", resp.Event.Seq, resp.Replayed), nil
	case "create":
		_, err := svc.Create(ctx, &session.CreateRequest{Key: sessionKey(fmt.Sprint("contested ", n)), Kind: session.KindGroup, Members: []string{"ana"}})
		switch code := session.Code(err); code {
		case "":
			return fmt.Sprint("won ", n), nil
		case "ALREADY_EXISTS":
			return fmt.Sprint("lost ", n), nil
		}
		return "", err
	}
	return "", fmt.Errorf("no job %q", j.Do)
}

// stuckDelete deletes the session and stops for ever before statement Number
// that changes something.
func (j job) stuckDelete(ctx context.Context, db *gorm.DB, svc *database.Service, out io.Writer) error {
	n := 0
	stick := func(tx *gorm.DB) {
		if strings.HasPrefix(tx.Statement.SQL.String(), "BEGIN") {
			return
		}
		if n++; n == j.Number {
			fmt.Fprintln(out, "stuck")
			select {}
		}
	}
	if err := db.Callback().Raw().Before("gorm:raw").Register("test:stick", stick); err != nil {
		return err
	}
	if err := svc.Delete(ctx, &session.DeleteRequest{Key: processKey}); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, "deleted")
	return err
}

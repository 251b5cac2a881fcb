package model_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/hansardlog/hansard/model"
	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
)

// A report reads the tables through the structs and gets what the service
// stored, with JSON as JSON.
func TestReadThroughModel(t *testing.T) {
	eachDialect(t, func(t *testing.T, db *gorm.DB, svc *database.Service, _ catalog) {
		key := session.Key{AppName: "app", UserID: "olga", SessionID: "s1"}
		created, err := svc.Create(t.Context(), &session.CreateRequest{
			Key: key, Kind: session.KindGroup, Members: []string{"ana"},
			State: session.State{"a": json.Number("9007199254740993"), "user:b": nil, "app:c": "x"},
		})
		if err != nil {
			t.Fatal(err)
		}
		at := time.Date(2024, 2, 29, 12, 0, 0, 123456000, time.UTC)
		appended, err := svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: key, Event: &session.Event{
			ID: "e1", Author: "ana", InvocationID: "run", Branch: "root", Timestamp: at, IdempotencyKey: "k1", Format: "text",
			StateDelta: session.State{"d": []int{1}}, StateDelete: []string{"a"}, Payload: json.RawMessage(`{"words": "\u0000 &"}`),
		}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := svc.Leave(t.Context(), &session.LeaveRequest{Key: key, Member: "ana"}); err != nil {
			t.Fatal(err)
		}

		conv := one[model.Conversation](t, db.Table("hansard_conversations"))
		if conv.UID.String() != created.Session.UID || conv.NextSeq != 4 || conv.Kind != "group" || conv.SessionID != "s1" ||
			conv.CreatedAt != created.Session.CreatedAt.UnixMicro() {
			t.Errorf("conversation %+v is not the session %+v", conv, created.Session)
		}
		event := one[model.Event](t, db.Table("hansard_events").Where("author = ? AND kind = ?", "ana", "message"))
		k1 := "k1"
		want := model.Event{
			ConversationID: conv.ID, Generation: conv.Generation, Seq: 2,
			Timestamp: at.UnixMicro(), RecordedAt: appended.Event.RecordedAt.UnixMicro(),
			ID: "e1", Kind: "message", Author: "ana", InvocationID: "run", Branch: "root", Format: "text",
			IdempotencyKey: &k1, RequestHash: event.RequestHash,
			Delta: model.JSON(`{"d":[1]}`), Deletions: model.JSON(`["a"]`), Payload: model.JSON(`{"words": "\u0000 &"}`),
		}
		if !reflect.DeepEqual(event, want) || len(event.RequestHash) != 33 {
			t.Errorf("the event is\n%+v, want\n%+v with a hash of 33 bytes", event, want)
		}
		report, err := json.Marshal(event)
		if err != nil {
			t.Fatal(err)
		}
		var read struct{ Payload, Delta, Deletions any }
		if err := json.Unmarshal(report, &read); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(read.Payload, map[string]any{"words": "\x00 &"}) || !reflect.DeepEqual(read.Deletions, []any{"a"}) {
			t.Errorf("the report %s has other JSON than the event", report)
		}
		join := one[model.Event](t, db.Table("hansard_events").Where("kind = ?", "join"))
		if join.IdempotencyKey != nil || join.RequestHash != nil || join.Payload != nil || join.Subject != "ana" {
			t.Errorf("the join is %+v, want no key, hash and payload", join)
		}

		left := int64(3)
		period := one[model.MembershipPeriod](t, db.Table("hansard_membership_periods"))
		if !reflect.DeepEqual(period, model.MembershipPeriod{
			ConversationID: conv.ID, Generation: conv.Generation, FromSeq: 1, ToSeq: &left, Member: "ana", AppName: "app",
		}) {
			t.Errorf("the period is %+v", period)
		}
		checkpoint := one[model.StateCheckpoint](t, db.Table("hansard_state_checkpoints"))
		if string(checkpoint.State) != `{"a":9007199254740993}` || checkpoint.Seq != 0 || checkpoint.ConversationID != conv.ID {
			t.Errorf("the checkpoint is %+v", checkpoint)
		}
		removed := one[model.SessionState](t, db.Table("hansard_session_states").Where("name = ?", "a"))
		if removed.Value != nil || removed.Version != 2 || removed.Generation != conv.Generation {
			t.Errorf("the removed key is %+v, want NULL in version 2", removed)
		}
		user := one[model.UserState](t, db.Table("hansard_user_states"))
		if string(user.Value) != "null" || user.UserID != "olga" || user.Name != "b" {
			t.Errorf("the user's key is %+v, want JSON null", user)
		}
		app := one[model.AppState](t, db.Table("hansard_app_states"))
		if string(app.Value) != `"x"` || app.AppName != "app" || app.Name != "c" || app.Version != 1 {
			t.Errorf("the app's key is %+v", app)
		}
	})
}

// one reads the only row.
func one[T any](t *testing.T, db *gorm.DB) T {
	t.Helper()
	var found []T
	if err := db.Find(&found).Error; err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 {
		t.Fatalf("%d rows of %T, want 1", len(found), found)
	}
	return found[0]
}

func TestJSON(t *testing.T) {
	source := []byte(`{"a":1}`)
	for _, src := range []any{source, string(source)} {
		var j model.JSON
		if err := j.Scan(src); err != nil || string(j) != `{"a":1}` {
			t.Errorf("scan of %T = %s, %v", src, j, err)
		}
		if value, err := j.Value(); err != nil || value != `{"a":1}` {
			t.Errorf("value of %s = %v, %v, want it as text", j, value, err)
		}
	}
	var kept model.JSON
	if err := kept.Scan(source); err != nil {
		t.Fatal(err)
	}
	source[2] = 'b'
	if string(kept) != `{"a":1}` {
		t.Errorf("%s changed with the driver's buffer", kept)
	}
	if err := kept.Scan(nil); err != nil || kept != nil {
		t.Errorf("scan of NULL = %s, %v, want nil", kept, err)
	}
	if value, err := kept.Value(); err != nil || value != nil {
		t.Errorf("value of nil = %v, %v, want NULL", value, err)
	}
	if err := kept.Scan(1); err == nil {
		t.Error("scan of a number succeeds")
	}
	data, err := json.Marshal(struct{ A, B model.JSON }{A: model.JSON(`[1.10]`)})
	if err != nil || string(data) != `{"A":[1.10],"B":null}` {
		t.Errorf("marshalled %s, %v", data, err)
	}
	var back struct{ A model.JSON }
	if err := json.Unmarshal(data, &back); err != nil || string(back.A) != "[1.10]" {
		t.Errorf("unmarshalled %s, %v", back.A, err)
	}
}

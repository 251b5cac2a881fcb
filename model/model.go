// Package model has one struct for each table of package database, for reports
// and tools that read the tables through GORM:
//
//	var events []model.Event
//	db.Table("hansard_events").Where("author = ?", "ana").Find(&events)
//
// The structs have no behaviour and no table names: those depend on the prefix.
// The service writes and reads by SQL of its own; a program that writes these
// tables itself gives up the guarantees. Times are microseconds since 1970 UTC.
package model

import "github.com/google/uuid"

// Conversation is the stored log behind a session; its row is the lock.
type Conversation struct {
	ID         uuid.UUID `gorm:"column:id;primaryKey"` // derived from the key
	UID        uuid.UUID `gorm:"column:uid;not null"`  // the incarnation
	Generation int64     `gorm:"column:generation;not null"`
	NextSeq    int64     `gorm:"column:next_seq;not null"`
	MinSeq     int64     `gorm:"column:min_seq;not null"`
	Epoch      int64     `gorm:"column:epoch;not null"`
	CreatedAt  int64     `gorm:"column:created_at;not null;autoCreateTime:false;index:conversations_owner,priority:3"`
	UpdatedAt  int64     `gorm:"column:updated_at;not null;autoUpdateTime:false"`
	Kind       string    `gorm:"column:kind;not null"`
	AppName    string    `gorm:"column:app_name;not null;index:conversations_owner,priority:1"`
	UserID     string    `gorm:"column:user_id;not null;index:conversations_owner,priority:2"`
	SessionID  string    `gorm:"column:session_id;not null;index:conversations_owner,priority:4"`
}

// Event is one entry of a conversation.
type Event struct {
	ConversationID uuid.UUID `gorm:"column:conversation_id;primaryKey;uniqueIndex:events_request,priority:1"`
	Generation     int64     `gorm:"column:generation;primaryKey;autoIncrement:false;uniqueIndex:events_request,priority:2"`
	Seq            int64     `gorm:"column:seq;primaryKey;autoIncrement:false"`
	Timestamp      int64     `gorm:"column:timestamp;not null"`
	RecordedAt     int64     `gorm:"column:recorded_at;not null"`
	ID             string    `gorm:"column:id;not null"`
	Kind           string    `gorm:"column:kind;not null"`
	Author         string    `gorm:"column:author;not null;uniqueIndex:events_request,priority:3"`
	Subject        string    `gorm:"column:subject;not null"`
	InvocationID   string    `gorm:"column:invocation_id;not null"`
	Branch         string    `gorm:"column:branch;not null"`
	Format         string    `gorm:"column:format;not null"`
	IdempotencyKey *string   `gorm:"column:idempotency_key;uniqueIndex:events_request,priority:4,where:idempotency_key IS NOT NULL"`
	RequestHash    []byte    `gorm:"column:request_hash"` // NULL without an idempotency key
	Delta          JSON      `gorm:"column:delta"`        // object of the set keys, with scope prefix
	Deletions      JSON      `gorm:"column:deletions"`    // array of the removed keys, with scope prefix
	Payload        JSON      `gorm:"column:payload"`
}

// MembershipPeriod is a closed interval of sequences, open while ToSeq is NULL.
type MembershipPeriod struct {
	ConversationID uuid.UUID `gorm:"column:conversation_id;primaryKey;uniqueIndex:membership_periods_open,priority:1;index:membership_periods_member,priority:3"`
	Generation     int64     `gorm:"column:generation;primaryKey;autoIncrement:false;uniqueIndex:membership_periods_open,priority:2"`
	Member         string    `gorm:"column:member;primaryKey;uniqueIndex:membership_periods_open,priority:3,where:to_seq IS NULL;index:membership_periods_member,priority:2,where:to_seq IS NULL"`
	FromSeq        int64     `gorm:"column:from_seq;primaryKey;autoIncrement:false"`
	ToSeq          *int64    `gorm:"column:to_seq"`
	AppName        string    `gorm:"column:app_name;not null;index:membership_periods_member,priority:1"`
}

// StateCheckpoint is the session state as of a sequence: at creation (0), if it
// was not empty.
type StateCheckpoint struct {
	ConversationID uuid.UUID `gorm:"column:conversation_id;primaryKey"`
	Generation     int64     `gorm:"column:generation;primaryKey;autoIncrement:false"`
	Seq            int64     `gorm:"column:seq;primaryKey;autoIncrement:false"`
	State          JSON      `gorm:"column:state;not null"`
}

// SessionState is one key of session state; a NULL value is a removed key.
type SessionState struct {
	ConversationID uuid.UUID `gorm:"column:conversation_id;primaryKey"`
	Generation     int64     `gorm:"column:generation;primaryKey;autoIncrement:false"`
	UpdatedAt      int64     `gorm:"column:updated_at;not null;autoUpdateTime:false"`
	Version        int64     `gorm:"column:version;not null"` // raised by each write
	Name           string    `gorm:"column:name;primaryKey"`
	Value          JSON      `gorm:"column:value"`
}

// AppState is one key of app: state, named without its prefix.
type AppState struct {
	UpdatedAt int64  `gorm:"column:updated_at;not null;autoUpdateTime:false"`
	Version   int64  `gorm:"column:version;not null"`
	AppName   string `gorm:"column:app_name;primaryKey"`
	Name      string `gorm:"column:name;primaryKey"`
	Value     JSON   `gorm:"column:value"`
}

// UserState is one key of user: state, named without its prefix.
type UserState struct {
	UpdatedAt int64  `gorm:"column:updated_at;not null;autoUpdateTime:false"`
	Version   int64  `gorm:"column:version;not null"`
	AppName   string `gorm:"column:app_name;primaryKey"`
	UserID    string `gorm:"column:user_id;primaryKey"`
	Name      string `gorm:"column:name;primaryKey"`
	Value     JSON   `gorm:"column:value"`
}

// DiscardedLog names a log whose conversation is gone and whose rows are being
// removed.
type DiscardedLog struct {
	ConversationID uuid.UUID `gorm:"column:conversation_id;primaryKey"`
	Generation     int64     `gorm:"column:generation;primaryKey;autoIncrement:false"`
	DiscardedAt    int64     `gorm:"column:discarded_at;not null"`
}

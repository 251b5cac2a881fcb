package model

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"fmt"
)

// JSON is JSON kept as text, nil for SQL NULL, and encoded as itself in a
// report. It plays the part of datatypes.JSON of gorm.io/datatypes, a package
// that would link a MySQL driver into every program.
type JSON json.RawMessage

// MarshalJSON returns the JSON itself, null for nil.
func (j JSON) MarshalJSON() ([]byte, error) { return json.RawMessage(j).MarshalJSON() }

// UnmarshalJSON keeps a copy of data.
func (j *JSON) UnmarshalJSON(data []byte) error {
	*j = bytes.Clone(data)
	return nil
}

// Value binds the JSON as text: PostgreSQL and SQLite would store bytes as a
// blob.
func (j JSON) Value() (driver.Value, error) {
	if j == nil {
		return nil, nil
	}
	return string(j), nil
}

// Scan reads text or bytes.
func (j *JSON) Scan(src any) error {
	switch src := src.(type) {
	case nil:
		*j = nil
	case string:
		*j = JSON(src)
	case []byte:
		*j = bytes.Clone(src)
	default:
		return fmt.Errorf("model: scan JSON from %T", src)
	}
	return nil
}

// GormDataType says that the column is text, in which JSON stays as written.
func (JSON) GormDataType() string { return "text" }

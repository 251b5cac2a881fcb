package adk

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	adksession "google.golang.org/adk/v2/session"

	"github.com/hansardlog/hansard/session"
)

// eventRow is a row of ADK's table events. What is NULL or not there is empty.
type eventRow struct {
	id, invocationID, author, branch, isolationScope, errorCode, errorMessage sql.NullString
	moment                                                                    any
	partial, turnComplete, interrupted                                        sql.NullBool

	actions, longRunningToolIDs, routes, output, nodeInfo, requestedInput, content,
	groundingMetadata, customMetadata, usageMetadata, citationMetadata []byte // JSON
}

// columns returns where to scan each column but timestamp.
func (r *eventRow) columns() map[string]any {
	return map[string]any{
		"id":                         &r.id,
		"invocation_id":              &r.invocationID,
		"author":                     &r.author,
		"branch":                     &r.branch,
		"isolation_scope":            &r.isolationScope,
		"error_code":                 &r.errorCode,
		"error_message":              &r.errorMessage,
		"partial":                    &r.partial,
		"turn_complete":              &r.turnComplete,
		"interrupted":                &r.interrupted,
		"actions":                    &r.actions,
		"long_running_tool_ids_json": &r.longRunningToolIDs,
		"routes_json":                &r.routes,
		"output_json":                &r.output,
		"node_info_json":             &r.nodeInfo,
		"requested_input_json":       &r.requestedInput,
		"content":                    &r.content,
		"grounding_metadata":         &r.groundingMetadata,
		"custom_metadata":            &r.customMetadata,
		"usage_metadata":             &r.usageMetadata,
		"citation_metadata":          &r.citationMetadata,
	}
}

// size is about what the row takes in memory.
func (r *eventRow) size() int {
	size := 0
	for _, c := range r.columns() {
		switch c := c.(type) {
		case *[]byte:
			size += len(*c)
		case *sql.NullString:
			size += len(c.String)
		}
	}
	return size
}

// adk returns the event as ADK's own service reads it, except that numbers of
// no type keep all their digits and the time is in UTC: a repeated import in
// another time zone makes the same payload.
func (r *eventRow) adk() (*adksession.Event, error) {
	timestamp, ok := instant(r.moment)
	if !ok {
		return nil, fmt.Errorf("%w: column timestamp: not a time", ErrUnreadable)
	}
	e := &adksession.Event{
		ID:             r.id.String,
		InvocationID:   r.invocationID.String,
		Author:         r.author.String,
		Branch:         r.branch.String,
		IsolationScope: r.isolationScope.String,
		Timestamp:      timestamp,
	}
	e.ErrorCode, e.ErrorMessage = r.errorCode.String, r.errorMessage.String
	e.Partial, e.TurnComplete, e.Interrupted = r.partial.Bool, r.turnComplete.Bool, r.interrupted.Bool
	for _, c := range []struct {
		column string
		data   []byte
		into   any
	}{
		{"actions", r.actions, &e.Actions},
		{"long_running_tool_ids_json", r.longRunningToolIDs, &e.LongRunningToolIDs},
		{"routes_json", r.routes, &e.Routes},
		{"output_json", r.output, &e.Output},
		{"node_info_json", r.nodeInfo, &e.NodeInfo},
		{"requested_input_json", r.requestedInput, &e.RequestedInput},
		{"content", r.content, &e.Content},
		{"grounding_metadata", r.groundingMetadata, &e.GroundingMetadata},
		{"custom_metadata", r.customMetadata, &e.CustomMetadata},
		{"usage_metadata", r.usageMetadata, &e.UsageMetadata},
		{"citation_metadata", r.citationMetadata, &e.CitationMetadata},
	} {
		if err := decodeExact(c.data, c.into); err != nil {
			return nil, fmt.Errorf("%w: column %s: %w", ErrUnreadable, c.column, err)
		}
	}
	return e, nil
}

// hansard returns the event as the adapter stores it, without a state delta:
// the session begins with what the deltas came to.
func (r *eventRow) hansard() (*session.Event, error) {
	event, err := r.adk()
	if err != nil {
		return nil, err
	}
	encoded, err := encode(withoutTemp(event))
	if err != nil {
		return nil, err
	}
	encoded.ID = importedID(r.id.String)
	encoded.IdempotencyKey = encoded.ID
	encoded.StateDelta = nil
	return encoded, nil
}

// importedID returns the ID that an event of the source gets. An event without
// one, of which a session of ADK has one at most, needs a name all the same, or
// it could not be told from a new event when an import is repeated.
func importedID(id string) string {
	if id == "" {
		sum := sha256.Sum256(nil)
		return "sha256:" + hex.EncodeToString(sum[:])
	}
	return project(id, session.MaxTextBytes)
}

// decodeExact decodes JSON, if there is any, with numbers of no type as
// json.Number.
func decodeExact(data []byte, v any) error {
	if len(data) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}

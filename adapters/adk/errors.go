package adk

import "fmt"

// PayloadError reports a stored event that ADK's JSON does not decode, such as
// one written by a later version of ADK.
type PayloadError struct {
	Seq int64
	Err error
}

func (e *PayloadError) Error() string {
	return fmt.Sprintf("adk: payload of event %d: %v", e.Seq, e.Err)
}

// Unwrap returns what encoding/json said.
func (e *PayloadError) Unwrap() error { return e.Err }

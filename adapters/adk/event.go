package adk

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"unicode"
	"unicode/utf8"

	adksession "google.golang.org/adk/v2/session"

	"github.com/hansardlog/hansard/session"
)

// Format is what Event.Format says of events that this package wrote.
const Format = "adk-go/v2"

// unknownAuthor stands for the empty author, which Hansard does not take.
const unknownAuthor = "unknown"

// eventName is what the log knows an event by: its author and idempotency key.
type eventName struct{ author, key string }

func nameOf(e *session.Event) eventName { return eventName{e.Author, e.IdempotencyKey} }

// nameOfADK returns the name under which an event is stored. Its ID is the key.
func nameOfADK(event *adksession.Event) eventName {
	return eventName{
		author: project(cmp.Or(event.Author, unknownAuthor), session.MaxTextBytes),
		key:    project(event.ID, session.MaxTextBytes),
	}
}

// encode makes Hansard's event of ADK's: the payload is the whole event in ADK's
// own JSON, everything else a projection of it.
func encode(event *adksession.Event) (*session.Event, error) {
	payload, err := json.Marshal(event)
	if err != nil {
		return nil, invalid("event", "cannot be encoded as JSON: "+err.Error())
	}
	// What is stored must be readable: such an event would close its session.
	if err := unmarshal(payload, new(adksession.Event)); err != nil {
		return nil, invalid("event", "its JSON cannot be decoded by ADK: "+err.Error())
	}
	name := nameOfADK(event)
	return &session.Event{
		ID:             name.key,
		IdempotencyKey: name.key,
		Author:         name.author,
		InvocationID:   project(event.InvocationID, session.MaxTextBytes),
		Branch:         project(event.Branch, session.MaxBranchBytes),
		Timestamp:      event.Timestamp,
		StateDelta:     event.Actions.StateDelta,
		Format:         Format,
		Payload:        payload,
	}, nil
}

// project returns text as a column takes it: as it is, or its hash where a rule
// forbids it.
func project(text string, maxBytes int) string {
	ok := len(text) <= maxBytes && utf8.ValidString(text)
	for _, r := range text {
		ok = ok && !unicode.IsControl(r)
	}
	if ok {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// decode returns ADK's event of a stored one. Of an event that somebody else
// wrote it has what the columns say. The state delta has exact numbers, which
// ADK's JSON has not, where it is stored beside the payload.
func (s *service) decode(e *session.Event) (*adksession.Event, error) {
	event := new(adksession.Event)
	if e.Format == Format {
		if err := unmarshal(e.Payload, event); err != nil {
			return nil, &PayloadError{Seq: e.Seq, Err: err}
		}
	} else {
		event.ID, event.Author, event.InvocationID, event.Branch, event.Timestamp = e.ID, e.Author, e.InvocationID, e.Branch, e.Timestamp
	}
	if len(e.StateDelta) > 0 {
		event.Actions.StateDelta = s.state(e.StateDelta)
	}
	return event, nil
}

// unmarshal decodes an event by ADK's JSON. That makes a float64 of every number
// and so refuses one like 1e400, which a state delta may hold: then the delta is
// left out, since it is stored beside the payload.
func unmarshal(payload []byte, event *adksession.Event) error {
	err := json.Unmarshal(payload, event)
	if err == nil {
		return nil
	}
	var fields, actions map[string]json.RawMessage
	if json.Unmarshal(payload, &fields) != nil || json.Unmarshal(fields["actions"], &actions) != nil {
		return err
	}
	delete(actions, "stateDelta")
	if fields["actions"], err = json.Marshal(actions); err == nil {
		payload, err = json.Marshal(fields)
	}
	if err != nil {
		return err
	}
	*event = adksession.Event{} // the first try may have filled a part of it
	return json.Unmarshal(payload, event)
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/hansardlog/hansard/session"
)

const (
	appName = "replay"
	format  = "chat-completions"
)

// State that the import keeps about tool calls, in three scopes.
const (
	stateToolCalls = "tool_calls"                     // of this conversation, so far
	stateLastTool  = session.UserPrefix + "last_tool" // that the user's agents called
	stateTool      = session.AppPrefix + "tool/"      // + name: true for each tool seen
)

// errNoConversation marks lines that do not hold a conversation.
var errNoConversation = errors.New("not a conversation")

// conversation is one line of the input, ready to be stored.
type conversation struct {
	line      int
	size      int // of the line, in bytes
	id        string
	events    []*session.Event
	bytes     int64 // of the payloads
	toolCalls int
	tools     map[string]bool // by name
}

// key names the session. Of an id such as "support-17-2" the last part tells
// the recordings of one user apart, so the user is "support-17".
func (c *conversation) key() session.Key {
	user := c.id
	if i := strings.LastIndexByte(c.id, '-'); i > 0 {
		user = c.id[:i]
	}
	return session.Key{AppName: appName, UserID: user, SessionID: c.id}
}

// message is what the import looks at; the payload keeps the rest.
type message struct {
	Role      string `json:"role"`
	Name      string `json:"name"`
	ToolCalls []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// author is the tool's name for what a tool says, and the role otherwise.
func (m *message) author() string {
	if m.Role == "tool" && m.Name != "" {
		return m.Name
	}
	return m.Role
}

// parseConversation returns errors that match errNoConversation.
func parseConversation(line []byte) (*conversation, error) {
	// encoding/json would replace what is not UTF-8, in the id too.
	if !utf8.Valid(line) {
		return nil, fmt.Errorf("%w: it is not valid UTF-8", errNoConversation)
	}
	var record struct {
		ID       string            `json:"id"`
		Messages []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(line, &record); err != nil {
		return nil, fmt.Errorf("%w: %s", errNoConversation, explain(err))
	}
	if record.ID == "" {
		return nil, fmt.Errorf("%w: it has no id", errNoConversation)
	}
	if record.Messages == nil {
		return nil, fmt.Errorf("%w: %q has no messages", errNoConversation, record.ID)
	}
	c := &conversation{id: record.ID, size: len(line), tools: make(map[string]bool)}
	for i, payload := range record.Messages {
		if err := c.add(i, payload); err != nil {
			return nil, fmt.Errorf("%w: message %d of %q: %w", errNoConversation, i+1, c.id, err)
		}
	}
	return c, nil
}

// add turns message i into an event. The event depends on nothing but the input,
// so that sending it again is a replay.
func (c *conversation) add(i int, payload json.RawMessage) error {
	var m message
	if err := json.Unmarshal(payload, &m); err != nil {
		return errors.New(explain(err))
	}
	if m.Role == "" {
		return errors.New("it has no role")
	}
	delta := make(session.State)
	for _, call := range m.ToolCalls {
		name := call.Function.Name
		if name == "" {
			return errors.New("it calls a tool without a name")
		}
		c.toolCalls++
		delta[stateToolCalls] = c.toolCalls
		delta[stateLastTool] = name
		if !c.tools[name] {
			c.tools[name] = true
			delta[stateTool+name] = true
		}
	}
	c.bytes += int64(len(payload))
	c.events = append(c.events, &session.Event{
		Author:         m.author(),
		IdempotencyKey: fmt.Sprintf("message-%d", i+1),
		StateDelta:     delta,
		Format:         format,
		Payload:        payload,
	})
	return nil
}

// explain words the errors of encoding/json for somebody who sees the input and
// not this program.
func explain(err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Sprintf("%v, at byte %d", syntax, syntax.Offset)
	case errors.As(err, &kind) && kind.Field == "":
		return fmt.Sprintf("it is a JSON %s, not an object", kind.Value)
	case errors.As(err, &kind):
		return fmt.Sprintf("%s cannot be a JSON %s", kind.Field, kind.Value)
	}
	return err.Error()
}

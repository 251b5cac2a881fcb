package request

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"

	"github.com/hansardlog/hansard/internal/check"
	"github.com/hansardlog/hansard/session"
)

// List is a prepared read of a page of sessions.
type List struct {
	session.ListRequest         // Order and PageSize filled in
	Cursor              *Cursor // where the page begins, nil for the first one
}

// Cursor is the place of a session in a list: the page begins after it.
type Cursor struct {
	Micros    int64  // CreatedAt or UpdatedAt, by order
	UserID    string // the owner
	SessionID string
}

// List prepares a read of a page of sessions.
func (c Config) List(ctx context.Context, req *session.ListRequest) (*List, error) {
	if req == nil {
		return nil, required()
	}
	l := &List{ListRequest: *req}
	if err := check.Name("AppName", l.AppName); err != nil {
		return nil, err
	}
	if err := check.Text("UserID", l.UserID, session.MaxTextBytes); err != nil {
		return nil, err
	}
	if err := check.Text("Member", l.Member, session.MaxTextBytes); err != nil {
		return nil, err
	}
	switch l.Order {
	case "":
		l.Order = session.OrderCreated
	case session.OrderCreated:
	case session.OrderUpdated:
		if l.UserID == "" && l.Member == "" {
			return nil, check.Invalid("Order", "%q needs UserID or Member", l.Order)
		}
	default:
		return nil, check.Invalid("Order", "unknown order %q", l.Order)
	}
	var err error
	if l.PageSize, err = check.Size("PageSize", l.PageSize); err != nil {
		return nil, err
	}
	if l.PageToken != "" {
		if l.Cursor, err = l.parseToken(); err != nil {
			return nil, err
		}
	}
	return l, ctx.Err()
}

// token is what a page token encodes. Sum binds it to the filters and order:
// a token made for another list, or altered, is refused. It guards against
// mistakes, not against forgers, who learn nothing that the list would not say.
type token struct {
	Cursor
	Sum []byte
}

// Token returns the token of the page after the session at cur.
func (l *List) Token(cur Cursor) string {
	data, err := json.Marshal(token{cur, l.sum(cur)})
	if err != nil {
		panic("request: encode page token: " + err.Error()) // plain strings and numbers
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

func (l *List) parseToken() (*Cursor, error) {
	var t token
	data, err := base64.RawURLEncoding.DecodeString(l.PageToken)
	if err == nil {
		err = json.Unmarshal(data, &t)
	}
	if err != nil || l.Token(t.Cursor) != l.PageToken {
		return nil, check.Invalid("PageToken", "not a token of this list: same AppName, UserID, Member and Order are needed")
	}
	return &t.Cursor, nil
}

func (l *List) sum(cur Cursor) []byte {
	var data []byte
	for _, s := range []string{l.AppName, l.UserID, l.Member, string(l.Order), cur.UserID, cur.SessionID} {
		data = appendText(data, s)
	}
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(data, uint64(cur.Micros)))
	return sum[:8]
}

// StateOwner says whose user: keys a listed session of owner shows.
func (l *List) StateOwner(owner string) string {
	if l.Member != "" {
		return l.Member
	}
	return owner
}

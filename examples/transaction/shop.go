package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"gorm.io/gorm"

	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
)

// Order is a row of this program's own table.
type Order struct {
	ID    int64  `gorm:"primaryKey" json:"order"`
	Item  string `json:"item"`
	Cents int64  `json:"cents"`
}

// TableName names the table, whatever else lives in the database.
func (Order) TableName() string { return "shop_orders" }

var errDeclined = errors.New("payment declined")

// shop keeps orders in db, and in log the conversation that led to them.
type shop struct {
	db  *gorm.DB
	log *database.Service
}

var key = session.Key{AppName: "shop", UserID: "ana", SessionID: "till 4"}

// open begins the conversation.
func (s *shop) open(ctx context.Context) error {
	_, err := s.log.Create(ctx, &session.CreateRequest{Key: key})
	return err
}

// place stores order and the event that tells of it, both or neither.
func (s *shop) place(ctx context.Context, order *Order) error {
	return s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Create(order).Error; err != nil {
			return err
		}
		return s.tell(ctx, tx, order, nil)
	})
}

// placeUnpaid does what place does until the payment fails.
func (s *shop) placeUnpaid(ctx context.Context, order *Order) error {
	return s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Create(order).Error; err != nil {
			return err
		}
		if err := s.tell(ctx, tx, order, nil); err != nil {
			return err
		}
		return errDeclined // the error rolls back
	})
}

// placeAfter places order in answer to the event at sequence head. If the
// conversation went on meanwhile, it says so and answers to what is there now.
func (s *shop) placeAfter(ctx context.Context, head int64, order *Order, w io.Writer) error {
	if err := s.customerSays(ctx, "And wrap it, please."); err != nil {
		return err
	}
	return s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Create(order).Error; err != nil {
			return err
		}
		err := s.tell(ctx, tx, order, &head)
		var stale *session.StaleError
		if errors.As(err, &stale) {
			// A refusal has written nothing and broken nothing: tx holds the
			// order still, and takes the event at the second attempt.
			_, _ = fmt.Fprintf(w, "   refused: expected head %d, have %d\n", stale.Expected, stale.Head)
			err = s.tell(ctx, tx, order, &stale.Head)
		}
		return err
	})
}

// tell appends the event of order inside tx. A nil head answers to anything.
func (s *shop) tell(ctx context.Context, tx *gorm.DB, order *Order, head *int64) error {
	payload, err := json.Marshal(order)
	if err != nil {
		return err
	}
	_, err = s.log.WithTx(tx).AppendEvent(ctx, &session.AppendEventRequest{
		Key: key,
		Event: &session.Event{
			Author:         "clerk",
			IdempotencyKey: fmt.Sprintf("order-%d", order.ID),
			StateDelta:     session.State{"last_order": order.ID},
			Payload:        payload,
		},
		ExpectedSeq: head,
	})
	return err
}

// customerSays appends in a transaction of its own.
func (s *shop) customerSays(ctx context.Context, words string) error {
	payload, err := json.Marshal(map[string]string{"text": words})
	if err != nil {
		return err
	}
	_, err = s.log.AppendEvent(ctx, &session.AppendEventRequest{
		Key:   key,
		Event: &session.Event{Author: "ana", IdempotencyKey: "wish-1", Payload: payload},
	})
	return err
}

// print shows the orders and the events that are stored.
func (s *shop) print(ctx context.Context, w io.Writer) error {
	var orders []Order
	if err := s.db.WithContext(ctx).Order("id").Find(&orders).Error; err != nil {
		return err
	}
	resp, err := s.log.Get(ctx, &session.GetRequest{Key: key})
	if err != nil {
		return err
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, order := range orders {
		_, _ = fmt.Fprintf(tw, "   order\t%d\t%s\t%d.%02d\n", order.ID, order.Item, order.Cents/100, order.Cents%100)
	}
	for _, event := range resp.Session.Events {
		_, _ = fmt.Fprintf(tw, "   event\t%d\t%s\t%s\n", event.Seq, event.Author, event.Payload)
	}
	_, _ = fmt.Fprintf(tw, "   state last_order = %v\n\n", resp.Session.State["last_order"])
	return tw.Flush() // with the first error of the writes above
}

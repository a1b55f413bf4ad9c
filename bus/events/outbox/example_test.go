package outbox_test

import (
	"context"
	"database/sql"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/events/outbox"
)

// ordered are the arguments of an event.
type ordered struct {
	Number int `json:"number"`
}

// An order and its event are committed together, or not at all. A relay of any instance publishes the event.
func Example() {
	serve := func(ctx context.Context, conn *bus.Conn, db *sql.DB) error {
		box := outbox.New(db, outbox.PostgreSQL)
		if err := box.Migrate(ctx); err != nil {
			return err
		}
		publisher, err := events.NewPublisher(conn, "orders.example", events.Durable())
		if err != nil {
			return err
		}
		onOrdered := events.NewEvent[ordered](publisher, "/on-ordered")

		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }() // after Commit it does nothing
		if _, err := tx.ExecContext(ctx, "INSERT INTO orders (number) VALUES (7)"); err != nil {
			return err
		}
		if err := onOrdered.Publish(box.In(ctx, tx), ordered{7}); err != nil {
			return err
		}
		if err := tx.Commit(); err != nil {
			return err
		}
		return box.Relay(ctx, conn) // until ctx ends
	}
	_ = serve // with a database
}

// Package outbox publishes events that happen with the data of a database: an event is a row that its transaction
// writes, and becomes a stored event once the transaction is committed, or never.
//
//	box := outbox.New(db, outbox.PostgreSQL)
//	publisher, err := ordersapi.NewPublisher(conn, events.Durable())
//	go box.Relay(ctx, conn) // in any instance, or in all
//
//	tx, err := db.BeginTx(ctx, nil)
//	…
//	err = publisher.OnOrdered(box.In(ctx, tx), 7, "Tea", 2)
//	err = tx.Commit()
//
// It needs database/sql alone: the program chooses the driver.
package outbox

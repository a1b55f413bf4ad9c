// Package events publishes and handles events: a service publishes what has happened, and each service that subscribes
// gets it.
//
//	type Ordered struct {
//		Order int `json:"order"`
//	}
//
//	publisher, err := events.NewPublisher(conn, "orders.example", events.Durable())
//	ordered := events.NewEvent[Ordered](publisher, "/on-ordered")
//	err = ordered.Publish(ctx, Ordered{Order: 7})
//
//	// Mailer has a method OnOrdered(ctx context.Context, order int) error.
//	err = events.Subscribe(conn, "orders.example", &Mailer{}, events.Durable())
//
// Generated publishers (see bus/cmd/apigen, -events) have a method for each event of an interface. Package eventlog
// operates the log of stored events.
package events

package main

import (
	"context"
	"net/http"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/examples/orders/ordersapi"
	"github.com/busline/busline/examples/orders/orderssvc"
)

// startOrders starts a service that publishes events, and two that subscribe. The events are stored if the broker has
// JetStream.
func (s *showcase) startOrders(ctx context.Context) error {
	conn, err := s.connect(ctx, ordersapi.Host)
	if err != nil {
		return err
	}
	publisher, err := ordersapi.NewPublisher(conn, events.Durable())
	subscribeOptions := []events.SubscribeOption{events.Durable()}
	if bus.StatusOf(err) == http.StatusServiceUnavailable {
		subscribeOptions = nil
		publisher, err = ordersapi.NewPublisher(conn)
	}
	if err != nil {
		return err
	}
	shipped, err := s.connect(ctx, "shipping.example")
	if err != nil {
		return err
	}
	if err := events.Subscribe[ordersapi.Events](shipped, ordersapi.Host, shipping{}, subscribeOptions...); err != nil {
		return err
	}
	stocking, err := s.connect(ctx, "stock.example", bus.WithLogger(zerolog.Nop())) // it refuses on purpose
	if err != nil {
		return err
	}
	if err := events.Subscribe[ordersapi.Events](stocking, ordersapi.Host, stock{}, subscribeOptions...); err != nil {
		return err
	}
	orders := orderssvc.New(publisher)
	if _, err := orders.Order(ctx, "Sugar", 10*inStock); err != nil {
		return err
	}
	s.show("https://orders.example/order?item=Tea&quantity=2",
		"an order, an event that two services get; one of them refuses large ones")
	return bus.Serve[ordersapi.Orders](conn, orders)
}

// shipping handles every order.
type shipping struct{}

func (shipping) OnOrdered(context.Context, int, string, int) error { return nil }

// stock handles orders for what it has. A stored event of another one becomes a dead letter.
type stock struct{}

const inStock = 100

func (stock) OnOrdered(_ context.Context, number int, item string, quantity int) error {
	if quantity > inStock {
		return bus.Errorf(http.StatusUnprocessableEntity, "order %d: there are only %d of %s", number, inStock, item)
	}
	return nil
}

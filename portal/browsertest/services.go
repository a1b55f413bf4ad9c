package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/examples/calculator/calculatorsvc"
	"github.com/busline/busline/examples/payroll/payrollapi"
	"github.com/busline/busline/examples/payroll/payrollsvc"
	"github.com/busline/busline/examples/products/productsvc"
	"github.com/busline/busline/examples/trouble/troublesvc"
	"github.com/busline/busline/msgsvc"
)

// messagingInstances is how many instances of the messaging service there are.
const messagingInstances = 3

// startExamples puts the services of the examples on the bus, as the showcase does.
func (s *stage) startExamples() error {
	for _, start := range []func() error{s.startMessaging, s.startCalculator, s.startProducts, s.startPayroll, s.startTrouble} {
		if err := start(); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) startMessaging() error {
	for range messagingInstances {
		conn, err := s.join("messaging.example")
		if err != nil {
			return err
		}
		service, err := msgsvc.New(s.ctx, conn)
		if err != nil {
			return err
		}
		s.atEnd(service.Close)
	}
	return nil
}

func (s *stage) startCalculator() error {
	conn, err := s.join("calculator.example")
	if err != nil {
		return err
	}
	return calculatorsvc.Serve(conn)
}

func (s *stage) startProducts() error {
	conn, err := s.join("products.example")
	if err != nil {
		return err
	}
	store, err := productsvc.OpenStore(s.ctx, conn)
	if err != nil {
		return err
	}
	return productsvc.Serve(conn, store)
}

func (s *stage) startPayroll() error {
	conn, err := s.join(payrollapi.Host)
	if err != nil {
		return err
	}
	return payrollsvc.Serve(conn)
}

func (s *stage) startTrouble() error {
	conn, err := s.join("trouble.example")
	if err != nil {
		return err
	}
	return troublesvc.Serve(conn)
}

// order is what a shop is told to deliver: it has something of everything that a form can be made of.
type order struct {
	Customer string         `json:"customer"`
	Size     string         `json:"size" jsonschema:"enum=small,enum=medium,enum=large"`
	Gift     bool           `json:"gift"`
	Lines    []line         `json:"lines"`
	To       place          `json:"to"`
	Notes    map[string]int `json:"notes"`
	Extra    any            `json:"extra"`
}

type line struct {
	Product string  `json:"product"`
	Count   int64   `json:"count" jsonschema:"minimum=1,maximum=1000"`
	Price   float64 `json:"price"`
}

type place struct {
	Street string  `json:"street"`
	Next   *place  `json:"next,omitempty"` // contains itself
	Lat    float64 `json:"lat"`
}

// shop takes orders.
type shop struct{}

// Place takes an order, and gives it back.
func (shop) Place(wanted order, urgent bool) (placed order, number int64) { return wanted, 1 }

func (s *stage) startShop() error {
	conn, err := s.join("shop.example")
	if err != nil {
		return err
	}
	return bus.Serve(conn, shop{})
}

// generated is one of very many.
type generated struct{}

// Lookup finds what is stored under a key.
func (generated) Lookup(key string) (value string, found bool) { return key, true }

// Store keeps a value.
func (generated) Store(_, _ string, _ int) (stored bool) { return true }

// Purge forgets what is older than some seconds.
func (generated) Purge(seconds int) (purged int) { return seconds }

// Stats tells how it is.
func (generated) Stats() (entries, bytes int64) { return 1, 2 }

// startMany puts so many services on the bus.
func (s *stage) startMany(count int) error {
	areas := []string{"billing", "catalog", "fulfilment", "identity", "search"}
	for i := range count {
		conn, err := s.join(fmt.Sprintf("node-%03d.%s.example", i, areas[i%len(areas)]))
		if err != nil {
			return err
		}
		if err := bus.Serve(conn, generated{}, bus.Names("Store", "key, value, seconds", "stored")); err != nil {
			return err
		}
	}
	return nil
}

// hostile is what a service may call itself, and its operations.
const hostile = `<img src=x onerror="document.title='taken'"><script>document.title='taken'</script>`

// startHostile has a service that puts HTML everywhere, and answers with it.
func (s *stage) startHostile() error {
	conn, err := s.join("hostile.example", bus.WithDescription(hostile))
	if err != nil {
		return err
	}
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, "%q", hostile)
	})
	if err := conn.Handle(http.MethodGet, "/x", answer, bus.Hidden()); err != nil {
		return err
	}
	schema := map[string]any{
		"type": "object", "description": hostile,
		"properties": map[string]any{hostile: map[string]any{"type": "string", "description": hostile, "enum": []string{hostile}}},
	}
	document := map[string]any{
		"openapi": "3.0.0",
		"info":    map[string]any{"title": hostile, "description": hostile, "version": hostile},
		"tags":    []any{map[string]any{"name": "hostile.example", "description": hostile}},
		"paths": map[string]any{
			"/hostile.example:443/x": map[string]any{"get": map[string]any{
				"tags": []string{"hostile.example"}, "summary": hostile + "(", "description": hostile, "operationId": "x",
				"parameters": []any{map[string]any{"name": hostile, "in": "query", "schema": schema}},
				"responses": map[string]any{"200": map[string]any{
					"description": hostile, "content": map[string]any{"application/json": map[string]any{"schema": schema}},
				}},
			}},
		},
	}
	return conn.Handle(http.MethodGet, "/openapi.json", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, document)
	}), bus.Hidden())
}

// guest is a service that comes, goes and comes back as another.
type guest interface{ leave() error }

type connected struct {
	conn *bus.Conn
}

func (c connected) leave() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return c.conn.Close(ctx)
}

type oldGuest struct{}

// Welcome greets.
func (oldGuest) Welcome(name string) (greeting string) { return "Hello, " + name }

type newGuest struct{}

// Welcome greets, in some language.
func (newGuest) Welcome(name, language string) (greeting string) { return "Hallo, " + name + language }

// startGuest serves a guest.
func (s *stage) startGuest(serve func(*bus.Conn) error) (guest, error) {
	conn, err := bus.Connect(s.ctx, "guest.example", s.connect...)
	if err != nil {
		return nil, err
	}
	return connected{conn}, serve(conn)
}

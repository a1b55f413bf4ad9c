// Package services puts the services of the showcase on a bus.
package services

import (
	"context"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/examples/calculator/calculatorapi"
	"github.com/busline/busline/examples/calculator/calculatorsvc"
	"github.com/busline/busline/examples/payroll/payrollapi"
	"github.com/busline/busline/examples/payroll/payrollsvc"
	"github.com/busline/busline/examples/products/productapi"
	"github.com/busline/busline/examples/products/productsvc"
	"github.com/busline/busline/examples/trouble/troubleapi"
	"github.com/busline/busline/examples/trouble/troublesvc"
	"github.com/busline/busline/msgsvc"
	"github.com/busline/busline/portal"
)

// messagingHost is where the messaging service of the showcase is.
const messagingHost = "messaging.example"

// Start serves them, the portal last, so that it finds the others. Each is on a connection of its own, which whoever
// connects also closes.
func Start(ctx context.Context, connect func(host string) (*bus.Conn, error)) error {
	for _, service := range []struct {
		host  string
		serve func(*bus.Conn) error
	}{
		{calculatorapi.Host, calculatorsvc.Serve},
		{payrollapi.Host, payrollsvc.Serve},
		{troubleapi.Host, troublesvc.Serve},
		{productapi.Host, func(conn *bus.Conn) error { return products(ctx, conn) }},
		{messagingHost, func(conn *bus.Conn) error {
			_, err := msgsvc.New(ctx, conn)
			return err
		}},
		{"portal", func(conn *bus.Conn) error { return portal.Register(conn) }},
	} {
		conn, err := connect(service.host)
		if err != nil {
			return err
		}
		if err := service.serve(conn); err != nil {
			return err
		}
	}
	return nil
}

func products(ctx context.Context, conn *bus.Conn) error {
	store, err := productsvc.OpenStore(ctx, conn)
	if err != nil {
		return err
	}
	return productsvc.Serve(conn, store)
}

package main

import (
	"context"
	"os"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/examples/calculator/calculatorapi"
	"github.com/busline/busline/examples/calculator/calculatorsvc"
	"github.com/busline/busline/examples/checkout/checkoutapi"
	"github.com/busline/busline/examples/checkout/checkoutsvc"
	"github.com/busline/busline/examples/payments/paymentsapi"
	"github.com/busline/busline/examples/payments/paymentssvc"
	"github.com/busline/busline/examples/payroll/payrollapi"
	"github.com/busline/busline/examples/payroll/payrollsvc"
	"github.com/busline/busline/examples/products/productapi"
	"github.com/busline/busline/examples/products/productsvc"
	"github.com/busline/busline/examples/trouble/troublesvc"
	"github.com/busline/busline/msgsvc"
	"github.com/busline/busline/portal"
)

// startServices puts the services on the bus. Each has a connection of its own, as if it ran alone.
func (s *showcase) startServices(ctx context.Context) error {
	for _, start := range []func(context.Context) error{
		s.startPortal, s.startMessaging, s.startCalculator, s.startProducts, s.startPayroll, s.startPayments, s.startOrders,
		s.startCheckout, s.startTrouble,
	} {
		if err := start(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *showcase) startPortal(ctx context.Context) error {
	conn, err := s.connect(ctx, "portal")
	if err != nil {
		return err
	}
	s.show("https://portal/", "all services, described; try them there")
	s.show("https://portal/openapi.json", "one OpenAPI document for all of them")
	return portal.Register(conn, portal.WithOperators("")) // everyone may try what it can do
}

// startMessaging starts three instances, so that there are instances to choose from.
func (s *showcase) startMessaging(ctx context.Context) error {
	for range 3 {
		conn, err := s.connect(ctx, "messaging.example")
		if err != nil {
			return err
		}
		service, err := msgsvc.New(ctx, conn)
		if err != nil {
			return err
		}
		s.atEnd(service.Close)
	}
	s.show("https://messaging.example/home", "calls to one of three instances, to all, and to a certain one")
	return nil
}

func (s *showcase) startCalculator(ctx context.Context) error {
	conn, err := s.connect(ctx, "calculator.example")
	if err != nil {
		return err
	}
	s.show("https://calculator.example/add?x=5&y=6", "a function")
	return calculatorsvc.Serve(conn)
}

func (s *showcase) startProducts(ctx context.Context) error {
	conn, err := s.connect(ctx, "products.example")
	if err != nil {
		return err
	}
	store, err := productsvc.OpenStore(ctx, conn)
	if err != nil {
		return err
	}
	s.show("https://products.example/products?sortBy=price&limit=10", "a REST collection, kept "+store.String())
	return productsvc.Serve(conn, store)
}

func (s *showcase) startPayroll(ctx context.Context) error {
	var options []bus.ConnectOption
	if os.Getenv("BUS_JWKS") == "" { // a showcase without keys is no mistake: it takes no token
		options = append(options, bus.WithVerifier(new(claims.Verifier)))
	}
	conn, err := s.connect(ctx, payrollapi.Host, options...)
	if err != nil {
		return err
	}
	s.show("https://payroll.example/headcount", "who may ask for more has a token; see examples/payroll")
	return payrollsvc.Serve(conn)
}

func (s *showcase) startPayments(ctx context.Context) error {
	conn, err := s.connect(ctx, paymentsapi.Host)
	if err != nil {
		return err
	}
	s.show("https://payments.example/receipts", "a union, enums, and what may be missing; see examples/payments")
	return paymentssvc.Serve(conn)
}

// startCheckout starts a service that calls two others.
func (s *showcase) startCheckout(ctx context.Context) error {
	conn, err := s.connect(ctx, checkoutapi.Host)
	if err != nil {
		return err
	}
	service := checkoutsvc.New(productapi.NewClient(conn), calculatorapi.NewClient(conn))
	return bus.Serve[checkoutapi.Checkout](conn, service)
}

func (s *showcase) startTrouble(ctx context.Context) error {
	conn, err := s.connect(ctx, "trouble.example")
	if err != nil {
		return err
	}
	s.show("https://trouble.example/sleep?ms=100", "a slow call; what else can go wrong is there too")
	return troublesvc.Serve(conn)
}

package main

import (
	"github.com/busline/busline/examples/calculator/calculatorsvc"
	"github.com/busline/busline/examples/payroll/payrollapi"
	"github.com/busline/busline/examples/payroll/payrollsvc"
	"github.com/busline/busline/examples/products/productsvc"
	"github.com/busline/busline/examples/trouble/troublesvc"
	"github.com/busline/busline/msgsvc"
)

// messagingInstances is the number of instances of the messaging service.
const messagingInstances = 3

// startExamples starts the services of the examples, like the showcase.
func (s *stage) startExamples() error {
	for _, start := range []func() error{s.startMessaging, s.startCalculator, s.startProducts, s.startPayroll,
		s.startTrouble} {
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

package main_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/claims/claimstest"
	"github.com/busline/busline/examples/internal/exampletest"
	"github.com/busline/busline/examples/payroll/payrollapi"
)

func TestPayroll(t *testing.T) {
	t.Parallel()
	key, err := claimstest.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	keySet := filepath.Join(t.TempDir(), "keys.json")
	if err := claimstest.WriteKeySet(keySet, key); err != nil {
		t.Fatal(err)
	}
	token, err := key.Sign(claims.Claims{"roles": []string{"hr"}, "exp": time.Now().Add(time.Hour).Unix()})
	if err != nil {
		t.Fatal(err)
	}
	b := bustest.New(t, broker.Listen("127.0.0.1:0"))
	program := exampletest.Start(t, exampletest.Build(t, "."), "BUS_NATS_URL="+b.Broker().URL(), "BUS_PLANE="+b.Plane(),
		"BUS_JWKS="+keySet)
	program.Await("payroll.example is on the bus")
	payroll := payrollapi.NewClient(b.Connect("caller.example"))
	if count, err := payroll.Headcount(t.Context()); err != nil || count != 2 {
		t.Errorf("%d, %v", count, err)
	}
	if _, err := payroll.Salary(t.Context(), "ada"); bus.StatusOf(err) != 401 {
		t.Errorf("without a token: %v", err)
	}
	if amount, err := payroll.Salary(bus.WithActor(t.Context(), token), "ada"); err != nil || amount != 5200 {
		t.Errorf("a clerk: %d, %v", amount, err)
	}
	program.Stop()
}

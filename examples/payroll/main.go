// Payroll puts the service of payrollsvc on the bus: endpoints that require claims.
//
// Make a key set and a token in one terminal; start a bus that knows the keys in another, and the service, with the
// same keys, in a third:
//
//	TOKEN=$(go run ./bus/cmd/busline token --claims '{"roles":["hr"],"level":2}')
//	BUS_JWKS=dev.jwks go run ./examples/showcase
//	BUS_JWKS=dev.jwks go run ./examples/payroll
//
// Call it from the first, which has the token:
//
//	curl localhost:8080/payroll.example/headcount
//	curl 'localhost:8080/payroll.example/salary?employee=ada'
//	curl -H "Authorization: Bearer $TOKEN" 'localhost:8080/payroll.example/salary?employee=ada'
//	curl -H "Authorization: Bearer $TOKEN" 'localhost:8080/payroll.example/raise?employee=ada&percent=10'
//
// This prints:
//
//	{"count":2}
//	{…"status":401,"detail":"a token is required; send it as Authorization: Bearer …",…}
//	{"amount":5200}
//	{…"status":403,"detail":"the claims of the token do not give access",…}
//
// With level 3 the last one is {"amount":5720}. The showcase has a payroll, too. Both are instances of one service,
// each with salaries of its own.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/trace"
	"github.com/busline/busline/examples/payroll/payrollapi"
	"github.com/busline/busline/examples/payroll/payrollsvc"
)

func main() {
	if err := bus.Run(context.Background(), payrollapi.Host, serve, bus.WithVersion("1"), trace.Record()); err != nil {
		log.Fatal(err)
	}
}

func serve(_ context.Context, conn *bus.Conn) error {
	if err := payrollsvc.Serve(conn); err != nil {
		return err
	}
	fmt.Println(payrollapi.Host, "is on the bus; Ctrl-C takes it off")
	return nil
}

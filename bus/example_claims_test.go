package bus_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/claims/claimstest"
)

// Payroll knows what people earn.
type Payroll struct{}

// Salary returns the salary of an employee.
func (Payroll) Salary(employee string) (salary int) { return 1000 * len(employee) }

// Raise raises a salary.
func (Payroll) Raise(ctx context.Context, employee string) (by string) {
	who, _ := bus.ClaimsOf(ctx)
	return fmt.Sprint(who["sub"], " raises ", employee)
}

// A token says who calls, and an expression which claims it must have. Keys and tokens of production come from an
// identity provider, and BUS_JWKS names its key set.
func ExampleClaims() {
	ctx := context.Background()
	embedded, err := broker.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer embedded.Close()
	key, err := claimstest.NewKey()
	if err != nil {
		log.Fatal(err)
	}
	folder, err := os.MkdirTemp("", "claims")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	keys := filepath.Join(folder, "keys.json")
	if err := claimstest.WriteKeySet(keys, key); err != nil {
		log.Fatal(err)
	}
	verifier, err := claims.Open(ctx, claims.Config{KeySet: keys})
	if err != nil {
		log.Fatal(err)
	}
	defer verifier.Close()
	conn, err := bus.Connect(ctx, "payroll.example", bus.WithBroker(embedded), bus.WithVerifier(verifier))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()

	err = bus.Serve(conn, Payroll{},
		bus.RequireClaims(`"hr" in roles`),
		bus.Method("Raise", bus.RequireClaims(`"hr" in roles && level >= 3`)))
	if err != nil {
		log.Fatal(err)
	}

	token, err := key.Sign(claims.Claims{"sub": "grace", "roles": []string{"hr"}, "level": 2,
		"exp": time.Now().Add(time.Hour).Unix()})
	if err != nil {
		log.Fatal(err)
	}
	as := bus.WithActor(ctx, token)
	ada := bus.Args{"employee": "ada"}
	fmt.Println(bus.StatusOf(conn.Call(ctx, "https://payroll.example/salary", ada, nil)))
	fmt.Println(bus.StatusOf(conn.Call(as, "https://payroll.example/salary", ada, nil)))
	fmt.Println(bus.StatusOf(conn.Call(as, "https://payroll.example/raise", ada, nil)))
	// Output:
	// 401
	// 200
	// 403
}

// Package payrollsvc implements payrollapi. It shows endpoints that check who is calling: a token at the ingress says
// what roles its bearer has, and the documents show each caller what it may call.
//
//	GET /headcount                          for everybody           {"count":2}
//	GET /salary?employee=ada                "hr" in roles           {"amount":5200}
//	GET /raise?employee=ada&percent=10      and level >= 3          {"amount":5720}
package payrollsvc

import (
	"context"
	"net/http"
	"sync"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/examples/payroll/payrollapi"
)

// Serve puts the payroll on the bus. It is live when Serve returns. Methods that are added later are for hr alone,
// unless an option says otherwise.
func Serve(conn *bus.Conn) error {
	return bus.Serve[payrollapi.Payroll](conn, New(),
		bus.RequireClaims(`"hr" in roles`),
		bus.Method("Raise", bus.RequireClaims(`"hr" in roles && level >= 3`)),
		bus.Method("Headcount", bus.AllowAnonymous()),
	)
}

// Payroll keeps what people earn in memory.
type Payroll struct {
	mu      sync.Mutex // protects amounts
	amounts map[string]int
}

// New returns a payroll with two employees.
func New() *Payroll {
	return &Payroll{amounts: map[string]int{"ada": 5200, "grace": 6100}}
}

// Salary implements payrollapi.
func (p *Payroll) Salary(_ context.Context, employee string) (amount int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.amount(employee)
}

// maxPercent keeps a typing error from making an employee rich.
const maxPercent = 100

// Raise drops the cents.
func (p *Payroll) Raise(_ context.Context, employee string, percent int) (amount int, err error) {
	if percent < 0 || percent > maxPercent {
		return 0, bus.Errorf(http.StatusBadRequest, "percent is %d; choose from 0 to %d", percent, maxPercent)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	amount, err = p.amount(employee)
	if err != nil {
		return 0, err
	}
	amount += amount * percent / 100
	p.amounts[employee] = amount
	return amount, nil
}

// Headcount implements payrollapi.
func (p *Payroll) Headcount(context.Context) (count int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.amounts), nil
}

// amount looks up an employee. The caller holds the lock.
func (p *Payroll) amount(employee string) (int, error) {
	amount, found := p.amounts[employee]
	if !found {
		return 0, bus.Errorf(http.StatusNotFound, "nobody called %q is on the payroll", employee)
	}
	return amount, nil
}

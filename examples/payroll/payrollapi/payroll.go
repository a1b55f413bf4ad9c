// Package payrollapi is what callers of the payroll need: its interface, and a generated client.
package payrollapi

import "context"

//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Payroll

// Host is where the payroll is on the bus.
const Host = "payroll.example"

// Payroll knows what people earn. Only some callers may ask.
type Payroll interface {
	// Salary returns what an employee earns a month.
	Salary(ctx context.Context, employee string) (amount int, err error)
	// Raise raises a salary by some percent and returns what it is then.
	Raise(ctx context.Context, employee string, percent int) (amount int, err error)
	// Headcount returns how many people are paid.
	Headcount(ctx context.Context) (count int, err error)
}

// Package paymentsapi is what others need of the service payments: the interface that they call, the event that they
// subscribe to, and a generated client and publisher of these. Its types are more than structs: a union, two enums, and
// what may be missing.
package paymentsapi

import "context"

//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Payments

// Host is where payments are on the bus, and whose events these are.
const Host = "payments.example"

// Payments takes payments, and remembers them.
type Payments interface {
	// Pay takes a payment, and returns its receipt.
	//
	//busline:arg cents minimum=1 example=450 in the smallest unit of the currency
	//busline:arg note optional maxLength=80 what it is for
	//busline:problem 402 declined Declined
	Pay(ctx context.Context, cents int64, currency Currency, by Means, note string) (receipt Receipt, err error)
	// Receipts returns all receipts, or those in one state.
	//
	//busline:arg state optional only receipts in this state
	//busline:tool readOnly title="Look at receipts"
	Receipts(ctx context.Context, state State) (receipts []Receipt, err error)
}

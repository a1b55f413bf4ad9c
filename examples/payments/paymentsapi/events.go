package paymentsapi

import "context"

//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Events -events

// Events are what happens to payments.
type Events interface {
	// OnPaid tells that a payment was taken.
	//
	//busline:key number
	OnPaid(ctx context.Context, number int64, cents int64, by Means) error
}

// Package paymentssvc implements paymentsapi: payments, which are kept in memory.
//
//	POST /pay    {"cents":450,"currency":"EUR","by":{"kind":"card","number":"4111111111111111"}}
//	GET  /receipts?state=2
package paymentssvc

import (
	"context"
	"sync"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/examples/payments/paymentsapi"
)

// Payments takes payments. What it serves, and what that is called, is in paymentsapi.
type Payments struct {
	events paymentsapi.Events
	now    func() time.Time

	mu       sync.Mutex // protects receipts
	receipts []paymentsapi.Receipt
}

// New returns a service that publishes events of the payments that it takes, at the times that now says.
func New(events paymentsapi.Events, now func() time.Time) *Payments {
	return &Payments{events: events, now: now}
}

// maxReceipts is how many are kept; older ones are forgotten.
const maxReceipts = 1000

// Pay declines a voucher that is worth less than there is to pay.
func (p *Payments) Pay(ctx context.Context, cents int64, currency paymentsapi.Currency, by paymentsapi.Means,
	note string) (receipt paymentsapi.Receipt, err error) {
	at := p.now().UTC().Truncate(time.Second)
	receipt = paymentsapi.Receipt{Cents: cents, Currency: currency, By: by, State: paymentsapi.Settled, At: at,
		Settled: &at, Note: note}
	switch by := by.(type) {
	case paymentsapi.Transfer:
		receipt.State, receipt.Settled = paymentsapi.Promised, nil
	case paymentsapi.Voucher:
		if by.Worth < cents {
			return receipt, paymentsapi.DeclinedError(paymentsapi.Declined{Left: by.Worth},
				"voucher %s is worth only %d", by.Code, by.Worth)
		}
	}
	receipt = p.keep(receipt)
	return receipt, p.events.OnPaid(ctx, receipt.Number, cents, by)
}

// keep numbers a receipt, and remembers it.
func (p *Payments) keep(receipt paymentsapi.Receipt) paymentsapi.Receipt {
	p.mu.Lock()
	defer p.mu.Unlock()
	receipt.Number = 1
	if last := len(p.receipts) - 1; last >= 0 {
		receipt.Number = p.receipts[last].Number + 1
	}
	p.receipts = append(p.receipts, receipt)
	p.receipts = p.receipts[max(0, len(p.receipts)-maxReceipts):]
	return receipt
}

// Receipts returns them in the order in which the payments were taken.
func (p *Payments) Receipts(_ context.Context, state paymentsapi.State) (receipts []paymentsapi.Receipt, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, receipt := range p.receipts {
		if state == 0 || receipt.State == state {
			receipts = append(receipts, receipt)
		}
	}
	return receipts, nil
}

// Serve puts payments on the bus. They are live when Serve returns.
func Serve(conn *bus.Conn) error {
	publisher, err := paymentsapi.NewPublisher(conn)
	if err != nil {
		return err
	}
	return bus.Serve[paymentsapi.Payments](conn, New(publisher, time.Now))
}

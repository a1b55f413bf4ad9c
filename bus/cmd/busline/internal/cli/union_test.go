package cli_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/examples/payments/paymentsapi"
	"github.com/busline/busline/examples/payments/paymentssvc"
)

// TestCall_Union names the members of a variant like those of a struct.
func TestCall_Union(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serve(paymentsapi.Host, paymentssvc.Serve)
	of := func(by ...string) []string {
		return append([]string{"call", "payments.example/pay", "cents=450", "currency=EUR"}, by...)
	}
	card := e.run(t.Context(), nil, of("by.number=4111111111111111", "by.kind=card")...)
	assert.Zero(t, card.status, card.stderr)
	assert.Contains(t, card.stdout, `"by":{"kind":"card","number":"4111111111111111"}`)
	whole := e.run(t.Context(), nil, of(`by:={"kind":"voucher","code":"TEA-2026","worth":500}`)...)
	assert.Contains(t, whole.stdout, `"by":{"kind":"voucher","code":"TEA-2026","worth":500}`)
	e.refuses(2, `argument by.kind is one of card, transfer, voucher, not "cash"`, of("by.kind=cash")...)
	e.refuses(2, "argument by.worth is an integer, not \"many\"", of("by.kind=voucher", "by.worth=many")...)
	e.refuses(2, "there is no argument by.numbr: by has code, iban, kind, number, worth; did you mean number?",
		of("by.kind=card", "by.numbr=1")...)
	e.refuses(1, "by (body): has no kind, which is one of card, transfer, voucher", of("by.number=4111111111111111")...)

	described := e.run(t.Context(), nil, "describe", "payments.example/pay")
	assert.Contains(t, described.stdout, "by.kind            string   body  required, one of card, transfer, voucher")
	assert.Contains(t, described.stdout, "if kind is voucher")
	states := e.run(t.Context(), nil, "describe", "payments.example/receipts")
	assert.Contains(t, states.stdout, "one of 1 (Promised), 2 (Settled)")
}

// TestEventsPublish_Union names the members of a variant as busline call does.
func TestEventsPublish_Union(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serve(paymentsapi.Host, paymentssvc.Serve)
	e.says("payments.example has published on-paid\n", "events", "publish", "payments.example", "on-paid", "number=1",
		"cents=5", "by.kind=card", "by.number=4111111111111111")
	e.refuses(2, `argument by.kind is one of card, transfer, voucher, not "cash"`, "events", "publish", "payments.example",
		"on-paid", "number=1", "cents=5", "by.kind=cash")
}

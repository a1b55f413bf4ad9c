package paymentssvc_test

import (
	"context"
	"testing"
	"time"

	"github.com/golang/mock/gomock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/examples/internal/exampletest"
	"github.com/busline/busline/examples/payments/paymentsapi"
	"github.com/busline/busline/examples/payments/paymentssvc"
	"github.com/busline/busline/mocks"
)

func TestPayments(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	conn := b.Connect(paymentsapi.Host)
	publisher, err := paymentsapi.NewPublisher(conn)
	require.NoError(t, err)
	now := func() time.Time { return time.Date(2026, time.November, 29, 8, 0, 0, 0, time.UTC) }
	require.NoError(t, bus.Serve[paymentsapi.Payments](conn, paymentssvc.New(publisher, now)))
	payments := exampletest.Open(t, b.Connect("caller.example"), "https://"+paymentsapi.Host)
	const card = `{"kind":"card","number":"4111111111111111"}`
	pay := func(by string) string { return `{"cents":450,"currency":"EUR","by":` + by + `}` }
	const choices = "which is one of card, transfer, voucher"
	payments.Check("POST /pay", pay(card), 200, `{"receipt":{"number":1,"cents":450,"currency":"EUR","by":`+card+
		`,"state":2,"at":"2026-11-29T08:00:00Z","settled":"2026-11-29T08:00:00Z"}}`)
	const promised = `{"number":2,"cents":450,"currency":"EUR","by":{"kind":"transfer","iban":"DE02120300000000202051"},` +
		`"state":1,"at":"2026-11-29T08:00:00Z","settled":null}`
	payments.Check("POST /pay", pay(`{"iban":"DE02120300000000202051","kind":"transfer"}`), 200, `{"receipt":`+promised+`}`)
	payments.Check("POST /pay", pay(`{"kind":"voucher","code":"TEA-2026","worth":449}`), 402,
		"voucher TEA-2026 is worth only 449")
	payments.Check("POST /pay", pay(`{"kind":"cash"}`), 400, "by.kind (body): expects one of card, transfer, voucher")
	payments.Check("POST /pay", pay(`{"number":"4111111111111111"}`), 400, "by (body): has no kind, "+choices)
	payments.Check("POST /pay", pay(`"card"`), 400, "by (body): expects an object with kind, "+choices)
	payments.Check("POST /pay", pay(`null`), 422, "by (body): is missing")
	payments.Check("POST /pay", pay(`{"kind":"card","number":"1"}`), 422, "by.number (body): expects text that matches ^[0-9]{12,19}$")
	payments.Check("POST /pay", `{"cents":0,"currency":"USD"}`, 422, "currency (body): expects one of EUR, CHF")
	payments.Check("POST /receipts", `{"state":1}`, 200, `{"receipts":[`+promised+`]}`)
	payments.Check("POST /receipts", `{"state":3}`, 422, "state (body): expects one of 1, 2")
}

// subscriber keeps the means of the payments that it is told of.
type subscriber chan paymentsapi.Means

func (s subscriber) OnPaid(_ context.Context, _, _ int64, by paymentsapi.Means) error {
	s <- by
	return nil
}

// TestPayments_InGo passes every variant through a client, a service and an event.
func TestPayments_InGo(t *testing.T) {
	t.Parallel()
	for _, options := range [][]bus.ConnectOption{nil, {bus.WithoutShortCircuit()}} {
		b := bustest.New(t)
		told := make(subscriber, 1)
		require.NoError(t, events.Subscribe[paymentsapi.Events](b.Connect("books.example"), paymentsapi.Host, told))
		require.NoError(t, paymentssvc.Serve(b.Connect(paymentsapi.Host)))
		client := paymentsapi.NewClient(b.Connect("caller.example", options...))
		for _, by := range []paymentsapi.Means{paymentsapi.Card{Number: "4111111111111111"},
			paymentsapi.Transfer{IBAN: "DE02120300000000202051"}, paymentsapi.Voucher{Code: "TEA-2026", Worth: 450}} {
			receipt, err := client.Pay(t.Context(), 450, paymentsapi.EUR, by, "")
			require.NoError(t, err)
			assert.Equal(t, by, receipt.By)
			assert.Equal(t, by, <-told)
		}
		receipts, err := client.Receipts(t.Context(), paymentsapi.Promised)
		require.NoError(t, err)
		require.Len(t, receipts, 1)
		assert.Nil(t, receipts[0].Settled)
		_, err = client.Pay(t.Context(), 450, paymentsapi.EUR, paymentsapi.Voucher{Code: "TEA-2026", Worth: 1}, "")
		declined, isDeclined := paymentsapi.AsDeclined(err)
		assert.True(t, isDeclined)
		assert.Equal(t, paymentsapi.Declined{Left: 1}, declined)
		_, err = client.Pay(t.Context(), 450, paymentsapi.EUR, nil, "")
		require.ErrorContains(t, err, "paymentsapi.Means is nil: set it to one of card, transfer, voucher")
	}
}

// TestPayments_Mock has a mock take and return a union over the bus.
func TestPayments_Mock(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	payments := mocks.NewMockPayments(gomock.NewController(bustest.Reporter(t)))
	by := paymentsapi.Transfer{IBAN: "DE02120300000000202051"}
	payments.EXPECT().Pay(gomock.Any(), int64(1), paymentsapi.CHF, by, "").
		Return(paymentsapi.Receipt{Currency: paymentsapi.CHF, State: paymentsapi.Promised, By: by}, nil)
	require.NoError(t, bus.Serve[paymentsapi.Payments](b.Connect(paymentsapi.Host), payments))
	receipt, err := paymentsapi.NewClient(b.Connect("caller.example")).Pay(t.Context(), 1, paymentsapi.CHF, by, "")
	require.NoError(t, err)
	assert.Equal(t, by, receipt.By)
}

func TestAPI_StaysCompatible(t *testing.T) {
	t.Parallel()
	bustest.LockAPI[paymentsapi.Payments](t, "testdata/payments.api.json", paymentssvc.New(nil, time.Now))
}

// TestPayments_Args gives a union by name, as a pointer to its interface.
func TestPayments_Args(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	require.NoError(t, paymentssvc.Serve(b.Connect(paymentsapi.Host)))
	by := paymentsapi.Means(paymentsapi.Card{Number: "4111111111111111"})
	var result struct{ Receipt paymentsapi.Receipt }
	err := b.Connect("caller.example").Call(t.Context(), "https://payments.example/pay",
		bus.Args{"cents": 450, "currency": paymentsapi.EUR, "by": &by}, &result)
	require.NoError(t, err)
	assert.Equal(t, by, result.Receipt.By)
}

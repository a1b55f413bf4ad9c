package paymentsapi

import "time"

//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Means
//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Currency
//go:generate go run github.com/busline/busline/bus/cmd/apigen -type State

// Means is what a payment is made with.
//
//busline:oneOf kind card=Card transfer=Transfer voucher=Voucher
type Means interface{ isMeans() }

// Card is charged at once.
type Card struct {
	Number string `json:"number" jsonschema:"pattern=^[0-9]{12\\,19}$,example=4111111111111111"`
}

// Transfer is a promise: the money comes later.
type Transfer struct {
	IBAN string `json:"iban" jsonschema:"minLength=15,maxLength=34,example=DE02120300000000202051"`
}

// Voucher was paid in advance, and is worth some of a currency.
type Voucher struct {
	Code  string `json:"code" jsonschema:"minLength=4,example=TEA-2026"`
	Worth int64  `json:"worth" jsonschema:"minimum=1"`
}

func (Card) isMeans()     {}
func (Transfer) isMeans() {}
func (Voucher) isMeans()  {}

// Currency is the code of a currency (ISO 4217).
type Currency string

// The currencies.
const (
	EUR Currency = "EUR" // cents
	CHF Currency = "CHF" // Rappen
)

// State says how far a payment is.
type State int

// The states.
const (
	Promised State = iota + 1 // the money is on its way
	Settled                   // the money is here
)

// Receipt says that a payment was taken.
type Receipt struct {
	Number   int64      `json:"number"`
	Cents    int64      `json:"cents"`
	Currency Currency   `json:"currency"`
	By       Means      `json:"by"`
	State    State      `json:"state"`
	At       time.Time  `json:"at"`
	Settled  *time.Time `json:"settled"`        // null while it is promised
	Note     string     `json:"note,omitempty"` // missing if nothing was noted
}

// Declined says why a payment is not taken.
type Declined struct {
	Left int64 `json:"left"` // of what there is to pay with
}

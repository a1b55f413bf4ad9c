package restmap_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/restmap"
)

// payment is a card or a transfer.
type payment interface{ isPayment() }

type card struct {
	Number string `json:"number" jsonschema:"minLength=4"`
	Limit  int    `json:"limit,omitempty" jsonschema:"maximum=100"`
	Owner  string `json:"owner,omitempty" jsonschema:"readOnly=true"`
}

type transfer struct {
	Kind string   `json:"kind"`
	IBAN string   `json:"iban"`
	Rest payment  `json:"rest,omitzero"`
	Tags []string `json:"tags,omitempty"`
}

func (card) isPayment()      {}
func (*transfer) isPayment() {}

var _ = reflectapi.RegisterUnion("kind", "",
	reflectapi.Variant[payment]{Name: "card", Value: card{}},
	reflectapi.Variant[payment]{Name: "transfer", Value: &transfer{}})

type bought struct {
	By    payment            `json:"by"`
	Tip   payment            `json:"tip,omitzero"`
	Parts []payment          `json:"parts"`
	Named map[string]payment `json:"named,omitempty"`
}

// Payments takes unions wherever an argument may be.
type Payments struct{}

func (Payments) Pay(by payment, n int) (with payment)          { return by }
func (Payments) Buy(of bought) (n int)                         { return }
func (Payments) Store(id int, httpRequestBody payment) (n int) { return }
func (Payments) Echo(httpRequestBody []payment) (n int)        { return }

func TestUnion_Decode(t *testing.T) {
	t.Parallel()
	const choices = ", which is one of card, transfer"
	visa := card{Number: "4711"}
	for name, test := range map[string]struct {
		method, query, media, body, path string
		want                             any    // the first argument, or the whole body
		fails                            string // "" for nothing to say
	}{
		"JSON":                {method: "Pay", body: `{"by":{"kind":"card","number":"4711"}}`, want: visa},
		"a pointer":           {method: "Pay", body: `{"by":{"iban":"A","kind":"transfer"}}`, want: &transfer{Kind: "transfer", IBAN: "A"}},
		"in a variant":        {method: "Pay", body: `{"by":{"kind":"transfer","iban":"","rest":{"kind":"card","number":"4711"}}}`, want: &transfer{Kind: "transfer", Rest: visa}},
		"readOnly is erased":  {method: "Pay", body: `{"by":{"kind":"card","number":"4711","owner":"me"}}`, want: visa},
		"unknown members":     {method: "Pay", body: `{"by":{"kind":"card","number":"4711","zzzz":1}}`, want: visa},
		"JSON in a query":     {method: "Pay", query: `by={"kind":"card","number":"4711"}`, want: visa},
		"parts of a query":    {method: "Pay", query: `by.kind=card&by.number=4711`, want: visa},
		"parts of a form":     {method: "Pay", media: formType, body: `by.kind=transfer&by.iban=A&by.tags=a&by.tags=b`, want: &transfer{Kind: "transfer", IBAN: "A", Tags: []string{"a", "b"}}},
		"a body":              {method: "Store", path: "1", body: `{"kind":"card","number":"4711"}`, want: visa},
		"a body that is form": {method: "Store", path: "1", media: formType, body: `kind=card&number=4711`, want: visa},
		"lists":               {method: "Echo", body: `[{"kind":"card","number":"4711"}]`, want: []payment{visa}},
		"members": {method: "Buy", body: `{"of":{"by":{"kind":"card","number":"4711"},"parts":[]}}`,
			want: bought{By: visa, Parts: []payment{}}},

		"missing":             {method: "Pay", body: `{"n":1}`, fails: "by (body): is missing"},
		"null":                {method: "Pay", body: `{"by":null}`, fails: "by (body): is missing"},
		"without its name":    {method: "Pay", body: `{"by":{"number":"4711"}}`, fails: "400 by (body): has no kind" + choices},
		"of another name":     {method: "Pay", body: `{"by":{"kind":"cash"}}`, fails: "400 by.kind (body): expects one of card, transfer"},
		"no object":           {method: "Pay", body: `{"by":"card"}`, fails: "400 by (body): expects an object with kind" + choices},
		"a wrong member":      {method: "Pay", body: `{"by":{"kind":"card","number":4711}}`, fails: "400 by.number (body): expects a string"},
		"a member in capital": {method: "Pay", body: `{"by":{"kind":"card","Number":"4711"}}`, fails: "400 by.Number (body): is unknown: write number"},
		"all that is wrong": {method: "Pay", body: `{"by":{"kind":"card","number":4711,"limit":"x"},"n":"y"}`,
			fails: "400 by.number (body): expects a string; by.limit (body): expects an integer; n (body): expects an integer"},
		"a constraint":           {method: "Pay", body: `{"by":{"kind":"card","number":"1"}}`, fails: "by.number (body): expects at least 4 characters"},
		"constraints":            {method: "Pay", body: `{"by":{"kind":"card","limit":101}}`, fails: "by.limit (body): expects at most 100; by.number (body): is missing"},
		"a constraint in a list": {method: "Echo", body: `[{"kind":"card","number":"4711"},{"kind":"card","number":"1"}]`, fails: "[1].number (body): expects at least 4 characters"},
		"null in a list":         {method: "Echo", body: `[null]`, fails: "[0] (body): has no kind" + choices},
		"null in a map": {method: "Buy", body: `{"of":{"by":{"kind":"card","number":"4711"},"named":{"a":null}}}`,
			fails: "of.named.a (body): has no kind" + choices},
		"a part without a name": {method: "Pay", query: `by.number=4711`, fails: "400 by (query): has no kind" + choices},
		"a part of no variant":  {method: "Pay", query: `by.kind=cash`, fails: "400 by.kind (query): expects one of card, transfer"},
		"a name twice":          {method: "Pay", query: `by.kind=card&by.kind=transfer&by.number=4711`, fails: "400 by.kind (query): is given more than once"},
		"whole and in parts":    {method: "Pay", query: `by={"kind":"card","number":"4711"}&by.number=4712`, fails: "400 by (query): is given as a whole, and in parts: leave one"},
		"too many parts":        {method: "Pay", query: "by" + strings.Repeat(".rest", 40) + ".kind=card", fails: "400 by (query): has more than 32 parts"},
		"too deep":              {method: "Pay", body: `{"by":` + strings.Repeat(`{"kind":"transfer","iban":"","rest":`, 65) + `null` + strings.Repeat("}", 66), fails: "400 the body nests deeper than 64 levels"},
		"a wrong part":          {method: "Pay", query: `by.kind=card&by.number=4711&by.limit=x`, fails: "400 by.limit (query): expects an integer"},
		"a form without a name": {method: "Store", path: "1", media: formType, body: `number=4711`, fails: "400 the body has no kind" + choices},
		"an empty body":         {method: "Store", path: "1", body: ``, fails: "400 the body has no kind" + choices},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			media := test.media
			if media == "" && test.body != "" {
				media = "application/json"
			}
			in, err := endpointOf(t, Payments{}, test.method, restmap.Options{Methods: map[string]restmap.MethodOptions{
				"Store": {Path: "/orders/{id}", HTTPMethod: "PUT"},
			}}).Decode(&restmap.Request{Method: "POST", Query: test.query,
				ContentType: media, Body: []byte(test.body), PathValue: func(string) string { return test.path }})
			assert.Equal(t, test.fails, toldOf(err))
			if test.fails == "" {
				require.NoError(t, err)
				at := 0
				if test.method == "Store" {
					at = 1
				}
				assert.Equal(t, test.want, in.Field(at).Interface())
			}
		})
	}
}

package compare_test

import (
	"context"
	"slices"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/restmap/openapi"
	"github.com/busline/busline/restmap/openapi/compare"
)

// Below are the shop as it was, and ways that it went. Each of these is compared with the first.
type (
	Item struct {
		Name  string   `json:"name"`
		Price float64  `json:"price" jsonschema:"minimum=0,maximum=100"`
		Size  string   `json:"size,omitempty" jsonschema:"enum=S,enum=M"`
		Tags  []string `json:"tags"`
		Part  *Item    `json:"part"`
	}
	Stricter struct {
		Name  string    `json:"name" jsonschema:"required,minLength=2,pattern=^a"`
		Price float64   `json:"price" jsonschema:"minimum=1,exclusiveMaximum=100,multipleOf=2"`
		Size  string    `json:"size,omitempty" jsonschema:"enum=S"`
		Tags  []string  `json:"tags" jsonschema:"maxItems=2,uniqueItems=true"`
		Part  *Stricter `json:"part"`
		More  string    `json:"more"`
	}
	Other struct {
		Name  int     `json:"name"`
		Price float32 `json:"price"`
		Size  *string `json:"size"`
		Tags  []any   `json:"tags"`
	}
	Shop   struct{}
	Grown  struct{ Shop }
	Moved  struct{ Shop }
	Strict struct{ Shop }
	Turned struct{ Shop }
	Asking struct{ Shop }
	Poorer struct{}
)

func (Shop) Buy(_ context.Context, item Item, count int32) (total int32, bought Item) { return }
func (Shop) List(limit int) (items []Item)                                            { return }

func (Grown) Buy(_ context.Context, item Item, count int64, note string) (total int32, bought Item, left int) {
	return
}
func (Grown) Sell(item Item) (ok bool) { return }

func (Strict) Buy(_ context.Context, item Stricter, count int32) (total int32, bought Item) { return }
func (Turned) Buy(_ context.Context, item Item, count int16) (total int64, bought Other)    { return }
func (Asking) Buy(_ context.Context, item Other, count int32) (total int32, bought Item)    { return }
func (Poorer) Buy(_ context.Context, item Item) (bought Item)                               { return }

func TestDocuments(t *testing.T) {
	t.Parallel()
	names := bus.Names("Buy", "item, count", "total, bought")
	list := bus.Names("List", "limit", "items")
	before := document(t, Shop{}, names, list)
	for name, test := range map[string]struct {
		after  *openapi.Document
		breaks []string
		adds   []string
	}{
		"itself": {after: before},
		"more": {
			after: document(t, Grown{}, list, bus.Names("Buy", "item, count, note", "total, bought, left"), bus.Names("Sell", "item", "ok")),
			adds: []string{
				"POST /buy: the argument count is integer (int64), and was integer (int32)",
				"POST /buy: the argument note is new",
				"POST /buy: the result's left is new",
				"POST /sell (Sell) is new",
			},
		},
		"less": {
			after: document(t, Poorer{}, bus.Names("Buy", "item", "bought")),
			breaks: []string{
				"POST /buy: the argument count is no longer read: whoever sends it is not heard",
				"POST /buy: the result's total is gone: whoever reads it finds nothing",
				"POST /list (List) is gone: whoever calls it gets 404 or 405",
			},
		},
		"elsewhere": {
			after: document(t, Shop{}, names, list, bus.Method("List", bus.Path("/items"), bus.HTTPMethod("GET")), bus.Method("Buy", bus.Port(444))),
			breaks: []string{
				"POST /buy is now POST :444/buy: whoever calls it where it was gets 404 or 405",
				"POST /list is now GET /items: whoever calls it where it was gets 404 or 405",
				"GET /items: the body is no longer read: whoever sends one is not heard",
			},
			adds: []string{"GET /items: the argument limit is new"},
		},
		"claims": {
			after:  document(t, Shop{}, names, list, bus.Method("Buy", bus.Claims(`level > 2`))),
			breaks: []string{"POST /buy: it asks for claims now, level > 2: whoever calls without a token gets 401"},
		},
		"stricter arguments": {
			after: document(t, Strict{}, names, list),
			breaks: []string{
				"POST /buy: the argument item.name asks for a length of at least 2 now: whoever sends anything else gets 422",
				"POST /buy: the argument item.name asks for text that matches ^a now: whoever sends anything else gets 422",
				"POST /buy: the argument item.price asks for at least 1 now: whoever sends anything else gets 422",
				"POST /buy: the argument item.price asks for less than 100 now: whoever sends anything else gets 422",
				"POST /buy: the argument item.price asks for a multiple of 2 now: whoever sends anything else gets 422",
				`POST /buy: the argument item.size takes "M" no more: whoever sends that gets 422`,
				"POST /buy: the argument item.tags asks for elements, at most 2 now: whoever sends anything else gets 422",
				"POST /buy: the argument item.tags asks for no element twice now: whoever sends anything else gets 422",
				"POST /buy: the argument item.name is required now: whoever calls without it gets 422",
				"POST /buy: the argument item.price is required now: whoever calls without it gets 422",
				"POST /buy: the argument item is required now: whoever calls without it gets 422",
			},
			adds: []string{"POST /buy: the argument item.more is new"},
		},
		"other results, and a narrower argument": {
			after: document(t, Turned{}, names, list),
			breaks: []string{
				"POST /buy: the argument count asks for at least -32768 now: whoever sends anything else gets 422",
				"POST /buy: the argument count asks for at most 32767 now: whoever sends anything else gets 422",
				"POST /buy: the result's bought.name is integer (int64) now, and was string: whoever reads it as that fails",
				"POST /buy: the result's bought.part is gone: whoever reads it finds nothing",
				"POST /buy: the result's bought.size may be null now: whoever reads it has to expect that",
				`POST /buy: the result's bought.size may be anything now, and was one of "S", "M": whoever reads it has to expect that`,
				"POST /buy: the result's bought.tags[] may be null now: whoever reads it has to expect that",
				"POST /buy: the result's bought.tags[] is any value now, and was string: whoever reads it as that fails",
				"POST /buy: the result's total is integer (int64) now, and was integer (int32): whoever reads it as that fails",
			},
			adds: []string{"POST /buy: the result's bought.price is number (float), and was number (double)"},
		},
		"other arguments": {
			after: document(t, Asking{}, names, list),
			breaks: []string{
				"POST /buy: the argument item.name is integer (int64) now, and was string: whoever sends that gets 400 or 422",
				"POST /buy: the argument item.part is no longer read: whoever sends it is not heard",
				"POST /buy: the argument item.price is number (float) now, and was number (double): whoever sends that gets 400 or 422",
			},
			adds: []string{"POST /buy: the argument item.tags[] is any value, and was string"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var breaks, adds []string
			for _, change := range compare.Documents(before, test.after) {
				if change.Breaks {
					breaks = append(breaks, change.Text)
				} else {
					adds = append(adds, change.Text)
				}
			}
			for what, lists := range map[string][2][]string{"breaks": {breaks, test.breaks}, "adds": {adds, test.adds}} {
				if !slices.Equal(lists[0], lists[1]) {
					t.Errorf("%s:\n%q\nwant:\n%q", what, lists[0], lists[1])
				}
			}
		})
	}
	public, secured := document(t, Shop{}, names, list), document(t, Shop{}, names, list, bus.Claims(`"hr" in roles`))
	if changes := compare.Documents(secured, public); slices.ContainsFunc(changes, func(c compare.Change) bool { return c.Breaks }) || len(changes) != 2 {
		t.Errorf("claims that nobody asks for any more: %v", changes)
	}
}

func document[T any](t *testing.T, impl T, options ...bus.ServeOption) *openapi.Document {
	t.Helper()
	data, err := bus.DocumentOf("shop.example", impl, options...)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := openapi.ParseOwn(data)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

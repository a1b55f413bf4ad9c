package compare_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/events"
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
func (Shop) Stock(limit int) (items []Item)                                           { return }

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
	names := bus.ParamNames("Buy", "item, count", "total, bought")
	list := bus.ParamNames("Stock", "limit", "items")
	before := document(t, Shop{}, names, list)
	for _, test := range []struct {
		name   string
		after  *openapi.Document
		breaks []string
		adds   []string
	}{
		{name: "itself", after: before},
		{name: "more",
			after: document(t, Grown{}, list, bus.ParamNames("Buy", "item, count, note", "total, bought, left"),
				bus.ParamNames("Sell", "item", "ok")),
			adds: []string{
				"POST /buy: the argument count is now integer (int64), was integer (int32)",
				"POST /buy: the argument note is new",
				"POST /buy: the result's left is new",
				"POST /sell (Sell) is new",
			},
		},
		{name: "less",
			after: document(t, Poorer{}, bus.ParamNames("Buy", "item", "bought")),
			breaks: []string{
				"POST /buy: the argument count is no longer read: what callers send is ignored",
				"POST /buy: the result's total is gone: callers that read it find nothing",
				"POST /stock (Stock) is gone: unless it is only hidden, callers get 404 or 405",
			},
		},
		{name: "elsewhere",
			after: document(t, Shop{}, names, list, bus.Method("Stock", bus.Path("/items"), bus.HTTPMethod("GET")),
				bus.Method("Buy", bus.Port(444))),
			breaks: []string{
				"POST /buy has moved to POST :444/buy: callers of the old address get 404 or 405",
				"POST /stock has moved to GET /items: callers of the old address get 404 or 405",
				"GET /items: the body is no longer read: what callers send is ignored",
			},
			adds: []string{"GET /items: the argument limit is new"},
		},
		{name: "POST alone",
			after: document(t, Shop{}, names, list, bus.PostOnly()),
			breaks: []string{
				"POST /buy: it is no longer served under GET: callers that use it get 405",
				"POST /stock: it is no longer served under GET: callers that use it get 405",
			},
		},
		{name: "any method",
			after: document(t, Shop{}, names, list, bus.Method("Buy", bus.HTTPMethod("*"))),
			adds:  []string{"POST /buy: it is served under every HTTP method"},
		},
		{name: "claims",
			after:  document(t, Shop{}, names, list, bus.Method("Buy", bus.RequireClaims(`level > 2`))),
			breaks: []string{"POST /buy: it now requires the claims level > 2: callers without a token get 401"},
		},
		{name: "callers",
			after:  document(t, Shop{}, names, list, bus.Method("Buy", bus.RequireCallers("orders.example"))),
			breaks: []string{"POST /buy: only orders.example may call it now: other callers get 403"},
		},
		{name: "deprecated",
			after: document(t, Shop{}, names, list, bus.Method("Buy", bus.Description("Buy buys.\n\nDeprecated: use Order."))),
			adds:  []string{"POST /buy: it is now deprecated"},
		},
		{name: "stricter arguments",
			after: document(t, Strict{}, names, list),
			breaks: []string{
				"POST /buy: the argument item.name now requires a length of at least 2: callers that send anything else get 422",
				"POST /buy: the argument item.name now requires text that matches ^a: callers that send anything else get 422",
				"POST /buy: the argument item.price now requires at least 1: callers that send anything else get 422",
				"POST /buy: the argument item.price now requires less than 100: callers that send anything else get 422",
				"POST /buy: the argument item.price now requires a multiple of 2: callers that send anything else get 422",
				`POST /buy: the argument item.size no longer accepts "M": callers that send it get 422`,
				"POST /buy: the argument item.tags now requires a number of elements of at most 2: callers that send anything " +
					"else get 422",
				"POST /buy: the argument item.tags now requires no duplicate elements: callers that send anything else get 422",
				"POST /buy: the argument item.name is now required: callers that omit it get 422",
				"POST /buy: the argument item.price is now required: callers that omit it get 422",
				"POST /buy: the argument item is now required: callers that omit it get 422",
			},
			adds: []string{"POST /buy: the argument item.more is new"},
		},
		{name: "other results, and a narrower argument",
			after: document(t, Turned{}, names, list),
			breaks: []string{
				"POST /buy: the argument count now requires at least -32768: callers that send anything else get 422",
				"POST /buy: the argument count now requires at most 32767: callers that send anything else get 422",
				"POST /buy: the result's bought.name is now integer (int64), was string: callers that read the old type fail",
				"POST /buy: the result's bought.part is gone: callers that read it find nothing",
				"POST /buy: the result's bought.size may now be null: callers that read it have to expect that",
				`POST /buy: the result's bought.size may now be anything, was one of "S", "M": callers that read it have to expect that`,
				"POST /buy: the result's bought.tags[] may now be null: callers that read it have to expect that",
				"POST /buy: the result's bought.tags[] is now any value, was string: callers that read the old type fail",
				"POST /buy: the result's total is now integer (int64), was integer (int32): callers that read the old type fail",
			},
			adds: []string{"POST /buy: the result's bought.price is now number (float), was number (double)"},
		},
		{name: "other arguments",
			after: document(t, Asking{}, names, list),
			breaks: []string{
				"POST /buy: the argument item.name is now integer (int64), was string: callers that send the old type get 400 or " +
					"422",
				"POST /buy: the argument item.part is no longer read: what callers send is ignored",
				"POST /buy: the argument item.price is now number (float), was number (double): callers that send the old type " +
					"get 400 or 422",
			},
			adds: []string{"POST /buy: the argument item.tags[] is now any value, was string"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
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
				t.Run(what, func(t *testing.T) {
					if !slices.Equal(lists[0], lists[1]) {
						t.Errorf("%s:\n%q\nwant:\n%q", what, lists[0], lists[1])
					}
				})
			}
		})
	}
	anything := document(t, Shop{}, names, list, bus.Method("Buy", bus.HTTPMethod("*")),
		bus.Method("Stock", bus.HTTPMethod("POST")))
	want := []compare.Change{
		{Breaks: true, Text: "POST /buy: it is no longer served under every HTTP method: callers that use others get 405"},
		{Breaks: false, Text: "POST /stock: it is served under GET, too"},
	}
	if got := compare.Documents(anything, before); !slices.Equal(got, want) {
		t.Errorf("methods: %+v", got)
	}
	public, secured := document(t, Shop{}, names, list), document(t, Shop{}, names, list,
		bus.RequireClaims(`"hr" in roles`))
	for _, item := range secured.Paths {
		item.Post.Claims = "" // which callers do not see
	}
	want = []compare.Change{
		{Breaks: true, Text: "POST /buy: it now requires claims: callers without a token get 401"},
		{Breaks: true, Text: "POST /stock: it now requires claims: callers without a token get 401"},
	}
	if got := compare.Documents(public, secured); !slices.Equal(got, want) {
		t.Errorf("claims that no caller sees: %+v", got)
	}
	changes := compare.Documents(secured, public)
	assert.False(t, slices.ContainsFunc(changes, func(c compare.Change) bool { return c.Breaks }),
		"claims that nobody asks for any more")
	assert.Len(t, changes, 2, "claims that nobody asks for any more")
	two := document(t, Shop{}, names, list, bus.RequireCallers("orders.example", "web.example"))
	other := document(t, Shop{}, names, list, bus.RequireCallers("orders.example", "*.web.example"),
		bus.Method("Buy", bus.RequireCallers("orders.example", "web.example", "new.example")))
	assert.Equal(t, []compare.Change{
		{Text: "POST /buy: orders.example, web.example, new.example may call it"},
		{Breaks: true, Text: "POST /stock: web.example may no longer call it, and get 403"},
	}, compare.Documents(two, other))
	assert.Contains(t, compare.Documents(two, document(t, Shop{}, names, list)),
		compare.Change{Text: "POST /buy: every service may call it now"})
}

func document[T any](t *testing.T, impl T, options ...bus.ServeOption) *openapi.Document {
	t.Helper()
	data, err := bus.OpenAPIOf("shop.example", impl, options...)
	return parsed(t, data, err)
}

// parsed parses a document that was made without an error.
func parsed(t *testing.T, data []byte, err error) *openapi.Document {
	t.Helper()
	require.NoError(t, err)
	read, err := openapi.ParseWithExtensions(data)
	require.NoError(t, err)
	return read
}

// Below are paths with arguments, of a service that is served in several ways.
type Paths struct{}

func (Paths) ReadThing(id int) (httpResponseBody string)  { return }
func (Paths) Convert(from, to string) (result string)     { return }
func (Paths) Find(rest string) (found string)             { return }
func (Paths) Look(_ context.Context, x string) (y string) { return }

// TestArguments_InPaths holds that the name of an argument in a path is not part of the address.
func TestArguments_InPaths(t *testing.T) {
	t.Parallel()
	served := func(id, from, to, route, find string) *openapi.Document {
		return document(t, Paths{},
			bus.ParamNames("ReadThing", id, "httpResponseBody"), bus.ParamNames("Convert", from+", "+to, "result"),
			bus.ParamNames("Find", "rest", "found"), bus.ParamNames("Look", "x", "y"),
			bus.Method("Convert", bus.Path(route)), bus.Method("Find", bus.Path(find)))
	}
	const route, find = "/convert/{from}/{to}", "/find/{rest+}"
	before := served("id", "from", "to", route, find)
	for _, test := range []struct {
		name  string
		after *openapi.Document
		want  []compare.Change
	}{
		{"the same", before, nil},
		{"another name", served("key", "from", "to", route, find), []compare.Change{
			{Text: "GET /things/{id} is now GET /things/{key}: only a name has changed, which callers do not send"},
		}},
		{"two other names", served("id", "a", "b", "/convert/{a}/{b}", find), []compare.Change{
			{Text: "POST /convert/{from}/{to} is now POST /convert/{a}/{b}: only a name has changed, which callers do not send"},
		}},
		{"in another order", served("id", "from", "to", "/convert/{to}/{from}", find), []compare.Change{
			{Breaks: true, Text: "POST /convert/{from}/{to} is now POST /convert/{to}/{from}: what callers send for one " +
				"argument is read as another"},
		}},
		{"a single segment", served("id", "from", "to", route, "/find/{rest}"), []compare.Change{
			{Breaks: true,
				Text: "POST /find/{rest}: the argument rest is now a single segment of the path: callers that send several get 404"},
		}},
		{"moved", served("id", "from", "to", "/converted/{from}/{to}", find), []compare.Change{
			{Breaks: true,
				Text: "POST /convert/{from}/{to} has moved to POST /converted/{from}/{to}: callers of the old address get 404 or " +
					"405"},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := compare.Documents(before, test.after); !slices.Equal(got, test.want) {
				t.Errorf("%+v\nwant: %+v", got, test.want)
			}
		})
	}
}

// Below are events as they were, and ways that they went.
type (
	Parcel struct {
		Size   string   `json:"size" jsonschema:"enum=S,enum=M"`
		Weight float64  `json:"weight" jsonschema:"minimum=1,maximum=10"`
		Code   string   `json:"code,omitempty" jsonschema:"pattern=^a"`
		Items  []string `json:"items"`
		To     string   `json:"to" jsonschema:"required"`
		Note   string   `json:"note"`
	}
	WiderParcel struct {
		Size   string   `json:"size"`
		Weight float64  `json:"weight" jsonschema:"minimum=0,maximum=10"`
		Code   string   `json:"code,omitempty"`
		Items  []string `json:"items"`
		To     string   `json:"to"`
		Note   *string  `json:"note"`
	}
	Sent      struct{}
	WiderSent struct{}
	OtherSent struct{}
)

func (Sent) OnSent(_ context.Context, number int32, parcel Parcel) error { return nil }
func (Sent) OnLost(_ context.Context, number int32) error                { return nil }

func (WiderSent) OnSent(_ context.Context, number int64, parcel WiderParcel) error { return nil }
func (WiderSent) OnLost(_ context.Context, number int32, where string) error       { return nil }
func (WiderSent) OnFound(_ context.Context, number int32) error                    { return nil }

func (OtherSent) OnSent(_ context.Context, number string) error { return nil }

func TestEvents(t *testing.T) {
	t.Parallel()
	sent := func(options ...events.SubscribeOption) *openapi.Document {
		return eventsOf(t, Sent{}, append(options, bus.ParamNames("OnSent", "number, parcel", ""),
			bus.ParamNames("OnLost", "number", ""))...)
	}
	wider := func(options ...events.SubscribeOption) *openapi.Document {
		return eventsOf(t, WiderSent{}, append(options, bus.ParamNames("OnSent", "number, parcel", ""),
			bus.ParamNames("OnLost", "number, where", ""), bus.ParamNames("OnFound", "number", ""))...)
	}
	yes := func(texts ...string) (changes []compare.Change) {
		for _, text := range texts {
			changes = append(changes, compare.Change{Breaks: true, Text: text})
		}
		return changes
	}
	no := func(texts ...string) (changes []compare.Change) {
		for _, text := range texts {
			changes = append(changes, compare.Change{Breaks: false, Text: text})
		}
		return changes
	}
	widened := slices.Concat(
		no("OnLost: the argument where is new"),
		yes(
			"OnSent: the argument number is now integer (int64), was integer (int32): old subscribers refuse it",
			"OnSent: the argument parcel.code no longer requires text that matches ^a: old subscribers refuse anything else",
			"OnSent: the argument parcel.note may now be null: old subscribers read zero, or refuse it",
			"OnSent: the argument parcel.size no longer has to be given: old subscribers refuse events without it",
			`OnSent: the argument parcel.size may now be anything, was one of "S", "M": old subscribers refuse anything else`,
			"OnSent: the argument parcel.to no longer has to be given: old subscribers refuse events without it",
			"OnSent: the argument parcel.weight no longer has to be given: old subscribers refuse events without it",
			"OnSent: the argument parcel.weight no longer requires at least 1: old subscribers refuse anything else",
		),
		no("OnFound is new"),
	)
	for _, test := range []struct {
		name          string
		before, after *openapi.Document
		want          []compare.Change
	}{
		{"itself", sent(), sent(), nil},
		{"wider", sent(), wider(), widened},
		{"wider, stored", sent(events.Durable()), wider(events.Durable()), widened},
		{"narrower", wider(), sent(), slices.Concat(
			yes("OnFound is no longer fired: old subscribers get nothing",
				"OnLost: the argument where is gone: old subscribers find nothing"),
			no("OnSent: the argument number is now integer (int32), was integer (int64)"),
		)},
		{"narrower, stored", wider(events.Durable()), sent(events.Durable()), slices.Concat(
			yes("OnFound is no longer fired: old subscribers get nothing",
				"OnLost: the argument where is gone: old subscribers find nothing"),
			no("OnSent: the argument number is now integer (int32), was integer (int64)"),
			yes("OnSent: the argument number is now integer (int32), was integer (int64): new subscribers refuse stored "+
				"events with the old type",
				"OnSent: the argument parcel.code now requires text that matches ^a: new subscribers refuse stored events with "+
					"anything else",
				"OnSent: the argument parcel.note may no longer be null: new subscribers read zero in stored events with null, "+
					"or refuse them",
				`OnSent: the argument parcel.size now accepts only "S", "M": new subscribers refuse stored events with anything else`,
				"OnSent: the argument parcel.weight now requires at least 1: new subscribers refuse stored events with anything "+
					"else",
				"OnSent: the argument parcel.size is now required: new subscribers refuse stored events without it",
				"OnSent: the argument parcel.to is now required: new subscribers refuse stored events without it",
				"OnSent: the argument parcel.weight is now required: new subscribers refuse stored events without it",
			),
		)},
		{"other", sent(), eventsOf(t, OtherSent{}, bus.ParamNames("OnSent", "number", "")), yes(
			"OnLost is no longer fired: old subscribers get nothing",
			"OnSent: the argument number is now string, was integer (int32): old subscribers refuse it",
			"OnSent: the argument parcel is gone: old subscribers refuse events without it",
		)},
		{"stored", sent(), sent(events.Durable()), no("OnLost is now stored", "OnSent is now stored")},
		{"no longer stored", sent(events.Durable()), sent(),
			yes("OnLost is no longer stored: subscribers that want what is stored get nothing",
				"OnSent is no longer stored: subscribers that want what is stored get nothing")},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := compare.Events(test.before, test.after); !slices.Equal(got, test.want) {
				t.Errorf("%s:\n%s\nwant:\n%s", test.name, lines(got), lines(test.want))
			}
		})
	}
}

// Filter is an argument that a query has as JSON.
type Filter struct {
	Least *int     `json:"least"`
	Tags  []string `json:"tags"`
}

// Orders is served under one method, and under more.
type Orders struct{}

func (Orders) Find(customer, sortBy string, limit int, since time.Duration, tags []string, filter Filter,
	part *Filter) (found []string) {
	return
}

// TestWidened compares an operation with itself under more methods, one of which it is then listed under.
func TestWidened(t *testing.T) {
	t.Parallel()
	served := func(names string, options ...bus.ServeOption) *openapi.Document {
		return document(t, Orders{}, append([]bus.ServeOption{bus.ParamNames("Find", names, "found"),
			bus.Method("Find", bus.Path("/customers/{customer}/orders"))}, options...)...)
	}
	const names = "customer, sortBy, limit, since, tags, filter, part"
	get, anyMethod := bus.Method("Find", bus.HTTPMethod("GET")), bus.Method("Find", bus.HTTPMethod("*"))
	before := served(names, get)
	for _, test := range []struct {
		name          string
		before, after *openapi.Document
		want          []compare.Change
	}{
		{"any method", before, served(names, anyMethod), []compare.Change{
			{Text: "GET /customers/{customer}/orders: it is served under every HTTP method"},
		}},
		{"GET and POST", before, served(names), []compare.Change{
			{Text: "GET /customers/{customer}/orders: it is served under POST, too"},
		}},
		{"DELETE to any", served(names, bus.Method("Find", bus.HTTPMethod("DELETE"))), served(names, anyMethod),
			[]compare.Change{
				{Text: "DELETE /customers/{customer}/orders: it is served under every HTTP method"},
			}},
		{"PUT to any, with a body", served(names, bus.Method("Find", bus.HTTPMethod("PUT"))), served(names, anyMethod),
			[]compare.Change{
				{Text: "PUT /customers/{customer}/orders: it is served under every HTTP method"},
			}},
		{"an argument of another name, too", before, served("customer, sort, limit, since, tags, filter, part", anyMethod),
			[]compare.Change{
				{Text: "GET /customers/{customer}/orders: it is served under every HTTP method"},
				{Breaks: true, Text: "GET /customers/{customer}/orders: the argument sortBy is no longer read from the query: " +
					"what callers send there is ignored"},
				{Text: "GET /customers/{customer}/orders: the argument sort is new"},
			}},
		{"POST alone", before, served(names, bus.PostOnly()), []compare.Change{
			{Breaks: true, Text: "GET /customers/{customer}/orders has moved to POST /customers/{customer}/orders: " +
				"callers of the old address get 404 or 405"},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := compare.Documents(test.before, test.after)
			if test.name == "POST alone" {
				got = got[:1] // its arguments are in the body now
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%s:\n%s\nwant:\n%s", test.name, lines(got), lines(test.want))
			}
		})
	}
}

func lines(changes []compare.Change) string {
	var text strings.Builder
	for _, change := range changes {
		fmt.Fprintf(&text, "%v %s\n", change.Breaks, change.Text)
	}
	return text.String()
}

func eventsOf[T any](t *testing.T, impl T, options ...events.SubscribeOption) *openapi.Document {
	t.Helper()
	data, err := events.OpenAPIOf("source.example", impl, options...)
	return parsed(t, data, err)
}

// TestHosts compares documents of several services, such as those of a portal, where the host is a part of each
// address.
func TestHosts(t *testing.T) {
	t.Parallel()
	serving := func(hosts ...string) *openapi.Document {
		var members []openapi.Member
		for _, host := range hosts {
			data, err := bus.OpenAPIOf(host, Paths{}, bus.ExcludeMethods("Convert", "Find", "Look"),
				bus.ParamNames("ReadThing", "id", "httpResponseBody"))
			if err != nil {
				t.Fatal(err)
			}
			parsed, err := openapi.Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			members = append(members, openapi.Member{Host: host, Port: 443, Document: parsed})
		}
		return openapi.Merge(openapi.Info{Title: "portal"}, "http://127.0.0.1:8080", members)
	}
	one, both := serving("a.example"), serving("a.example", "b.example")
	for _, test := range []struct {
		name          string
		before, after *openapi.Document
		want          []compare.Change
	}{
		{"the same", both, serving("a.example", "b.example"), nil},
		{"a host less", both, one, []compare.Change{
			{Breaks: true,
				Text: "GET b.example/things/{id} (b.example_443_ReadThing) is gone: unless it is only hidden, " +
					"callers get 404 or 405"},
		}},
		{"a host more", one, both, []compare.Change{{Text: "GET b.example/things/{id} (b.example_443_ReadThing) is new"}}},
		{"another host", one, serving("b.example"), nil},
		{"another of two", both, serving("a.example", "c.example"), []compare.Change{
			{Breaks: true,
				Text: "GET b.example/things/{id} (b.example_443_ReadThing) is gone: unless it is only hidden, " +
					"callers get 404 or 405"},
			{Text: "GET c.example/things/{id} (c.example_443_ReadThing) is new"},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := compare.Documents(test.before, test.after); !slices.Equal(got, test.want) {
				t.Errorf("%s:\n%s\nwant:\n%s", test.name, lines(got), lines(test.want))
			}
		})
	}
}

// First and Second are two versions of one method.
type (
	First  struct{}
	Second struct{}
)

func (First) Add(x, y int) (sum int)  { return }
func (Second) Add(xs []int) (sum int) { return }

// TestVersions ends an old version beside which a new one is served already: it has not moved there.
func TestVersions(t *testing.T) {
	t.Parallel()
	first, second := bus.ParamNames("Add", "x, y", "sum"), bus.ParamNames("Add", "xs", "sum")
	newer := bus.Method("Add", bus.Path("/v2/add"))
	conn := bustest.New(t).Connect("shop.example")
	require.NoError(t, errors.Join(bus.Serve(conn, First{}, first), bus.Serve(conn, Second{}, second, newer)))
	data, err := conn.OpenAPI()
	both := parsed(t, data, err)
	alone := document(t, Second{}, second, newer)
	want := []compare.Change{{Breaks: true,
		Text: "POST /add (Add) is gone: unless it is only hidden, callers get 404 or 405"}}
	if got := compare.Documents(both, alone); !slices.Equal(got, want) {
		t.Errorf("the first ends:\n%s\nwant:\n%s", lines(got), lines(want))
	}
	want = []compare.Change{{Text: "POST /v2/add (Add2) is new"}}
	if got := compare.Documents(document(t, First{}, first), both); !slices.Equal(got, want) {
		t.Errorf("the second begins:\n%s\nwant:\n%s", lines(got), lines(want))
	}
}

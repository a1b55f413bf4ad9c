package portal_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/examples/orders/ordersapi"
	"github.com/busline/busline/portal"
	"github.com/busline/busline/portal/internal/portaltest"
	"github.com/busline/busline/reflectapi"
)

// post makes a POST request of JSON to the portal.
func (d *testIngress) post(path, body string, headers ...string) portaltest.Answer {
	d.T.Helper()
	head := append([]string{"Host: door.example", "Connection: close", isJSON,
		fmt.Sprintf("Content-Length: %d", len(body))}, headers...)
	return d.Send("POST /portal"+path+" HTTP/1.1\r\n"+strings.Join(head, "\r\n")+"\r\n\r\n"+body, http.MethodPost)
}

type deadLetters struct {
	DeadLetters []struct {
		Sequence                                               uint64
		Publisher, Service, Event, At, Reason, MsgID, ID, Body string
		Attempts                                               int
	}
	More bool
}

func (d *testIngress) deadLetters(query string) (got deadLetters) {
	d.T.Helper()
	return d.deadLettersOf("publisher=orders.example" + query)
}

func (d *testIngress) deadLettersOf(query string) (got deadLetters) {
	d.T.Helper()
	answer := d.Get("/portal/deadletters.json?" + query)
	require.Equal(d.T, http.StatusOK, answer.StatusCode, answer.Text)
	answer.Decode(d.T, &got)
	return got
}

// awaitDeadLetters waits until there are so many.
func (d *testIngress) awaitDeadLetters(count int) (got deadLetters) {
	d.T.Helper()
	for got = d.deadLetters("&after=0"); len(got.DeadLetters) != count; got = d.deadLetters("&after=0") {
		require.NoError(d.T, d.T.Context().Err())
	}
	return got
}

const anyDeadLetter = `{"publisher":"orders.example","service":"stock.example","event":"on-ordered",`

// TestOperators holds who may operate events, by the option and by the environment.
func TestOperators(t *testing.T) {
	const noCaller = "the portal lets no caller operate events: start it with portal.WithOperators, " +
		"or set BUS_OPERATORS"
	i := portaltest.NewIssuer(t)
	keepers := []portal.RegisterOption{portal.WithOperators(`"keeper" in roles`)}
	for _, test := range []struct {
		name, environment string
		options           []portal.RegisterOption
		header            string
		status            int
		detail            string
	}{
		{"default", "", nil, i.In("keeper"), 403, noCaller},
		{"everyone", "", []portal.RegisterOption{portal.WithOperators("")}, "X: y", 0, ""},
		{"everyone by the environment", "*", nil, "X: y", 0, ""},
		{"rule, anonymous", "", keepers, "X: y", 401, "send a token that satisfies portal.WithOperators"},
		{"rule, others", "", keepers, i.In("cook"), 403, "the claims of the token do not satisfy portal.WithOperators"},
		{"rule, operator", "", keepers, i.In("keeper"), 0, ""},
		{"rule by the environment", `"keeper" in roles`, nil, i.In("keeper"), 0, ""},
		{"the option wins", "*", keepers, i.In("cook"), 403, "do not satisfy"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("BUS_OPERATORS", test.environment)
			entrance := openFor(t, i)
			require.NoError(t, portal.Register(entrance.Bus.Connect("portal", i.Trust()),
				append(longTimeouts(), test.options...)...))
			assert.Equal(t, test.status == 0, entrance.eventFigures(test.header).Operator)
			for name, got := range map[string]portaltest.Answer{
				"deadletters.json": entrance.Get("/portal/deadletters.json?publisher=orders.example", test.header),
				"deadletters":      entrance.post("/deadletters", anyDeadLetter+`"all":true,"action":"delete"}`, test.header),
				"messages.json":    entrance.Get("/portal/messages.json?publisher=orders.example&event=on-ordered", test.header),
				"replay":           entrance.post("/replay", anyDeadLetter+`"sequence":1}`, test.header),
				"publish":          entrance.post("/publish", `{"publisher":"orders.example","event":"on-ordered"}`, test.header),
			} {
				if test.status == 0 {
					assert.Equal(t, http.StatusServiceUnavailable, got.Problem(t).Status, "%s gets as far as the broker: %s",
						name, got.Text)
					continue
				}
				failed := got.Problem(t)
				assert.Equal(t, test.status, failed.Status, name)
				assert.Contains(t, failed.Detail, test.detail, name)
			}
			failed := entrance.post("/publish", `{}`, test.header, "Sec-Fetch-Site: cross-site").Problem(t)
			assert.Contains(t, failed.Detail, "pages of another site may not call")
		})
	}
	err := portal.Register(openFor(t, i).Bus.Connect("portal"), portal.WithOperators("roles ="))
	assert.ErrorContains(t, err, "portal.WithOperators or BUS_OPERATORS: ")
}

func TestDeadLetters(t *testing.T) {
	t.Parallel()
	e := newStoredEvents(t, portal.WithOperators(""))
	for number := range 5 {
		e.order(number, 1000)
	}
	got := e.awaitDeadLetters(5)
	assert.False(t, got.More)
	first := got.DeadLetters[0]
	assert.Equal(t, "stock.example", first.Service)
	assert.Equal(t, "on-ordered", first.Event)
	assert.Equal(t, 1, first.Attempts)
	assert.Contains(t, first.Reason, "422 Unprocessable Entity: too many")
	assert.Contains(t, first.Body, `"quantity":1000`)
	assert.NotEmpty(t, first.At)
	assert.NotEmpty(t, first.MsgID)
	assert.Equal(t, first.MsgID, first.ID)
	after := fmt.Sprint("&after=", got.DeadLetters[2].Sequence)
	assert.Equal(t, got.DeadLetters[3:], e.deadLetters(after).DeadLetters)
	assert.Equal(t, got.DeadLetters[3:], e.deadLetters(after+"&service=stock.example&event=on-ordered").DeadLetters)
	assert.Empty(t, e.deadLetters("&service=mailer.example").DeadLetters)
	assert.Empty(t, e.deadLetters("&event=on-paid").DeadLetters)

	e.stock.accept()
	some := fmt.Sprintf(`"sequences":[%d,%d,0,99999],`, got.DeadLetters[0].Sequence, got.DeadLetters[1].Sequence)
	answer := e.post("/deadletters", anyDeadLetter+some+`"action":"redeliver"}`)
	assert.JSONEq(t, `{"done":2,"failed":[{"sequence":0,"error":"0 is no dead letter of stock.example any more"},
		{"sequence":99999,"error":"99999 is no dead letter of stock.example any more"}],"more":false}`, answer.Text)
	<-e.stock.handled
	<-e.stock.handled
	one := fmt.Sprintf(`"sequences":[%d],`, got.DeadLetters[2].Sequence)
	assert.JSONEq(t, `{"done":1,"failed":[],"more":false}`,
		e.post("/deadletters", anyDeadLetter+one+`"action":"delete"}`).Text)
	assert.Equal(t, got.DeadLetters[3:], e.deadLetters("&after=0").DeadLetters)
	assert.JSONEq(t, `{"done":2,"failed":[],"more":false}`,
		e.post("/deadletters", anyDeadLetter+`"all":true,"action":"delete"}`).Text)
	assert.Empty(t, e.deadLetters("").DeadLetters)
}

// TestDeadLetters_Pages lists a hundred at a time.
func TestDeadLetters_Pages(t *testing.T) {
	t.Parallel()
	e := newStoredEvents(t, portal.WithOperators(""))
	const count = 103
	for number := range count {
		e.order(number, 1000)
	}
	e.awaitFigures(func(got eventFigures) bool { return got.Publishers[0].Subscriptions[0].DeadLetters == count })
	for _, order := range []struct{ first, next string }{{"&after=0", "&after="}, {"", "&below="}} {
		first := e.deadLetters(order.first)
		require.Len(t, first.DeadLetters, 100)
		assert.True(t, first.More)
		assert.Equal(t, order.first == "", first.DeadLetters[0].Sequence > first.DeadLetters[99].Sequence)
		rest := e.deadLetters(fmt.Sprint(order.next, first.DeadLetters[99].Sequence))
		assert.Len(t, rest.DeadLetters, 3)
		assert.False(t, rest.More)
	}
}

// parcelRefuser refuses all parcels.
type parcelRefuser struct{}

func (parcelRefuser) OnSent(context.Context, parcel) error {
	return bus.Errorf(http.StatusUnprocessableEntity, "no parcels")
}

// TestDeadLetters_OfAll lists those of two publishers, the newest first.
func TestDeadLetters_OfAll(t *testing.T) {
	t.Parallel()
	e := newStoredEvents(t, portal.WithOperators(""))
	assert.Empty(t, e.deadLettersOf("").DeadLetters)
	publisher, err := events.NewPublisher(e.Bus.Connect("parcels.example"), "parcels.example", events.Of[parcelEvents](),
		events.Durable())
	require.NoError(t, err)
	sent := events.NewEvent[bus.Args](publisher, "/on-sent")
	require.NoError(t, events.Subscribe[parcelEvents](e.Bus.Connect("shelf.example", bus.WithLogger(zerolog.Nop())),
		"parcels.example", parcelRefuser{}, events.Durable()))
	const half = 60
	for count := 1; count <= half; count++ { // in turns
		e.order(count, 1000)
		require.NoError(t, sent.Publish(t.Context(), bus.Args{"parcel": parcel{"Ada"}}))
		for _, service := range []string{"stock.example", "shelf.example"} {
			for len(e.deadLettersOf("service="+service).DeadLetters) < count {
				require.NoError(t, t.Context().Err())
			}
		}
	}
	got := e.deadLettersOf("")
	require.Len(t, got.DeadLetters, 100)
	assert.True(t, got.More)
	publishers := make(map[string]int)
	for at, each := range got.DeadLetters {
		publishers[each.Publisher]++
		if at > 0 {
			after, err := time.Parse(time.RFC3339Nano, got.DeadLetters[at-1].At)
			require.NoError(t, err)
			before, err := time.Parse(time.RFC3339Nano, each.At)
			require.NoError(t, err)
			assert.False(t, after.Before(before), "the newest first")
		}
	}
	assert.Equal(t, map[string]int{"orders.example": 50, "parcels.example": 50}, publishers)
	for query, service := range map[string]string{"service=shelf.example": "shelf.example", "event=on-sent": "shelf.example",
		"service=stock.example&event=on-ordered": "stock.example"} {
		got := e.deadLettersOf(query)
		assert.Len(t, got.DeadLetters, half, query)
		assert.False(t, got.More, query)
		assert.Equal(t, service, got.DeadLetters[0].Service, query)
	}
	assert.Empty(t, e.deadLettersOf("service=shelf.example&event=on-ordered").DeadLetters)
}

func TestDeadLetters_Refuses(t *testing.T) {
	t.Parallel()
	e := newStoredEvents(t, portal.WithOperators(""))
	for _, test := range []struct{ name, body, detail string }{
		{"nothing", `{}`, "name the publisher, the service and the event"},
		{"neither", anyDeadLetter + `"action":"delete"}`, "give either sequences or all"},
		{"both", anyDeadLetter + `"all":true,"sequences":[1],"action":"delete"}`, "give either sequences or all"},
		{"no action", anyDeadLetter + `"all":true}`, `the action is "": give redeliver or delete`},
		{"too many", anyDeadLetter + `"sequences":[1` + strings.Repeat(",1", 1000) + `],"action":"delete"}`,
			"1001 sequences exceed the limit of 1000"},
		{"unknown member", anyDeadLetter + `"every":true}`, "unknown field"},
		{"publisher", `{"publisher":"no host","service":"a.example","event":"e","all":true,"action":"delete"}`,
			`the publisher: host "no host"`},
		{"service", `{"publisher":"orders.example","service":"*","event":"e","all":true,"action":"delete"}`,
			`the service: host "*"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			failed := e.post("/deadletters", test.body).Problem(t)
			assert.Equal(t, http.StatusBadRequest, failed.Status)
			assert.Contains(t, failed.Detail, test.detail)
		})
	}
	failed := e.Get("/portal/deadletters.json?publisher=orders.example&after=x").Problem(t)
	assert.Equal(t, http.StatusBadRequest, failed.Status)
	assert.Contains(t, failed.Detail, `after is "x"`)
	failed = e.Get("/portal/deadletters.json?below=5").Problem(t)
	assert.Equal(t, http.StatusBadRequest, failed.Status)
	assert.Contains(t, failed.Detail, "and its publisher")
}

// TestDeadLetters_Permissions has the broker allow the portal what docs/guides/portal.md says, and else say what is
// denied.
func TestDeadLetters_Permissions(t *testing.T) {
	t.Parallel()
	const figures = `"*.888.>", "*.r.>", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.INFO.*", "$JS.API.CONSUMER.LIST.*", "$JS.API.STREAM.MSG.GET.*"`
	for _, test := range []struct {
		name, allow       string
		redeliver, remove string // the answers
	}{
		{"enough", figures + `, "$JS.API.STREAM.MSG.DELETE.*", "$JS.API.CONSUMER.INFO.>", "*.a.>"`,
			`{"done":1,"failed":[],"more":false}`, `{"done":1,"failed":[],"more":false}`},
		{"figures only", figures, "does not let this connection publish to $JS.API.CONSUMER.INFO.",
			"does not let this connection publish to $JS.API.STREAM.MSG.DELETE."},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			entrance := openRestricted(t, `publish: {allow: [`+test.allow+
				`]}, subscribe: {allow: ["*.*.portal.>", "*.888.>", "*.r.>", "_INBOX.>"]}`, portal.WithOperators(""))
			publisher, err := ordersapi.NewPublisher(entrance.Bus.Connect(ordersapi.Host), events.Durable())
			require.NoError(t, err)
			stock := &orderRefuser{handled: make(chan int, 10)}
			require.NoError(t, events.Subscribe[ordersapi.Events](entrance.Bus.Connect("stock.example",
				bus.WithLogger(zerolog.Nop())), ordersapi.Host, stock, events.Durable()))
			require.NoError(t, publisher.OnOrdered(t.Context(), 1, "Tea", 1000))
			require.NoError(t, publisher.OnOrdered(t.Context(), 2, "Tea", 1000))
			dead := entrance.awaitDeadLetters(2).DeadLetters
			stock.accept()
			for at, want := range []string{test.redeliver, test.remove} {
				action := []string{"redeliver", "delete"}[at]
				got := entrance.post("/deadletters", anyDeadLetter+fmt.Sprintf(`"sequences":[%d],"action":%q}`,
					dead[at].Sequence, action))
				assert.Contains(t, got.Text, want, action)
			}
		})
	}
}

// parcelEvents are events whose arguments have a constraint.
type parcelEvents interface {
	OnSent(ctx context.Context, parcel parcel) error
}

var _ = reflectapi.Register[parcelEvents](`
type parcelEvents interface {
	OnSent(ctx context.Context, parcel parcel) error
}
`)

type parcel struct {
	To string `json:"to" jsonschema:"minLength=1"`
}

// TestPublish_ByOperator makes a publisher publish, on behalf of the caller.
func TestPublish_ByOperator(t *testing.T) {
	t.Parallel()
	e := newStoredEvents(t, portal.WithOperators(""))
	secret, err := events.NewPublisher(e.Bus.Connect("vault.example", e.issuer.Trust()), "vault.example",
		bus.RequireClaims(`"keeper" in roles`))
	require.NoError(t, err)
	events.NewEvent[bus.Args](secret, "/on-closed")
	_, err = events.NewPublisher(e.Bus.Connect("parcels.example"), "parcels.example", events.Of[parcelEvents]())
	require.NoError(t, err)
	odd := e.Bus.Connect("odd.example", bus.WithLogger(zerolog.Nop()))
	require.NoError(t, odd.Handle("GET", "/x", http.NotFoundHandler()))

	got := e.post("/publish",
		`{"publisher":"orders.example","event":"on-ordered","arguments":{"number":7,"item":"Tea","quantity":2}}`)
	require.Equal(t, http.StatusAccepted, got.StatusCode, got.Text)
	var accepted struct{ MsgID string }
	got.Decode(t, &accepted)
	assert.NotEmpty(t, accepted.MsgID)
	assert.Equal(t, 7, <-e.stock.handled)

	for _, test := range []struct {
		name, body, header string
		status             int
		text               string
	}{
		{"violation", `{"publisher":"parcels.example","event":"on-sent","arguments":{"parcel":{"to":""}}}`, "X: y", 422,
			`"errors":[{"name":"parcel.to"`},
		{"of another type", `{"publisher":"orders.example","event":"on-ordered","arguments":{"number":"seven"}}`, "X: y", 400,
			`"name":"number"`},
		{"no such event", `{"publisher":"orders.example","event":"on-ordred"}`, "X: y", 404,
			"orders.example publishes no event on-ordred; it has on-ordered; did you mean on-ordered?"},
		{"no events", `{"publisher":"odd.example","event":"on-ordered"}`, "X: y", 404,
			"odd.example serves nothing at /publish/on-ordered"},
		{"no publisher", `{"publisher":"nobody.example","event":"on-ordered"}`, "X: y", 503,
			"no instance serves nobody.example"},
		{"too large", `{"publisher":"orders.example","event":"on-ordered","arguments":{"number":1,"quantity":1,"item":"` +
			strings.Repeat("x", 1<<20) + `"}}`, "X: y", 413, "orders.example"},
		{"larger than the portal takes", `{"publisher":"` + strings.Repeat("x", 3<<20) + `"}`, "X: y", 413, ""},
		{"a token is required", `{"publisher":"vault.example","event":"on-closed"}`, "X: y", 401, "token"},
		{"other claims", `{"publisher":"vault.example","event":"on-closed"}`, e.issuer.In("cook"), 403, "claims"},
		{"arguments are not known", `{"publisher":"vault.example","event":"on-closed"}`, e.issuer.In("keeper"), 409,
			"add events.Of"},
		{"no host", `{"publisher":"*","event":"on-closed"}`, "X: y", 400, "the publisher: "},
		{"all", `{"publisher":"all","event":"on-closed"}`, "X: y", 400, "name one publisher"},
		{"no event", `{"publisher":"orders.example","event":""}`, "X: y", 400, "name one publisher, and its event"},
		{"path", `{"publisher":"orders.example","event":"../ping"}`, "X: y", 404, "publishes no event ../ping"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := e.post("/publish", test.body, test.header)
			failed := got.Problem(t)
			assert.Equal(t, test.status, failed.Status, got.Text)
			assert.Contains(t, got.Text, test.text)
		})
	}
	assert.Empty(t, e.stock.handled)
	assert.Equal(t, ordersapi.Host, e.eventFigures().Publishers[0].Host)
}

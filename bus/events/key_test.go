package events_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/reflectapi"
)

// keyID marshals as text, by a method of its pointer.
type keyID [2]byte

func (i *keyID) MarshalText() ([]byte, error) { return []byte("id-" + string(i[:])), nil }

type keyState string

type keyParts struct {
	Region *keyState `json:"region"`
}

type keyedArguments struct {
	Number int       `json:"number,omitzero"`
	Small  uint8     `json:"small"`
	Text   string    `json:"text"`
	ID     keyID     `json:"id"`
	Other  *keyID    `json:"other"`
	At     time.Time `json:"at"`
	Price  float64   `json:"price"`
	Any    any       `json:"any"`
	*keyParts
}

// keyCase is one event with a key, and its text or error.
type keyCase struct{ name, want, failure string }

func checkKey[Arguments any](t *testing.T, conn *bus.Conn, key string, arguments Arguments, test keyCase) {
	t.Helper()
	t.Run(test.name, func(t *testing.T) {
		t.Parallel()
		publisher, err := events.NewPublisher(conn, kit.OrdersHost)
		require.NoError(t, err)
		event := events.NewEvent[Arguments](publisher, "/on-ordered").KeyedBy(key)
		text, err := events.KeyOf(event, arguments)
		if test.failure == "" {
			require.NoError(t, err)
			assert.Equal(t, test.want, text)
			return
		}
		const address = "event https://orders.example:417/on-ordered: "
		kit.CheckError(t, err, http.StatusBadRequest, bus.ExecutedNo)
		assert.Equal(t, address+test.failure, kit.AsBusError(t, err).Detail)
		published := event.Publish(t.Context(), arguments)
		kit.CheckError(t, published, http.StatusBadRequest, bus.ExecutedNo)
		assert.Equal(t, address+test.failure, kit.AsBusError(t, published).Detail)
	})
}

func TestEventKey_Text(t *testing.T) {
	t.Parallel()
	conn := kit.NewBus(t).Connect(kit.OrdersHost)
	region, id := keyState("north"), keyID{'a', 'b'}
	full := keyedArguments{
		Number: -7, Small: 255, Text: "a b", ID: id, Other: &id, At: time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC), Any: 5,
		keyParts: &keyParts{&region},
	}
	for _, test := range []struct{ key, want string }{
		{"number", "-7"}, {"small", "255"}, {"text", "a b"}, {"id", "id-ab"}, {"other", "id-ab"},
		{"at", "2026-05-06T07:08:09Z"}, {"region", "north"},
	} {
		checkKey(t, conn, test.key, full, keyCase{name: "struct " + test.key, want: test.want})
		checkKey(t, conn, test.key, &full, keyCase{name: "pointer " + test.key, want: test.want})
		checkKey(t, conn, test.key, any(full), keyCase{name: "any " + test.key, want: test.want})
		checkKey(t, conn, test.key, bus.Args{
			"number": -7, "small": uint8(255), "text": "a b", "id": id, "other": &id, "at": full.At, "region": &region,
		}, keyCase{name: "args " + test.key, want: test.want})
	}
	checkKey(t, conn, "number", keyedArguments{}, keyCase{name: "zero is a number", want: "0"})
}

func TestEventKey_Missing(t *testing.T) {
	t.Parallel()
	conn := kit.NewBus(t).Connect(kit.OrdersHost)
	missing := func(key string) string { return "its key " + key + " is missing or empty: set it" }
	const kinds = "use a text, an integer or a type that marshals as text"
	checkKey(t, conn, "text", keyedArguments{}, keyCase{name: "empty", failure: missing("text")})
	checkKey(t, conn, "other", keyedArguments{}, keyCase{name: "nil", failure: missing("other")})
	checkKey(t, conn, "region", keyedArguments{}, keyCase{name: "in nil", failure: missing("region")})
	checkKey(t, conn, "text", (*keyedArguments)(nil), keyCase{name: "no struct", failure: missing("text")})
	checkKey(t, conn, "text", bus.Args{"texts": "a"}, keyCase{name: "absent", failure: missing("text")})
	checkKey(t, conn, "text", bus.Args(nil), keyCase{name: "no args", failure: missing("text")})
	checkKey(t, conn, "text", bus.Args{"text": nil}, keyCase{name: "null", failure: missing("text")})
	checkKey(t, conn, "text", any(nil), keyCase{name: "nothing", failure: missing("text")})
	checkKey(t, conn, "price", bus.Args{"price": 1.5},
		keyCase{name: "number with a fraction", failure: "the key price cannot order it: it is of type float64: " + kinds})
	checkKey(t, conn, "price", keyedArguments{},
		keyCase{name: "field with a fraction", failure: "the key price cannot order it: it is of type float64: " + kinds})
	checkKey(t, conn, "any", keyedArguments{Any: 5},
		keyCase{name: "any field", failure: "the key any cannot order it: it is of type interface {}: " + kinds})
	checkKey(t, conn, "numbr", kit.Ordered{}, keyCase{
		name: "misspelt",
		failure: "the key numbr cannot order it: kit.Ordered has no field with that json tag; it has number; " +
			"did you mean number?",
	})
	checkKey(t, conn, "text", []string{"a"}, keyCase{
		name: "a list",
		failure: "the key text cannot order it: arguments of type []string have no names: use bus.Args, " +
			"or a struct with json tags",
	})
}

// TestEventKey_Published holds that nothing is sent without a key, neither to plain subscribers nor to a stream, and
// all with one.
func TestEventKey_Published(t *testing.T) {
	t.Parallel()
	b := kit.NewBus(t, broker.JetStream(t.TempDir()))
	source := b.Connect(kit.OrdersHost)
	plain, stored := kit.Subscribe(t, b.Connect("mailer.example"), kit.NewSink()), kit.Subscribe(t,
		b.Connect("stock.example"), kit.NewSink(), events.Durable())
	publisher, err := events.NewPublisher(source, kit.OrdersHost, events.Durable())
	require.NoError(t, err)
	ordered := events.NewEvent[bus.Args](publisher, "/on-ordered").KeyedBy("number")
	before := source.Stats().Calls
	for _, err := range ordered.Outcomes(t.Context(), bus.Args{"numbr": 1}) {
		kit.CheckError(t, err, http.StatusBadRequest, bus.ExecutedNo)
	}
	kit.CheckError(t, ordered.Publish(t.Context(), bus.Args{"numbr": 1}), http.StatusBadRequest, bus.ExecutedNo)
	assert.Equal(t, before, source.Stats().Calls)
	require.NoError(t, ordered.Publish(t.Context(), bus.Args{"number": 2}))
	kit.AwaitOrders(t, plain, 1)
	kit.AwaitOrders(t, stored, 1)
	assert.Equal(t, []int{2}, kit.OrdersOf(plain))
	assert.Equal(t, []int{2}, kit.OrdersOf(stored))

	var listed struct {
		Publishes []struct{ Event, Key string }
	}
	require.NoError(t, b.Connect("caller.example").Call(t.Context(), "GET https://orders.example:888/events",
		nil, &listed))
	assert.Equal(t, []struct{ Event, Key string }{{"on-ordered", "number"}}, listed.Publishes)
}

// keyedCalls declares a call like an event, in its signature table.
type keyedCalls interface{ Order(number int) error }

var _ = reflectapi.Register[keyedCalls](`
type keyedCalls interface {
	//busline:key number
	Order(number int) error
}
`)

type keyedOrders struct{}

func (keyedOrders) Order(int) error { return nil }

// keyedEvents has a key that is no argument.
type keyedEvents interface {
	OnMarked(ctx context.Context, number int) error
}

var _ = reflectapi.Register[keyedEvents](`
type keyedEvents interface {
	//busline:key numbr
	OnMarked(ctx context.Context, number int) error
}
`)

type marked struct{}

func (marked) OnMarked(context.Context, int) error { return nil }

func TestEventKey_Declared(t *testing.T) {
	t.Parallel()
	conn := kit.NewBus(t).Connect(kit.OrdersHost)
	err := bus.Serve[keyedCalls](conn, keyedOrders{})
	assert.ErrorContains(t, err,
		"keyedCalls.Order: its interface has //busline:key number, which is for events: calls and web methods have only ")
	err = events.Subscribe[keyedEvents](conn, kit.OrdersHost, marked{})
	assert.ErrorContains(t, err,
		"method OnMarked: //busline:key numbr: the method has no argument of that name; it has number; did you mean number?")
}

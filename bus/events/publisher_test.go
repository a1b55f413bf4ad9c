package events_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/reflectapi"
)

const parcelsHost = "parcels.example"

// parcelEvents are events with all that an interface declares of them.
type parcelEvents interface {
	OnSent(ctx context.Context, number int, carrier string, stops []parcelStop) error
	OnLost(ctx context.Context, number int, note *string) error
}

// parcelStop is where a parcel comes by.
type parcelStop struct {
	City string `json:"city" jsonschema:"minLength=1"`
}

var _ = reflectapi.Register[parcelEvents](`
// parcelEvents are what happens to parcels.
type parcelEvents interface {
	// OnSent tells that a parcel is on its way.
	//
	//busline:key number
	//busline:arg number minimum=1 exclusiveMaximum=1000 example=7 number of the parcel
	//busline:arg carrier enum=ship,train example=ship
	//busline:arg stops maxItems=3 on its way
	OnSent(ctx context.Context, number int, carrier string, stops []parcelStop) error
	// OnLost tells that a parcel is lost.
	//
	// Deprecated: no parcel is lost any more.
	OnLost(ctx context.Context, number int, note *string) error
}
`)

// parcelSink handles parcels.
type parcelSink struct{ sent chan int }

func (s parcelSink) OnSent(_ context.Context, number int, _ string, _ []parcelStop) error {
	s.sent <- number
	return nil
}

func (parcelSink) OnLost(context.Context, int, *string) error { return nil }

func newParcels(t *testing.T, conn *bus.Conn, options ...events.PublishOption) *events.Publisher {
	t.Helper()
	publisher, err := events.NewPublisher(conn, parcelsHost,
		append([]events.PublishOption{events.Of[parcelEvents]()}, options...)...)
	require.NoError(t, err)
	return publisher
}

// TestEventsOf_Keys orders an event as its interface declares, and lists all events of the interface.
func TestEventsOf_Keys(t *testing.T) {
	t.Parallel()
	b := kit.NewBus(t, broker.JetStream(t.TempDir()))
	source := b.Connect(parcelsHost)
	published := newParcels(t, source, events.Durable())
	sent, lost := events.NewEvent[bus.Args](published, "/on-sent"), events.NewEvent[bus.Args](published, "/on-lost")
	key, err := events.KeyOf(sent, bus.Args{"number": 7})
	require.NoError(t, err)
	assert.Equal(t, "7", key)
	_, err = events.KeyOf(sent, bus.Args{})
	kit.CheckError(t, err, http.StatusBadRequest, bus.ExecutedNo)
	key, err = events.KeyOf(lost, bus.Args{"number": 7})
	require.NoError(t, err)
	assert.Empty(t, key)
	var listed struct {
		Publishes []struct {
			Event, Key string
			Durable    bool
		}
	}
	require.NoError(t, b.Connect("caller.example").Call(t.Context(), "GET https://parcels.example:888/events",
		nil, &listed))
	assert.Equal(t, []struct {
		Event, Key string
		Durable    bool
	}{{"on-lost", "", true}, {"on-sent", "number", true}}, listed.Publishes)
}

type parcelCalls interface{ Send(number int) error }

var _ = reflectapi.Register[parcelCalls]("type parcelCalls interface { Send(number int) error }")

func TestEventsOf_Refuses(t *testing.T) {
	t.Parallel()
	conn := kit.NewBus(t).Connect(parcelsHost)
	for _, test := range []struct {
		name    string
		options []events.PublishOption
		told    string
	}{
		{"no interface", []events.PublishOption{events.Of[int]()},
			"events of parcels.example: events.Of: int is not an interface"},
		{"calls", []events.PublishOption{events.Of[parcelCalls]()},
			`events of parcels.example: events.Of: events_test.parcelCalls is no interface of events: method Send: is not an event handler: rename it to OnSend, or leave it out with bus.ExcludeMethods("Send")`},
		{"empty claims", []events.PublishOption{bus.RequireClaims("")},
			"events of parcels.example: bus.RequireClaims: the expression is empty; use bus.AllowAnonymous for an endpoint " +
				"that needs no token"},
		{"claims twice", []events.PublishOption{bus.RequireClaims("a"), bus.RequireClaims("b")},
			`events of parcels.example: bus.RequireClaims twice in one place: join both expressions in one, bus.RequireClaims("(…) and (…)")`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := events.NewPublisher(conn, parcelsHost, test.options...)
			kit.CheckError(t, err, http.StatusBadRequest, bus.ExecutedNo)
			assert.Equal(t, test.told, kit.AsBusError(t, err).Detail)
		})
	}
}

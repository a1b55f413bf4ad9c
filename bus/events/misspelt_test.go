package events_test

import (
	"net/http"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/test/kit"
)

const onLost = "https://" + parcelsHost + ":417/on-lost"

// On a bus of bustest a misspelt event and a misspelt argument are refused, whoever publishes and in whichever way.
func TestMisspelt_IsRefusedInTests(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	source, caller := b.Connect(parcelsHost), b.Connect("caller.example")
	misspelt := bus.Args{"number": 7, "nott": "x"}
	require.NoError(t, events.Publish(t.Context(), caller, onLost, misspelt), "what nobody knows")
	require.NoError(t, events.Subscribe[parcelEvents](b.Connect("mailer.example"), parcelsHost, parcelSink{}))
	err := events.Publish(t.Context(), caller, onLost, misspelt)
	require.ErrorContains(t, err, "did you mean note?", "what a subscriber knows")
	publisher := newParcels(t, source)
	for _, conn := range []*bus.Conn{source, caller} {
		for arguments, want := range map[*bus.Args]string{
			&misspelt:                       "nott (body): is unknown; did you mean note?",
			{"number": 7, "different": "x"}: "different (body): is unknown; known are note, number",
		} {
			err := events.Publish(t.Context(), conn, onLost, *arguments)
			require.ErrorContains(t, err, want)
			kit.CheckError(t, err, http.StatusBadRequest, bus.ExecutedNo)
		}
		require.NoError(t, events.Publish(t.Context(), conn, onLost, bus.Args{"number": 7, "note": "x"}))
		require.ErrorContains(t, events.Publish(t.Context(), conn, "https://"+parcelsHost+":417/on-loost", nil),
			"parcels.example publishes no event at /on-loost; did you mean on-lost?")
		err := conn.Call(t.Context(), "https://"+parcelsHost+":888/publish/on-lost", misspelt, nil)
		require.ErrorContains(t, err, "nott (body): is unknown; did you mean note?")
		kit.CheckError(t, err, http.StatusBadRequest, bus.ExecutedNo)
	}
	lost := events.NewEvent[bus.Args](publisher, "/on-lost")
	require.ErrorContains(t, lost.Publish(t.Context(), misspelt), "did you mean note?")
	require.NoError(t, lost.Publish(t.Context(), bus.Args{"number": 7}))
}

// Elsewhere a misspelt argument is logged once where the publisher is.
func TestMisspelt_IsLoggedElsewhere(t *testing.T) {
	t.Parallel()
	misspelt := bus.Args{"number": 7, "nott": "x"}
	for way, publish := range map[string]func(source, caller *bus.Conn, publisher *events.Publisher) error{
		"by address": func(source, _ *bus.Conn, _ *events.Publisher) error {
			return events.Publish(t.Context(), source, onLost, misspelt)
		},
		"by its name": func(_, _ *bus.Conn, publisher *events.Publisher) error {
			return events.NewEvent[bus.Args](publisher, "/on-lost").Publish(t.Context(), misspelt)
		},
		"by hand": func(_, caller *bus.Conn, _ *events.Publisher) error {
			return caller.Call(t.Context(), "https://"+parcelsHost+":888/publish/on-lost", misspelt, nil)
		},
	} {
		b, log := bustest.New(t), new(kit.Lines)
		b.AllowUnknownFields()
		source := b.Connect(parcelsHost, bus.WithLogger(zerolog.New(log)))
		publisher := newParcels(t, source)
		for range 2 {
			require.NoError(t, publish(source, b.Connect("caller.example"), publisher), way)
		}
		kit.CloseConn(t, source)
		assert.Equal(t, 1, log.Count("event /on-lost of parcels.example has no argument nott; did you mean note?"),
			"%s: %s", way, log)
	}
}

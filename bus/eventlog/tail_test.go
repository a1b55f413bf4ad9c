package eventlog_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/eventlog"
)

func collect(t *testing.T, w *world, options ...eventlog.TailOption) (bodies []string) {
	t.Helper()
	for event, err := range eventlog.Tail(t.Context(), w.operator, orders, append(options, eventlog.NoFollow())...) {
		require.NoError(t, err)
		bodies = append(bodies, event.Event+" "+event.Body)
	}
	return bodies
}

func TestTail_Past(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	assert.Empty(t, collect(t, w, eventlog.Since(time.Time{})))
	w.publish(w.ordered, 1)
	w.publish(w.paid, 1)
	middle := w.aMoment()
	w.publish(w.ordered, 2)
	for _, row := range []struct {
		name    string
		options []eventlog.TailOption
		want    []string
	}{
		{"now", nil, nil},
		{"beginning", []eventlog.TailOption{eventlog.Since(time.Time{})}, []string{`on-ordered {"number":1}`, `on-paid {"number":1}`, `on-ordered {"number":2}`}},
		{"since", []eventlog.TailOption{eventlog.Since(middle)}, []string{`on-ordered {"number":2}`}},
		{"event", []eventlog.TailOption{eventlog.Since(time.Time{}), eventlog.OnlyEvent("on-paid")}, []string{`on-paid {"number":1}`}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.want, collect(t, w, row.options...))
		})
	}
}

// TestTail_Follow has an event with an id of the publisher's stored while the log is read.
func TestTail_Follow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(w.ordered, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var events []eventlog.Event
	for event, err := range eventlog.Tail(ctx, w.operator, orders, eventlog.Since(time.Time{})) {
		if err != nil {
			assert.ErrorIs(t, err, context.Canceled)
			break
		}
		events = append(events, event)
		if len(events) == 1 {
			require.NoError(t, w.ordered.Publish(bus.WithEventID(t.Context(), "order-2"), bus.Args{"number": 2}))
		} else {
			cancel()
		}
	}
	require.Len(t, events, 2)
	assert.Equal(t, events[0].MsgID, events[0].ID)
	second := events[1]
	assert.NotEmpty(t, second.MsgID)
	assert.False(t, second.Stored.Before(events[0].Stored))
	second.MsgID, second.Stored = "", time.Time{}
	assert.Equal(t, eventlog.Event{Publisher: orders, Event: "on-ordered", ID: "order-2", Sequence: 2, Body: `{"number":2}`}, second)
}

func TestTail_Mistakes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(w.ordered, 1)
	for _, row := range []struct {
		name    string
		options []eventlog.TailOption
		status  int
		want    string
	}{
		{"event", []eventlog.TailOption{eventlog.OnlyEvent("on-orderd")}, http.StatusNotFound, "orders.example has stored no event on-orderd; did you mean on-ordered?"},
		{"far", []eventlog.TailOption{eventlog.OnlyEvent("shipped")}, http.StatusNotFound, "orders.example has stored no event shipped; there are on-ordered"},
		{"future", []eventlog.TailOption{eventlog.Since(time.Now().Add(time.Hour))}, http.StatusBadRequest, "is in the future: choose a time up to now"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			for _, err := range eventlog.Tail(t.Context(), w.operator, orders, row.options...) {
				checkError(t, err, row.status, row.want)
			}
		})
	}
}

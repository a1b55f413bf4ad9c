package eventlog_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/eventlog"
	"github.com/busline/busline/bus/events"
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
		{"beginning", []eventlog.TailOption{eventlog.Since(time.Time{})},
			[]string{`on-ordered {"number":1}`, `on-paid {"number":1}`, `on-ordered {"number":2}`}},
		{"since", []eventlog.TailOption{eventlog.Since(middle)}, []string{`on-ordered {"number":2}`}},
		{"event", []eventlog.TailOption{eventlog.Since(time.Time{}), eventlog.OnlyEvent("on-paid")},
			[]string{`on-paid {"number":1}`}},
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
	var got []eventlog.Event
	for event, err := range eventlog.Tail(ctx, w.operator, orders, eventlog.Since(time.Time{})) {
		if err != nil {
			assert.ErrorIs(t, err, context.Canceled)
			break
		}
		got = append(got, event)
		if len(got) == 1 {
			require.NoError(t, w.ordered.Publish(events.WithID(t.Context(), "order-2"), bus.Args{"number": 2}))
		} else {
			cancel()
		}
	}
	require.Len(t, got, 2)
	assert.Equal(t, got[0].MsgID, got[0].ID)
	second := got[1]
	assert.NotEmpty(t, second.MsgID)
	assert.False(t, second.Stored.Before(got[0].Stored))
	second.MsgID, second.Stored = "", time.Time{}
	assert.Equal(t, eventlog.Event{Publisher: orders, Event: "on-ordered", ID: "order-2", Sequence: 2,
		Body: `{"number":2}`}, second)
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
		{"event", []eventlog.TailOption{eventlog.OnlyEvent("on-orderd")}, http.StatusNotFound,
			"orders.example has stored no event on-orderd; did you mean on-ordered?"},
		{"far", []eventlog.TailOption{eventlog.OnlyEvent("shipped")}, http.StatusNotFound,
			"orders.example has stored no event shipped; there are on-ordered"},
		{"future", []eventlog.TailOption{eventlog.Since(time.Now().Add(time.Hour))}, http.StatusBadRequest,
			"is in the future: choose a time up to now"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			for _, err := range eventlog.Tail(t.Context(), w.operator, orders, row.options...) {
				checkError(t, err, row.status, row.want)
			}
		})
	}
}

// TestTail_AfterSequence begins behind an event, and says where events are missing.
func TestTail_AfterSequence(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	last := func() uint64 {
		sequence, err := eventlog.LastSequence(t.Context(), w.operator, orders)
		require.NoError(t, err)
		return sequence
	}
	assert.Zero(t, last())
	paid := eventlog.OnlyEvent("on-paid")
	assert.Empty(t, collect(t, w, paid, eventlog.AfterSequence(0)), "none was stored yet")
	w.publish(w.ordered, 1, 2)
	w.publish(w.paid, 1)
	assert.EqualValues(t, 3, last())
	assert.Equal(t, []string{`on-ordered {"number":2}`, `on-paid {"number":1}`}, collect(t, w, eventlog.AfterSequence(1)))
	assert.Equal(t, []string{`on-paid {"number":1}`}, collect(t, w, paid, eventlog.AfterSequence(0)))
	assert.Empty(t, collect(t, w, eventlog.AfterSequence(3)))
	manager, err := jetstream.New(w.operator.NATS())
	require.NoError(t, err)
	log, err := manager.Stream(t.Context(), w.operator.Plane()+"_EVENTS_orders_example")
	require.NoError(t, err)
	require.NoError(t, log.Purge(t.Context(), jetstream.WithPurgeSequence(3)))
	assert.Equal(t, []string{`on-paid {"number":1}`}, collect(t, w, eventlog.AfterSequence(2)))
	assert.Equal(t, []string{`on-paid {"number":1}`}, collect(t, w, eventlog.AfterSequence(0)))
	for _, row := range []struct {
		name  string
		after uint64
		want  string
	}{
		{"dropped", 1, "the log has dropped events behind 1: it begins with 3"},
		{"not yet", 4, "the log has never had the event 4: its last one is 3"},
	} {
		t.Run(row.name, func(t *testing.T) {
			told := 0
			for _, err := range eventlog.Tail(t.Context(), w.operator, orders, eventlog.AfterSequence(row.after)) {
				checkError(t, err, http.StatusGone, row.want)
				told++
			}
			assert.Equal(t, 1, told)
		})
	}
	_, err = eventlog.LastSequence(t.Context(), w.operator, "order.example")
	checkError(t, err, http.StatusNotFound, "did you mean orders.example?")
}

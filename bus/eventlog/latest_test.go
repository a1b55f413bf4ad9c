package eventlog_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/eventlog"
	"github.com/busline/busline/bus/test/kit"
)

// latest returns the bodies of the events of a range.
func (w *world) latest(of eventlog.Range) (bodies []string) {
	w.t.Helper()
	for event, err := range eventlog.Latest(w.t.Context(), w.operator, orders, of) {
		require.NoError(w.t, err)
		bodies = append(bodies, event.Body)
	}
	return bodies
}

func TestLatest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(w.ordered, 1, 2)
	middle := w.aMoment()
	w.publish(w.paid, 7)
	w.publish(w.ordered, 3)
	one, two, three, paid := `{"number":1}`, `{"number":2}`, `{"number":3}`, `{"number":7}`
	for _, test := range []struct {
		name string
		of   eventlog.Range
		want []string
	}{
		{"all", eventlog.Range{}, []string{three, paid, two, one}},
		{"event", eventlog.Range{Event: "on-ordered"}, []string{three, two, one}},
		{"since", eventlog.Range{Since: middle}, []string{three, paid}},
		{"until", eventlog.Range{Until: middle, Event: "on-ordered"}, []string{two, one}},
		{"in the future", eventlog.Range{Since: time.Now().Add(time.Hour)}, nil},
		{"until the future", eventlog.Range{Until: time.Now().Add(time.Hour), Event: "on-paid"}, []string{paid}},
		{"before", eventlog.Range{Before: 3}, []string{two, one}},
		{"after", eventlog.Range{After: 2}, []string{three, paid}},
		{"behind the end", eventlog.Range{After: 400, Before: 900}, nil},
	} {
		assert.Equal(t, test.want, w.latest(test.of), test.name)
	}
	for event, err := range eventlog.Latest(t.Context(), w.operator, orders, eventlog.Range{}) {
		require.NoError(t, err)
		assert.Equal(t, uint64(4), event.Sequence)
		assert.Equal(t, "on-ordered", event.Event)
		assert.NotEmpty(t, event.MsgID)
		break
	}
}

// TestLatest_ManyWindows has events of one kind that are far behind those of another one.
func TestLatest_ManyWindows(t *testing.T) {
	t.Parallel()
	const count = 1500
	w := newWorld(t)
	w.publish(w.paid, 1)
	for number := range count {
		w.publish(w.ordered, number)
	}
	assert.Equal(t, []string{`{"number":1}`}, w.latest(eventlog.Range{Event: "on-paid"}))
	all := w.latest(eventlog.Range{})
	require.Len(t, all, count+1)
	assert.Equal(t, []string{`{"number":1499}`, `{"number":1498}`}, all[:2])
	assert.Equal(t, []string{`{"number":0}`, `{"number":1}`}, all[count-1:])
}

func TestLatest_Refused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(w.ordered, 1)
	for _, test := range []struct {
		publisher, event, want string
	}{
		{orders, "on-orderd", "has stored no event on-orderd"},
		{"order.example", "", "did you mean"},
	} {
		for _, err := range eventlog.Latest(t.Context(), w.operator, test.publisher, eventlog.Range{Event: test.event}) {
			checkError(t, err, http.StatusNotFound, test.want)
		}
	}
}

// TestRedeliver delivers one event again, to one of two services.
func TestRedeliver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, other := newSink(), newSink()
	w.subscribe(mailer, s)
	w.subscribe("stock.example", other)
	w.publish(w.ordered, 1, 2)
	s.await(t, 2)
	other.await(t, 2)
	again := func(service, event string, sequence uint64) error {
		return eventlog.Redeliver(t.Context(), w.operator, orders, service, event, sequence)
	}
	require.NoError(t, again(mailer, "on-ordered", 1))
	require.NoError(t, again(mailer, "on-ordered", 1), "as often as one likes")
	s.await(t, 2)
	assert.Equal(t, []int{1, 1, 1, 2}, s.numbers())
	assert.Equal(t, []int{1, 2}, other.numbers())
	w.awaitBacklog(mailer, 0)
	checkError(t, again(mailer, "on-ordered", 77), http.StatusNotFound,
		"the log of orders.example has no event 77 any more")
	checkError(t, again(mailer, "on-ordered", 3), http.StatusNotFound,
		"has no event 3 any more") // it is what was delivered again
	checkError(t, again("sales.example", "on-ordered", 1), http.StatusNotFound,
		"sales.example does not subscribe to on-ordered of orders.example any more, so it was not redelivered")
	checkError(t, again("a b", "on-ordered", 1), http.StatusBadRequest, "the service")
	checkError(t, again(mailer, "on-sent", 1), http.StatusNotFound,
		`event 1 in the log of orders.example is on-ordered, not "on-sent"`)
}

// TestReplayCount counts what Replay delivers then.
func TestReplayCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := newSink()
	w.subscribe(mailer, s)
	w.publish(w.ordered, 1)
	middle := w.aMoment()
	w.publish(w.ordered, 2, 3)
	w.publish(w.paid, 1)
	s.await(t, 3)
	w.awaitBacklog(mailer, 0)
	for _, test := range []struct {
		event string
		from  time.Time
		want  int
	}{{"on-ordered", middle, 2}, {"on-ordered", time.Time{}, 3}, {"", time.Time{}, 4}} {
		counted, err := eventlog.ReplayCount(t.Context(), w.operator, orders, mailer, test.event, test.from)
		require.NoError(t, err)
		assert.Equal(t, test.want, counted)
	}
	assert.Equal(t, []int{1, 2, 3}, s.numbers(), "nothing comes again")
	kit.Eventually(t, func() bool { return w.subscription(mailer).Backlog == 0 })
	_, err := eventlog.ReplayCount(t.Context(), w.operator, orders, "nobody.example", "", time.Time{})
	checkError(t, err, http.StatusNotFound, "does not subscribe")
}

package events_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/eventlog"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/test/kit"
)

const nightlyHost = "nightly.example"

// TestEvery has two instances share ticks, and retry one.
func TestEvery(t *testing.T) {
	t.Parallel()
	e := kit.NewEnforcing(t, map[string]string{nightlyHost: ""}, broker.JetStream(t.TempDir()))
	conns := []*bus.Conn{e.Connect(nightlyHost), e.Connect(nightlyHost)}
	type tick struct {
		events.Tick
		attempt int
	}
	ticks := make(chan tick, 100)
	for _, conn := range conns {
		require.NoError(t, events.Every(conn, "/on-nightly", "@every 1s", func(ctx context.Context, at events.Tick) error {
			delivery, _ := events.DeliveryOf(ctx)
			ticks <- tick{at, delivery.Attempt}
			if delivery.Attempt == 1 && at.Last.IsZero() {
				return bus.Errorf(http.StatusServiceUnavailable, "not yet")
			}
			return nil
		}, events.Backoff(time.Millisecond, time.Millisecond)))
	}
	first := <-ticks
	assert.Equal(t, tick{events.Tick{Time: first.Time}, 1}, first)
	again := <-ticks
	for again.attempt == 1 { // the next ones do not wait
		again = <-ticks
	}
	assert.Equal(t, tick{events.Tick{Time: first.Time}, 2}, again)
	manager, err := jetstream.New(conns[0].NATS())
	require.NoError(t, err)

	// another schedule replaces this one; what is left of the first has come
	require.NoError(t, events.Every(e.Connect(nightlyHost), "/on-nightly", "TZ=Europe/Berlin 0 3 * * *",
		func(context.Context, events.Tick) error { return nil }))
	log, err := manager.Stream(t.Context(), "bus_EVENTS_nightly_example")
	require.NoError(t, err)
	schedule, err := log.GetLastMsgForSubject(t.Context(), "bus.l.example.nightly.on-nightly.every")
	require.NoError(t, err)
	assert.Equal(t, "0 0 3 * * *", schedule.Header.Get("Nats-Schedule"))
	assert.Equal(t, "Europe/Berlin", schedule.Header.Get("Nats-Schedule-Time-Zone"))
	described, err := eventlog.Describe(t.Context(), conns[0], nightlyHost)
	require.NoError(t, err)
	require.Len(t, described.Subscriptions, 1)
	assert.Equal(t, "on-nightly", described.Subscriptions[0].Event)
	if denied := e.Log.Lines("does not let"); len(denied) > 0 {
		t.Errorf("denied: %s", denied)
	}
}

// TestEvery_Waiting has ticks come while no instance runs. Whatever the order in which they are handled, and at each
// attempt, they know the one before them, and what is missing in between.
func TestEvery_Waiting(t *testing.T) {
	t.Parallel()
	e := kit.NewEnforcing(t, map[string]string{nightlyHost: ""}, broker.JetStream(t.TempDir()))
	first := e.Connect(nightlyHost)
	ticks := make(chan events.Tick, 100)
	require.NoError(t, events.Every(first, "/on-nightly", "@every 1s", func(_ context.Context, at events.Tick) error {
		ticks <- at
		return nil
	}))
	begin := <-ticks
	require.NoError(t, first.Close(t.Context()))

	second := e.Connect(nightlyHost)
	manager, err := jetstream.New(second.NATS())
	require.NoError(t, err)
	log, err := manager.Stream(t.Context(), "bus_EVENTS_nightly_example")
	require.NoError(t, err)
	stored := awaitTicks(t, log, begin.Time, 4)
	require.NoError(t, log.DeleteMsg(t.Context(), stored[1].Sequence)) // as if the broker had been away
	want := map[time.Time]events.Tick{}
	for i, missed := range map[int]int{2: 1, 3: 0} {
		last := stored[i-1-missed].Time
		want[stored[i].Time] = events.Tick{Time: stored[i].Time, Last: last, Missed: missed}
	}
	attempts := make(chan events.Tick, 100)
	require.NoError(t, events.Every(second, "/on-nightly", "@every 1s", func(ctx context.Context, at events.Tick) error {
		attempts <- at
		if delivery, _ := events.DeliveryOf(ctx); delivery.Attempt < 3 {
			return bus.Errorf(http.StatusServiceUnavailable, "not yet")
		}
		return nil
	}, events.Backoff(time.Millisecond, time.Millisecond)))
	for seen := 0; seen < 3*len(want); {
		got := <-attempts
		if tick, is := want[got.Time]; is {
			assert.Equal(t, tick, got)
			seen++
		}
	}
	e.Log.Await(t, "times of a schedule have passed without a tick")
}

// awaitTicks waits until a log has so many ticks from a time on, and returns them.
func awaitTicks(t *testing.T, log jetstream.Stream, from time.Time, count int) (ticks []*jetstream.RawStreamMsg) {
	t.Helper()
	for sequence := uint64(1); len(ticks) < count; {
		found, err := log.GetMsg(t.Context(), sequence, jetstream.WithGetMsgSubject("bus.e.>"))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		require.NoError(t, err)
		sequence = found.Sequence + 1
		if !found.Time.Before(from) {
			ticks = append(ticks, found)
		}
	}
	return ticks
}

// TestEvery_OtherSchedule has an instance whose schedule was replaced count by the one that counts, whatever else is in
// the log.
func TestEvery_OtherSchedule(t *testing.T) {
	t.Parallel()
	b := kit.NewBus(t, broker.JetStream(t.TempDir()))
	old := b.Connect(nightlyHost)
	publisher, err := events.NewPublisher(old, nightlyHost, events.Durable())
	require.NoError(t, err)
	ticks := make(chan events.Tick, 100)
	collect := func(_ context.Context, at events.Tick) error {
		if !at.Last.IsZero() {
			ticks <- at
		}
		return nil
	}
	require.NoError(t, events.Every(old, "/on-nightly", "@every 1s", collect))
	<-ticks
	require.NoError(t, events.Every(b.Connect(nightlyHost), "/on-nightly", "@every 2s", collect))
	other := events.NewEvent[bus.Args](publisher, "/on-other")
	for slow := 0; slow < 2; {
		at := <-ticks
		assert.Zero(t, at.Missed, at)
		if at.Time.Sub(at.Last) > 1500*time.Millisecond {
			slow++
		}
		for range 20 {
			require.NoError(t, other.Publish(t.Context(), nil))
		}
	}
}

// TestEvery_Renewed has a schedule live longer than the log keeps anything.
func TestEvery_Renewed(t *testing.T) {
	t.Parallel()
	b := kit.NewBus(t, broker.JetStream(t.TempDir()))
	conn := b.Connect(nightlyHost)
	_, err := events.NewPublisher(conn, nightlyHost, events.Durable(), events.MaxAge(2*time.Second))
	require.NoError(t, err)
	ticks := make(chan events.Tick, 10)
	require.NoError(t, events.Every(conn, "/on-tick", "@every 1s", func(_ context.Context, at events.Tick) error {
		ticks <- at
		return nil
	}))
	require.NoError(t, events.Every(conn, "/on-nightly", "0 3 * * *",
		func(context.Context, events.Tick) error { return nil }))
	for range 3 {
		<-ticks
	}
	manager, err := jetstream.New(conn.NATS())
	require.NoError(t, err)
	log, err := manager.Stream(t.Context(), conn.Plane()+"_EVENTS_nightly_example")
	require.NoError(t, err)
	_, err = log.GetLastMsgForSubject(t.Context(), conn.Plane()+".l.example.nightly.on-nightly.every")
	require.NoError(t, err)
	require.ErrorContains(t, events.Every(conn, "/on-slow", "@every 10h", func(context.Context, events.Tick) error {
		return nil
	}), "a period of 10h0m0s exceeds half of the time")
}

// TestEvery_Refusals are schedules that can only be mistakes.
func TestEvery_Refusals(t *testing.T) {
	t.Parallel()
	b := kit.NewBus(t, broker.JetStream(t.TempDir()))
	conn := b.Connect(nightlyHost)
	nothing := func(context.Context, events.Tick) error { return nil }
	for schedule, want := range map[string]string{
		"":                                "write minute, hour, day of the month, month and day of the week",
		"0 3 * *":                         "expected exactly 5 fields, found 4",
		"0 25 * * *":                      "end of range (25) above maximum (23)",
		"0 0 3 * * *":                     "expected exactly 5 fields, found 6",
		"0 0 30 2 *":                      "no day fits in five years",
		"@every soon":                     "failed to parse duration",
		"@sometimes":                      "unrecognized descriptor",
		"TZ=Europe/Atlantis 0 3 * * *":    "the time zone Europe/Atlantis is not known",
		"TZ=Europe/Berlin":                "write minute, hour",
		"TZ=Europe/Berlin @every 1h":      "a period has no time zone",
		"TZ=UTC TZ=Europe/Rome 0 3 * * *": "has another time zone",
		"TZ= 0 3 * * *":                   "TZ= names no time zone",
		"@every 0s":                       "whole seconds, and at least one",
		"@every -1s":                      "whole seconds, and at least one",
		"@every 1ms":                      "whole seconds, and at least one",
		"@every 1500ms":                   "whole seconds, and at least one",
		"*/60 * * * *":                    "the step of */60 exceeds 59",
		"0 0 * * 1-5/7":                   "the step of 1-5/7 exceeds 6",
		"0,,59 * * * *":                   "a part of the list 0,,59 is empty",
		"0 1, * * *":                      "a part of the list 1, is empty",
	} {
		require.ErrorContains(t, events.Every(conn, "/on-nightly", schedule, nothing), want, schedule)
	}
	require.ErrorContains(t, events.Every(nil, "/on-nightly", "@daily", nothing), "no connection")
	require.ErrorContains(t, events.Every(conn, "/on-nightly", "@daily", nil), "no function to call")
	for path, want := range map[string]string{
		"":             "there is no path",
		"/":            "there is no path",
		"/on-nightly/": "more than one segment",
		"/on/nightly":  "more than one segment",
		"/on night":    "write /on%20night",
		"/on-*":        "write /on-%2A",
		"on-nightly":   "is not a URL",
	} {
		require.ErrorContains(t, events.Every(conn, path, "@daily", nothing), want, path)
	}
	require.ErrorContains(t, events.Every(conn, "/on-nightly", "@daily", nothing, bus.NoQueue()), "leave out bus.NoQueue")
	require.NoError(t, events.Every(conn, "/on-nightly", "@daily", nothing))
	require.ErrorContains(t, events.Every(conn, "/on-nightly", "@daily", nothing), "served by this connection already")
}

// TestTimetable_Missed counts what lies between two ticks, which come a little later than their times.
func TestTimetable_Missed(t *testing.T) {
	t.Parallel()
	at := func(text string) time.Time {
		parsed, err := time.Parse(time.RFC3339, text)
		require.NoError(t, err)
		return parsed.Add(200 * time.Millisecond)
	}
	for _, test := range []struct {
		schedule, after, before string
		want                    int
	}{
		{"0 3 * * *", "2026-03-27T03:00:00Z", "2026-03-28T03:00:00Z", 0},
		{"0 3 * * *", "2026-03-27T03:00:00Z", "2026-03-28T03:00:07Z", 0},
		{"0 3 * * *", "2026-03-27T03:00:00Z", "2026-03-30T03:00:00Z", 2},
		{"0 3 * * *", "2026-03-27T03:00:00Z", "2026-03-30T12:00:00Z", 2},
		{"TZ=Europe/Berlin 30 2 * * *", "2026-03-28T01:30:00Z", "2026-03-30T00:30:00Z", 0}, // that of the 29th is skipped
		{"@every 1h", "2026-03-27T03:00:00Z", "2026-03-27T04:00:03Z", 0},
		{"@every 1h", "2026-03-27T03:00:00Z", "2026-03-27T06:00:00Z", 2},
		{"@every 1h", "2026-03-27T03:00:00Z", "2026-03-27T06:50:00Z", 2},
	} {
		missed, err := events.Missed(test.schedule, at(test.after), at(test.before))
		require.NoError(t, err)
		assert.Equal(t, test.want, missed, test)
	}
}

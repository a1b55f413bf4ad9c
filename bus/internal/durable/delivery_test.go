package durable_test

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/busline/busline/bus/internal/durable"
	"github.com/busline/busline/bus/internal/natsconn/natsconntest"
	"github.com/busline/busline/bus/internal/server"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/stream"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/restmap"
)

// TestMain fails if a test leaks a goroutine.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mailing is a consumer of the service mailer.example, whose events no endpoint handles.
type mailing struct {
	*durable.Consumer
	raw *nats.Conn // of another client

	mu     sync.Mutex // protects what stands below
	lines  []string   // of the log
	closed bool
}

func newMailing(t *testing.T) *mailing {
	t.Helper()
	conn, raw := natsconntest.Connect(t)
	m := &mailing{raw: raw}
	mapped, err := restmap.Handler(http.MethodPost, "/on-ordered")
	require.NoError(t, err)
	config := &durable.Config{
		Server: server.New(server.Config{
			Host: "mailer.example", ID: "m1aaaaaaaa", Plane: "bus", Broker: conn, Base: context.Background(),
			Handlers: worker.NewLimiter(0), Controls: worker.NewLimiter(0), Logger: zerolog.Nop(),
			Memory: stream.NewMemory(1 << 20),
		}),
		Inbox: "bus.r.example.mailer.m1aaaaaaaa", Log: m.log, IsClosing: m.isClosed, Failure: failure,
		Subscriptions: func() int { return 1 }, StartWaiting: (*durable.Subscription).StartWaiting,
	}
	made := durable.NewStream(config, "orders.example").Subscribe(
		&server.Endpoint{Port: 417, Path: "/on-ordered", Routes: mapped.Routes}, "bus.417.example.orders.|.POST.on-ordered",
		durable.Options{MaxDeliver: 10, FirstRetry: time.Second, LongestRetry: time.Minute, MaxInFlight: 1}, false,
	)
	t.Cleanup(made.Stop)
	m.Consumer = made.Consumers()[0]
	return m
}

func (m *mailing) log(_ *zerolog.Event, message string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lines = append(m.lines, message)
}

func (m *mailing) isClosed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closed
}

// failure returns the error of a handler.
func failure(response *wire.Response) *status.Error {
	return status.HasRun(response.Status, nil, "no mail")
}

func TestDelivery_LogsLateHandlers(t *testing.T) {
	t.Parallel()
	const line = "the handler of a stored event has not returned in its time; the event is delivered again, " +
		"and counts for events.MaxInFlight until it returns"
	for times, want := range [][]string{nil, nil, {line}} {
		m := newMailing(t)
		m.ReportProgress(times)
		m.mu.Lock()
		if !slices.Equal(m.lines, want) {
			t.Errorf("after %d reports: %q, want %q", times, m.lines, want)
		}
		m.mu.Unlock()
	}
}

// TestDelivery_LateResponses replies after JetStream has given the event to another instance: JetStream is told of a
// success, but not of a failure.
func TestDelivery_LateResponses(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	told, err := m.raw.SubscribeSync("told.*")
	if err == nil {
		err = m.raw.Flush()
	}
	require.NoError(t, err)
	for _, test := range []struct {
		to     string
		status int
		ago    time.Duration
		want   string // "": JetStream is not told
	}{
		{"told.late-failure", http.StatusInternalServerError, 30 * time.Second, ""},
		{"told.late-refusal", http.StatusConflict, 30 * time.Second, ""},
		{"told.late-success", http.StatusOK, 30 * time.Second, "+ACK"},
		{"told.failure", http.StatusInternalServerError, 0, `-NAK {"delay": 1000000000}`},
	} {
		require.NoError(t, m.Reply(test.to, test.status, test.ago))
		if test.want == "" {
			continue
		}
		message, err := told.NextMsgWithContext(t.Context())
		require.NoError(t, err)
		assert.Equal(t, test.to, message.Subject)
		assert.Equal(t, test.want, string(message.Data))
	}
}

// TestDelivery_ClosedFetchesNoMore calls a timer that was not stopped in time, because the consumer was just being
// created again.
func TestDelivery_ClosedFetchesNoMore(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	m.closed = true
	if m.FetchLater() {
		t.Error("the timer still runs")
	}
}

package natsconn_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/natsconn/natsconntest"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/wire"
)

// TestMain fails if a closed connection leaks a goroutine.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startBroker runs a broker until the test ends, and returns its URL with a login, such as "user:password@"; "" for
// none.
func startBroker(t *testing.T, config, login string) (url string) {
	t.Helper()
	started, err := broker.Start(broker.Listen("127.0.0.1:0"), broker.Config(config))
	require.NoError(t, err)
	t.Cleanup(started.Close)
	return strings.Replace(started.URL(), "://", "://"+login, 1)
}

// dialInProcess opens a connection to a broker without users.
func dialInProcess(t *testing.T) *natsconn.Conn {
	t.Helper()
	conn, _ := natsconntest.Connect(t)
	return conn
}

// dialGuest opens a connection to a broker that denies everything below denied.
func dialGuest(t *testing.T) *natsconn.Conn {
	t.Helper()
	return natsconntest.Dial(t, natsconn.Config{URL: startBroker(t, `authorization { users: [
		{ user: guest, password: secret, permissions: { publish: { deny: "denied.>" }, subscribe: { deny: "denied.>" } } }
	] }`, "guest:secret@")})
}

// member is the owner of a session. Its channels hold what is reported to it.
type member struct {
	expects func(natsconn.Violation) bool // nil: none
	off     string                        // what all that it expects turns off
	denied  chan string
	back    chan struct{}
	dropped chan error
}

func newMember() *member {
	return &member{denied: make(chan string, 8), back: make(chan struct{}, 8), dropped: make(chan error, 8)}
}

func (m *member) Expects(v natsconn.Violation) (off string, expected bool) {
	return m.off, m.expects != nil && m.expects(v)
}

func (m *member) PublishDenied(subject string) { m.denied <- subject }
func (m *member) Reconnected()                 { m.back <- struct{}{} }
func (m *member) Dropped(_ string, err error)  { m.dropped <- err }

// receiver is a session whose subscriptions note what arrives.
type receiver struct {
	*natsconn.Session
	t        *testing.T
	conn     *natsconn.Conn
	member   *member
	received []string // subjects; only the dispatcher writes it, and arrived reads it behind a barrier
}

// open returns a session until the test ends.
func open(t *testing.T, conn *natsconn.Conn, m *member) *receiver {
	t.Helper()
	r := &receiver{Session: conn.Open(m, "", zerolog.Nop()), t: t, conn: conn, member: m}
	t.Cleanup(r.Leave)
	return r
}

// add subscribes to a subject.
func (r *receiver) add(subject string, answers bool) error {
	return r.Subscribe(&natsconn.Subscription{Subject: subject, Answers: answers,
		Receive: func(message *nats.Msg, _ *wire.Reader) worker.Job {
			r.received = append(r.received, message.Subject)
			return nil
		}})
}

// mustAdd subscribes to subjects.
func (r *receiver) mustAdd(subjects ...string) {
	r.t.Helper()
	for _, subject := range subjects {
		require.NoError(r.t, r.add(subject, false))
	}
}

// subjects returns those of all subscriptions.
func (r *receiver) subjects() (all []string) {
	for _, each := range r.Subscriptions() {
		all = append(all, each.Subject)
	}
	return all
}

// checkArrives publishes to subjects, and expects what arrives.
func (r *receiver) checkArrives(published []string, want ...string) {
	r.t.Helper()
	before := len(r.received)
	for _, subject := range published {
		require.NoError(r.t, r.conn.PublishNow(subject, "", []byte("x")))
	}
	require.NoError(r.t, r.conn.Flush(r.t.Context()))
	r.conn.Barrier(r.t.Context())
	if got := r.received[before:]; !slices.Equal(got, want) {
		r.t.Errorf("received %q, want %q", got, want)
	}
}

// awaitDenied waits for the report that the member cannot publish to a subject.
func (r *receiver) awaitDenied(subject string) {
	r.t.Helper()
	if got := await(r.t, r.member.denied); got != subject {
		r.t.Errorf("%q is denied, want %q", got, subject)
	}
}

// await returns what is sent to a channel soon.
func await[T any](t *testing.T, from <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-from:
	case <-time.After(20 * time.Second):
		t.Fatal("nothing came")
	}
	return value
}

// isClosed reports whether a channel is closed.
func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

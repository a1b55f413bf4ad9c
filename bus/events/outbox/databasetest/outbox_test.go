package databasetest_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/eventlog"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/events/outbox"
)

const host = "orders.example"

// ordered are the arguments of the event of the tests.
type ordered struct {
	Customer string `json:"customer"`
	Number   int    `json:"number"`
}

// database is how a database is opened.
type database struct {
	Driver, DSN string
	Dialect     outbox.Dialect
}

func (d database) open(t testing.TB) *sql.DB {
	t.Helper()
	db, err := sql.Open(d.Driver, d.DSN)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return db
}

// newPostgreSQL starts a server.
func newPostgreSQL(t testing.TB) database {
	t.Helper()
	return database{"pgx", startPostgreSQL(t), outbox.PostgreSQL}
}

func newSQLite(t testing.TB) database {
	t.Helper()
	return database{"sqlite", "file:" + filepath.Join(t.TempDir(), "test.db") +
		"?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=busy_timeout(10000)&_txlock=immediate", outbox.SQLite}
}

// onEach runs a test on each database.
func onEach(t *testing.T, test func(t *testing.T, on database)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, newSQLite(t))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		test(t, newPostgreSQL(t))
	})
}

// site is a service with an outbox, and a broker.
type site struct {
	conn   *bus.Conn
	db     *sql.DB
	box    *outbox.Box
	event  events.Event[ordered]
	log    lines
	cancel context.CancelFunc
	ended  chan error
}

// lines is what is logged.
type lines struct {
	mu   sync.Mutex
	text strings.Builder // protected by mu
}

// Write takes a line.
func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

// await waits until a text is logged.
func (l *lines) await(t *testing.T, text string) {
	t.Helper()
	until(t, text+" is logged", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return strings.Contains(l.text.String(), text)
	})
}

func newSite(t testing.TB, on database) *site {
	t.Helper()
	started, err := broker.Start(broker.JetStream(t.TempDir()))
	require.NoError(t, err)
	t.Cleanup(started.Close)
	s := &site{db: on.open(t)}
	logger := zerolog.New(zerolog.MultiLevelWriter(zerolog.NewTestWriter(t), &s.log)).Level(zerolog.WarnLevel)
	conn, err := bus.Connect(t.Context(), host, bus.WithBroker(started), bus.WithLogger(logger))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close(context.Background())) })
	s.conn = conn
	s.box = outbox.New(s.db, on.Dialect, outbox.Poll(5*time.Millisecond), outbox.Lease(5*time.Second))
	return s
}

// publisher makes the event.
func (s *site) publisher(t testing.TB) {
	t.Helper()
	publisher, err := events.NewPublisher(s.conn, host, events.Durable())
	require.NoError(t, err)
	s.event = events.NewEvent[ordered](publisher, "/on-ordered").KeyedBy("customer")
}

// publish publishes events in one transaction.
func (s *site) publish(t testing.TB, ctx context.Context, commit bool, all ...ordered) { //nolint:revive // t comes first
	t.Helper()
	tx, err := s.db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	for _, each := range all {
		require.NoError(t, s.event.Publish(s.box.In(ctx, tx), each))
	}
	if commit {
		require.NoError(t, tx.Commit())
		return
	}
	require.NoError(t, tx.Rollback())
}

// relay relays until stop, or the end of the test.
func (s *site) relay(t testing.TB) {
	t.Helper()
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(t.Context())
	s.ended = make(chan error, 1)
	go func() { s.ended <- s.box.Relay(ctx, s.conn) }()
}

func (s *site) stop(t testing.TB) {
	t.Helper()
	s.cancel()
	require.NoError(t, <-s.ended)
}

// drained waits until nothing waits.
func (s *site) drained(t testing.TB) {
	t.Helper()
	until(t, "the outbox is empty", func() bool {
		waiting, err := s.box.Waiting(t.Context())
		require.NoError(t, err)
		return waiting.Events == 0
	})
}

// stored returns the bodies of the events in the log.
func (s *site) stored(t *testing.T) (bodies []string) {
	t.Helper()
	for event, err := range eventlog.Tail(t.Context(), s.conn, host, eventlog.Since(time.Time{}), eventlog.NoFollow()) {
		require.NoError(t, err)
		bodies = append(bodies, event.Body)
	}
	return bodies
}

func (s *site) exec(t *testing.T, statement string, arguments ...any) {
	t.Helper()
	_, err := s.db.ExecContext(t.Context(), statement, arguments...)
	require.NoError(t, err)
}

// TestOutbox publishes what was committed, in order, as it was when it was written, and keeps what cannot be published.
func TestOutbox(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, on database) {
		s := newSite(t, on)
		s.publisher(t)
		assertMissing(t, s, on)
		migrated := make(chan error)
		for range 4 { // instances at the same time
			go func() { migrated <- outbox.New(s.db, on.Dialect).Migrate(t.Context()) }()
		}
		for range 4 {
			require.NoError(t, <-migrated)
		}

		ctx := bus.WithOutgoingHeader(bus.WithActor(t.Context(), "a.secret.token"), "X-Tenant", "blue")
		ctx = events.WithID(ctx, "first")
		s.publish(t, ctx, true, ordered{"ann", 1})
		s.publish(t, t.Context(), false, ordered{"ann", -1})
		s.publish(t, t.Context(), true, ordered{"ann", 2}, ordered{"bob", 3}, ordered{"ann", 4})
		assertRow(t, s)
		// an event that can never be published holds up those of its key
		s.exec(t, "UPDATE busline_outbox SET path = '/on/ordered' WHERE event_key = 'bob'")
		s.publish(t, t.Context(), true, ordered{"bob", 5})
		s.publish(t, events.After(t.Context(), time.Hour), true, ordered{"eve", 6})
		handled := make(chan string, 10)
		subscribe(t, s.conn, handled)
		s.relay(t)
		for range 3 {
			<-handled
		}
		assert.Equal(t, []string{`{"customer":"ann","number":1}`, `{"customer":"ann","number":2}`,
			`{"customer":"ann","number":4}`}, s.stored(t))
		var lastError string
		until(t, "the error is in the table", func() bool {
			row := s.db.QueryRowContext(t.Context(), "SELECT last_error FROM busline_outbox WHERE path = '/on/ordered'")
			require.NoError(t, row.Scan(&lastError))
			return lastError != ""
		})
		assert.Contains(t, lastError, "more than one segment")
		waiting, err := s.box.Waiting(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 2, waiting.Events)
		assert.Equal(t, 1, waiting.Failed)
		assert.Greater(t, waiting.Oldest, time.Duration(0))
		s.exec(t, "UPDATE busline_outbox SET path = '/on-ordered', retry_at = NULL WHERE path = '/on/ordered'")
		s.drained(t)
		assert.Equal(t, []string{`{"customer":"bob","number":3}`, `{"customer":"bob","number":5}`}, s.stored(t)[3:])
		assertScheduled(t, s)
		s.stop(t)
		assertVersion(t, s, on)
	})
}

// assertScheduled checks that the event of later waits in the log.
func assertScheduled(t *testing.T, s *site) {
	t.Helper()
	manager, err := jetstream.New(s.conn.NATS())
	require.NoError(t, err)
	log, err := manager.Stream(t.Context(), "bus_EVENTS_orders_example")
	require.NoError(t, err)
	info, err := log.Info(t.Context(), jetstream.WithSubjectFilter("bus.l.>"))
	require.NoError(t, err)
	assert.Len(t, info.State.Subjects, 1)
}

// assertMissing has a table that is not there reported.
func assertMissing(t *testing.T, s *site, on database) {
	t.Helper()
	want := fmt.Sprintf("no table busline_outbox: call Migrate of the outbox, or run the SQL of outbox.Migration(outbox.%v)",
		on.Dialect)
	require.ErrorContains(t, s.box.Relay(t.Context(), s.conn), want)
	tx, err := s.db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback()) }()
	require.ErrorContains(t, s.event.Publish(s.box.In(t.Context(), tx), ordered{"ann", 1}), want)
}

// assertVersion has a table of another version reported.
func assertVersion(t *testing.T, s *site, on database) {
	t.Helper()
	s.exec(t, "UPDATE busline_outbox_relay SET version = 7")
	require.ErrorContains(t, outbox.New(s.db, on.Dialect).Relay(t.Context(), s.conn),
		"busline_outbox has version 7, and this program needs version 1")
}

// assertRow checks that the first row can be read by a person, and holds no secret.
func assertRow(t *testing.T, s *site) {
	t.Helper()
	row := s.db.QueryRowContext(t.Context(), "SELECT publisher, path, event_key, event_id, header, arguments FROM "+
		"busline_outbox ORDER BY id LIMIT 1")
	var publisher, path, key, id, header, arguments string
	require.NoError(t, row.Scan(&publisher, &path, &key, &id, &header, &arguments))
	assert.Equal(t, []string{host, "/on-ordered", "ann", "first", `{"customer":"ann","number":1}`},
		[]string{publisher, path, key, id, arguments})
	assert.Contains(t, header, `"X-Tenant":["blue"]`)
	assert.NotContains(t, header, "secret")
}

// orderEvents are the events of the tests.
type orderEvents interface {
	OnOrdered(ctx context.Context, customer string, number int) error
}

// mailer handles them.
type mailer struct {
	t       *testing.T
	handled chan string
}

func (m mailer) OnOrdered(ctx context.Context, customer string, number int) error {
	if number == 1 {
		delivery, _ := events.DeliveryOf(ctx)
		assert.Equal(m.t, "first", delivery.ID)
		assert.Equal(m.t, "blue", bus.RequestHeader(ctx).Get("X-Tenant"))
	}
	caller, _ := bus.CallerOf(ctx)
	assert.Equal(m.t, host, caller.Host)
	m.handled <- fmt.Sprint(customer, number)
	return nil
}

func subscribe(t *testing.T, conn *bus.Conn, handled chan string) {
	t.Helper()
	require.NoError(t, events.Subscribe[orderEvents](conn, host, mailer{t, handled}, events.Durable(),
		events.FromBeginning(), bus.ParamNames("OnOrdered", "customer, number", "")))
}

// TestOutbox_Refusals has mistakes answered when the event is published, before a row is written.
func TestOutbox_Refusals(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	s.publisher(t)
	require.NoError(t, s.box.Migrate(t.Context()))
	plain, err := events.NewPublisher(s.conn, "plain.example")
	require.NoError(t, err)
	tx, err := s.db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	ctx := s.box.In(t.Context(), tx)
	for want, err := range map[string]error{
		"use a publisher with events.Durable()": events.NewEvent[ordered](plain, "/on-ordered").Publish(ctx, ordered{"ann", 1}),
		"its key customer is missing or empty":  s.event.Publish(ctx, ordered{}),
		"exceeds the broker's limit":            s.event.Publish(ctx, ordered{strings.Repeat("x", 1<<20), 1}),
		"is not stored, so it cannot be part of a transaction": events.Publish(ctx, s.conn,
			"https://orders.example:417/on-ordered", bus.Args{"number": 1}),
		"use Publish in place of Outcomes": outcome(ctx, s.event),
	} {
		require.ErrorContains(t, err, want)
		assert.Contains(t, []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge}, bus.StatusOf(err))
	}
	require.NoError(t, tx.Commit())
	s.drained(t)
}

func outcome(ctx context.Context, event events.Event[ordered]) (failed error) {
	for _, failed = range event.Outcomes(ctx, ordered{"ann", 1}) {
		break
	}
	return failed
}

// TestOutbox_LongAfterTheAttempt has an event stored whose row stays, as if the relay had died in between, and tried
// again after the time for which JetStream drops duplicates.
func TestOutbox_LongAfterTheAttempt(t *testing.T) {
	t.Parallel()
	s := newSite(t, newSQLite(t))
	manager, err := jetstream.New(s.conn.NATS())
	require.NoError(t, err)
	_, err = manager.CreateStream(t.Context(), jetstream.StreamConfig{Name: "bus_EVENTS_orders_example",
		Subjects: []string{"bus.e.example.orders.*.*", "bus.a.example.orders.*.*.*"}, Duplicates: 100 * time.Millisecond})
	require.NoError(t, err)
	s.publisher(t)
	require.NoError(t, s.box.Migrate(t.Context()))
	s.exec(t, "CREATE TRIGGER stays BEFORE DELETE ON busline_outbox BEGIN SELECT RAISE(ABORT, 'it stays'); END")
	s.publish(t, t.Context(), true, ordered{"ann", 1}, ordered{"bob", 2})
	s.relay(t)
	until(t, "the events are stored", func() bool { return len(s.stored(t)) == 2 })
	s.stop(t)
	awaitWindow(t, manager)
	s.exec(t, "DROP TRIGGER stays")
	s.publish(t, t.Context(), true, ordered{"ann", 3})
	s.relay(t)
	s.drained(t)
	s.stop(t)
	assert.Len(t, s.stored(t), 3)
}

// awaitWindow waits until JetStream has forgotten an id that it has just seen.
func awaitWindow(t *testing.T, manager jetstream.JetStream) {
	t.Helper()
	until(t, "duplicates are stored", func() bool {
		ack, err := manager.Publish(t.Context(), "bus.a.example.orders.x.x.0", nil, jetstream.WithMsgID("probe"))
		require.NoError(t, err)
		return !ack.Duplicate && ack.Sequence > 3
	})
}

// TestOutbox_CommitOutOfOrder has a transaction commit after one that began later.
func TestOutbox_CommitOutOfOrder(t *testing.T) {
	t.Parallel()
	s := newSite(t, newPostgreSQL(t))
	s.publisher(t)
	require.NoError(t, s.box.Migrate(t.Context()))
	early, err := s.db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	require.NoError(t, s.event.Publish(s.box.In(t.Context(), early), ordered{"ann", 1}))
	s.publish(t, t.Context(), true, ordered{"bob", 2})
	s.relay(t)
	s.drained(t)
	require.NoError(t, early.Commit())
	s.drained(t)
	s.stop(t)
	assert.Len(t, s.stored(t), 2)
}

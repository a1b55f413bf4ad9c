package databasetest_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/eventlog"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/events/outbox"
)

// The environment variables that a process of this binary gets from the one that starts it.
const (
	roleVariable   = "BUSLINE_OUTBOX_ROLE"
	configVariable = "BUSLINE_OUTBOX_CONFIG"
)

// childConfig is what the processes of a test work with.
type childConfig struct {
	On     database
	Broker string // the address
	Store  string // the folder of the broker
	Rows   int    // that the app commits
}

// TestMain runs the tests, or what this binary was started for by one of them.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(runChild(role))
	}
	os.Exit(m.Run())
}

// runChild is what another process does. It returns its exit status.
func runChild(role string) int {
	var config childConfig
	err := json.Unmarshal([]byte(os.Getenv(configVariable)), &config)
	if err == nil {
		err = map[string]func(context.Context, childConfig) error{"broker": runBroker, "app": runApp, "relay": runRelay}[role](
			context.Background(), config)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, role, err)
		return 1
	}
	return 0
}

// ready tells the test that the work begins.
func ready() { fmt.Println("ready") }

// orphaned returns when the test has ended: no process outlives it.
func orphaned() error {
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

func runBroker(_ context.Context, config childConfig) error {
	started, err := broker.Start(broker.Listen(config.Broker), broker.JetStream(config.Store))
	if err != nil {
		return err
	}
	defer started.Close()
	ready()
	return orphaned()
}

// connect connects, as soon as the broker is there.
func connect(ctx context.Context, config childConfig) (*bus.Conn, *outbox.Box, *sql.DB, error) {
	var conn *bus.Conn
	for conn == nil { // the broker may be killed meanwhile
		conn, _ = bus.Connect(ctx, host, bus.WithURL("nats://"+config.Broker), bus.WithLogger(zerolog.Nop()),
			bus.WithConnectTimeout(testTimeout))
	}
	db, err := sql.Open(config.On.Driver, config.On.DSN)
	return conn, outbox.New(db, config.On.Dialect, outbox.Poll(10*time.Millisecond), outbox.Lease(2*time.Second)), db, err
}

func runRelay(ctx context.Context, config childConfig) error {
	conn, box, _, err := connect(ctx, config)
	if err != nil {
		return err
	}
	go func() { _ = box.Relay(ctx, conn) }() // it ends with the process
	ready()
	return orphaned()
}

// customers is the number of keys. Each has orders from 1 on.
const customers = 32

// runApp commits orders, and beside that rolls some back, until there are enough.
func runApp(ctx context.Context, config childConfig) error {
	conn, box, db, err := connect(ctx, config)
	if err != nil {
		return err
	}
	var publisher *events.Publisher
	for publisher == nil { // the broker may be away
		publisher, _ = events.NewPublisher(conn, host, events.Durable())
	}
	event := events.NewEvent[ordered](publisher, "/on-ordered").KeyedBy("customer")
	ready()
	var running sync.WaitGroup
	failed := make(chan error, customers)
	for customer := range customers {
		running.Go(func() { failed <- orderAll(ctx, db, box, event, fmt.Sprintf("c%d", customer), config.Rows/customers) })
	}
	running.Wait()
	close(failed)
	for each := range failed {
		err = errors.Join(err, each)
	}
	fmt.Println("done")
	return errors.Join(err, orphaned())
}

// orderAll commits the orders of a customer from the last one on. One that fails may be committed meanwhile, by a
// server that has finished what a killed app had begun.
func orderAll(ctx context.Context, db *sql.DB, box *outbox.Box, event events.Event[ordered], customer string,
	count int) error {
	for {
		var last int
		if err := db.QueryRowContext(ctx, "SELECT coalesce(max(number), 0) FROM orders WHERE customer = '"+customer+"'").
			Scan(&last); err != nil {
			return err
		}
		if last == count {
			return nil
		}
		err := error(nil)
		for number := last + 1; number <= count && err == nil; number++ {
			if rand.IntN(10) == 0 {
				err = order(ctx, db, box, event, ordered{customer, -number})
			}
			if err == nil {
				err = order(ctx, db, box, event, ordered{customer, number})
			}
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, customer, err)
		}
	}
}

// order writes an order with its event. One with a number below zero is rolled back.
func order(ctx context.Context, db *sql.DB, box *outbox.Box, event events.Event[ordered], of ordered) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO orders VALUES ('%s', %d)", of.Customer, of.Number))
	if err == nil {
		err = event.Publish(box.In(ctx, tx), of)
	}
	if err != nil || of.Number < 0 {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// child is another process.
type child struct {
	role    string
	command *exec.Cmd
	lines   chan string // of its standard output; closed at its end
	orders  io.Closer   // it ends when this is closed
}

func start(t *testing.T, role string, config childConfig) *child {
	t.Helper()
	text, err := json.Marshal(config)
	require.NoError(t, err)
	c := &child{role: role, command: exec.Command(os.Args[0]), lines: make(chan string, 2)}
	c.command.Env = append(os.Environ(), roleVariable+"="+role, configVariable+"="+string(text))
	c.command.Stderr = os.Stderr
	output, err := c.command.StdoutPipe()
	require.NoError(t, err)
	c.orders, err = c.command.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, c.command.Start())
	t.Cleanup(c.kill)
	go func() {
		defer close(c.lines)
		for scanner := bufio.NewScanner(output); scanner.Scan(); {
			c.lines <- scanner.Text()
		}
	}()
	return c
}

// kill ends the process as nothing else does: it has no time for anything. Killing it again is fine.
func (c *child) kill() {
	_ = c.command.Process.Kill() // it fails when there is nothing left to kill
	for range c.lines {          // the pipe must be read to its end before Wait
	}
	_ = c.command.Wait() // it was killed
}

// isLong reports whether the test runs at full length.
func isLong() bool { return os.Getenv("BUSLINE_FAULTS") == "long" }

// TestOutbox_Kill kills the app, the relays and the broker at any time, and counts: each committed order is one event,
// in the order of its customer, and nothing else is.
func TestOutbox_Kill(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, on database) {
		config := childConfig{On: on, Broker: freeAddress(t), Store: t.TempDir(), Rows: 20 * customers}
		kills := 6
		if isLong() {
			config.Rows, kills = 100_000/customers*customers, 200
		}
		db := on.open(t)
		_, err := db.ExecContext(t.Context(), "CREATE TABLE orders (customer TEXT NOT NULL, number INTEGER NOT NULL, "+
			"PRIMARY KEY (customer, number))")
		require.NoError(t, err)
		box := outbox.New(db, on.Dialect)
		require.NoError(t, box.Migrate(t.Context()))
		began := time.Now()
		children := []*child{start(t, "broker", config)}
		for _, role := range []string{"app", "relay", "relay"} {
			children = append(children, start(t, role, config))
		}
		killed := make(map[string]int)
		for range kills {
			at := rand.IntN(len(children))
			time.Sleep(time.Duration(rand.Int64N(int64(400 * time.Millisecond))))
			children[at].kill()
			killed[children[at].role]++
			children[at] = start(t, children[at].role, config)
		}
		for line := range children[1].lines {
			if line == "done" {
				break
			}
		}
		committed := time.Since(began)
		until(t, "the outbox is empty", func() bool {
			waiting, err := box.Waiting(t.Context())
			return err == nil && waiting.Events == 0
		})
		drained := time.Since(began)
		lost, twice, disordered := verdict(t, config, db)
		t.Logf("%v: %d rows, killed %v, %d lost, %d twice, %d out of order; committed after %v, all published after %v",
			on.Dialect, config.Rows, killed, lost, twice, disordered, committed, drained)
		assert.Equal(t, []int{0, 0, 0}, []int{lost, twice, disordered})
	})
}

// verdict compares the orders that are committed with the events in the log.
func verdict(t *testing.T, config childConfig, db *sql.DB) (lost, twice, disordered int) {
	t.Helper()
	var orders int
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM orders").Scan(&orders))
	require.Equal(t, config.Rows, orders)
	conn, _, own, err := connect(t.Context(), config)
	require.NoError(t, err)
	defer func() {
		assert.NoError(t, conn.Close(context.Background()))
		assert.NoError(t, own.Close())
	}()
	seen, last := make(map[ordered]bool), make(map[string]int)
	for event, err := range eventlog.Tail(t.Context(), conn, host, eventlog.Since(time.Time{}), eventlog.NoFollow()) {
		require.NoError(t, err)
		var of ordered
		require.NoError(t, json.Unmarshal([]byte(event.Body), &of))
		require.Positive(t, of.Number, "it was rolled back")
		if seen[of] {
			twice++
		}
		if of.Number < last[of.Customer] {
			disordered++
		}
		seen[of], last[of.Customer] = true, of.Number
	}
	return orders - len(seen), twice, disordered
}

// freeAddress returns an address that nothing listens on now.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	return listener.Addr().String()
}

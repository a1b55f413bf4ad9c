package powertest_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/eventlog"
	"github.com/busline/busline/bus/events"
)

// published is how many events are confirmed before the power is cut.
const published = 200

// testTimeout bounds what a cluster takes to choose leaders.
const testTimeout = 30 * time.Second

// happened are the arguments of the event.
type happened struct {
	ID int `json:"id"`
}

const host = "source.example"

// cluster is brokers, each on a disk of its own, and a service.
type cluster struct {
	t       testing.TB
	brokers []*broker.Broker
	conn    *bus.Conn // to the last of them
	start   func(i int, folder string) *broker.Broker
}

// startCluster starts a broker for each folder, which keep their ports when they are started again.
func startCluster(t testing.TB, ports []int, folders []string, options ...broker.Option) *cluster {
	t.Helper()
	c := &cluster{t: t}
	t.Cleanup(c.close)
	var routes []string
	for _, port := range ports {
		routes = append(routes, fmt.Sprintf(`"nats://127.0.0.1:%d"`, port))
	}
	c.start = func(i int, folder string) *broker.Broker {
		all := append([]broker.Option{broker.Listen("127.0.0.1:0"), broker.JetStream(folder)}, options...)
		if len(folders) > 1 {
			all = append(all, broker.Config(fmt.Sprintf("server_name: s%d\ncluster { name: c, listen: \"127.0.0.1:%d\", "+
				"routes: [%s] }", i, ports[i], strings.Join(routes, ", "))))
		}
		started, err := broker.Start(all...)
		require.NoError(t, err)
		return started
	}
	for i, folder := range folders {
		c.brokers = append(c.brokers, c.start(i, folder))
	}
	var err error
	last := c.brokers[len(c.brokers)-1]
	c.conn, err = bus.Connect(t.Context(), host, bus.WithBroker(last), bus.WithLogger(zerolog.Nop()))
	require.NoError(t, err)
	return c
}

// close ends the service, and then the brokers.
func (c *cluster) close() {
	if c.conn != nil {
		_ = c.conn.Close(context.Background()) // it may have been closed already
	}
	for _, each := range c.brokers {
		each.Close()
	}
}

// within tries until it succeeds.
func within(t testing.TB, try func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(testTimeout); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err = try(); err == nil {
			return
		}
	}
	require.NoError(t, err)
}

// freePorts returns ports that nothing listens on now.
func freePorts(t testing.TB, count int) (ports []int) {
	t.Helper()
	listeners := make([]net.Listener, count)
	for i := range listeners {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		listeners[i] = listener
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	for _, each := range listeners {
		require.NoError(t, each.Close())
	}
	return ports
}

// event returns an event that is stored, once the brokers have chosen a leader.
func (c *cluster) event(replicas int) (event events.Event[happened]) {
	c.t.Helper()
	within(c.t, func() error {
		publisher, err := events.NewPublisher(c.conn, host, events.Replicas(replicas), events.Durable())
		if err == nil {
			event = events.NewEvent[happened](publisher, "/on-happened")
		}
		return err
	})
	return event
}

// publish stores the events, each confirmed before the next.
func publish(t *testing.T, event events.Event[happened]) {
	t.Helper()
	for id := range published {
		require.NoError(t, event.Publish(t.Context(), happened{id}))
	}
}

// stored returns how many of the events the log has.
func (c *cluster) stored() (count int) {
	c.t.Helper()
	within(c.t, func() error {
		count = 0
		for _, err := range eventlog.Tail(c.t.Context(), c.conn, host, eventlog.Since(time.Time{}), eventlog.NoFollow()) {
			if bus.StatusOf(err) == 404 {
				return nil
			}
			if err != nil {
				return err
			}
			count++
		}
		return nil
	})
	return count
}

// TestPower cuts the power when events were confirmed, and counts which of them are lost when the brokers are back.
func TestPower(t *testing.T) {
	for _, test := range []struct {
		name     string
		replicas int
		off      int // brokers that lose power
		options  []broker.Option
		lost     int
	}{
		{"one, by default", 1, 1, nil, published},
		{"one, always", 1, 1, []broker.Option{broker.SyncAlways()}, 0},
		{"three, by default", 3, 3, nil, published},
		{"three, by default, one loses power", 3, 1, nil, 0},
		{"three, always", 3, 3, []broker.Option{broker.SyncAlways()}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			disks, folders := newDisks(t, test.replicas)
			ports := freePorts(t, test.replicas)
			before := startCluster(t, ports, folders, test.options...)
			event := before.event(test.replicas)
			if test.options == nil { // nothing syncs what describes the log
				settle(disks)
			}
			publish(t, event)
			left, after := cut(t, disks), before
			if test.off < test.replicas { // the others run on
				after.brokers[0].Close()
				after.brokers[0] = after.start(0, left[0])
			} else {
				before.close()
				after = startCluster(t, ports, left, test.options...)
			}
			if test.lost == 0 {
				within(t, func() error { // a server that has lost its part is brought up to date first
					if lost := published - after.stored(); lost > 0 {
						return fmt.Errorf("%d events are lost", lost)
					}
					return nil
				})
				return
			}
			assert.Equal(t, test.lost, published-after.stored())
		})
	}
}

// TestPower_Interval holds that what was stored is on the disk after a period.
func TestPower_Interval(t *testing.T) {
	disks, folders := newDisks(t, 1)
	before := startCluster(t, nil, folders, broker.SyncInterval(100*time.Millisecond))
	event := before.event(1)
	settle(disks)
	publish(t, event)
	within(t, func() error {
		after := startCluster(t, nil, cut(t, disks))
		defer after.close()
		if lost := published - after.stored(); lost > 0 {
			return fmt.Errorf("%d events are not on the disk yet", lost)
		}
		return nil
	})
}

// BenchmarkStored is what it costs to store an event, with 64 publishers at a time.
func BenchmarkStored(b *testing.B) {
	for _, replicas := range []int{1, 3} {
		for name, options := range map[string][]broker.Option{"period": nil, "always": {broker.SyncAlways()}} {
			b.Run(fmt.Sprintf("replicas=%d/%s", replicas, name), func(b *testing.B) {
				folders := make([]string, replicas)
				for i := range folders {
					folders[i] = b.TempDir()
				}
				event := startCluster(b, freePorts(b, replicas), folders, options...).event(replicas)
				b.ResetTimer() // choosing leaders takes seconds
				b.SetParallelism(32)
				b.RunParallel(func(each *testing.PB) {
					for each.Next() {
						if err := event.Publish(b.Context(), happened{1}); err != nil {
							b.Error(err)
							return
						}
					}
				})
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
			})
		}
	}
}

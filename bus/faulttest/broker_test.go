package faulttest_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// brokerConfig says what kind of broker to run. The zero value has the settings of bus/broker.
type brokerConfig struct {
	Port         int
	ClusterPort  int
	Peers        []int // the cluster ports to connect to
	Remotes      int   // how many brokers it is routed to in the end
	PingInterval time.Duration
	MaxPayload   int32
	MaxPending   int64
	StoreDir     string // of JetStream; empty: none
	MaxStore     int64  // what JetStream may store; 0: no limit
}

// brokers are brokers in processes of their own, routed to each other when there are several. They keep their ports
// when they are restarted.
type brokers struct {
	configs []brokerConfig
	running []*child
}

// startBrokers returns when all of them serve, and know each other.
func startBrokers(t *testing.T, count int, config brokerConfig) *brokers {
	t.Helper()
	b := &brokers{configs: make([]brokerConfig, count), running: make([]*child, count)}
	var clusterPorts []int
	for i := range count {
		b.configs[i] = config
		b.configs[i].Port = freePort(t)
		if config.StoreDir != "" {
			b.configs[i].StoreDir = filepath.Join(config.StoreDir, strconv.Itoa(i))
		}
		if count > 1 {
			b.configs[i].ClusterPort = freePort(t)
			clusterPorts = append(clusterPorts, b.configs[i].ClusterPort)
		}
	}
	for i := range count {
		b.configs[i].Peers, b.configs[i].Remotes = clusterPorts, count-1
		b.start(t, i)
	}
	for _, each := range b.running {
		each.expect(t, "routed")
	}
	return b
}

// start runs one of them, and returns when clients can connect.
func (b *brokers) start(t *testing.T, i int) {
	t.Helper()
	b.running[i] = startChild(t, "broker", b.configs[i])
}

func (b *brokers) kill(i int) { b.running[i].kill() }

// stop ends one of them in good order.
func (b *brokers) stop(t *testing.T, i int) {
	t.Helper()
	b.running[i].order(t, "stop")
	b.running[i].expect(t, "stopped")
}

// lameDuck makes one of them send its clients away, and stop.
func (b *brokers) lameDuck(t *testing.T, i int) {
	t.Helper()
	b.running[i].order(t, "leave")
	b.running[i].expect(t, "stopped")
}

func (b *brokers) address(i int) string {
	return "127.0.0.1:" + strconv.Itoa(b.configs[i%len(b.configs)].Port)
}

func (b *brokers) url(i int) string { return "nats://" + b.address(i) }

// complaints is the log of a broker: of all that it says, only the first reason why it cannot go on.
type complaints chan string

func (complaints) Noticef(string, ...any) {}
func (complaints) Warnf(string, ...any)   {}
func (complaints) Errorf(string, ...any)  {}
func (complaints) Debugf(string, ...any)  {}
func (complaints) Tracef(string, ...any)  {}

func (c complaints) Fatalf(format string, arguments ...any) {
	select {
	case c <- fmt.Sprintf(format, arguments...):
	default:
	}
}

// givenPorts are those that freePort has returned.
var givenPorts sync.Map

// freePort returns one that nothing listens on, and that it has not returned before. It stays clear of those that the
// system gives to outgoing connections, so that it is still free when a broker comes back to it.
func freePort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 10_000 + rand.IntN(20_000)
		if _, used := givenPorts.LoadOrStore(port, true); used {
			continue
		}
		listener, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err == nil {
			_ = listener.Close()
			return port
		}
	}
	t.Fatal("no free port between 10000 and 30000")
	return 0
}

// runBroker runs a broker until the order to stop.
func runBroker(text []byte) error {
	var config brokerConfig
	if err := json.Unmarshal(text, &config); err != nil {
		return err
	}
	embedded, err := server.NewServer(config.options())
	if err != nil {
		return err
	}
	complaints := make(complaints, 1)
	embedded.SetLoggerV2(complaints, false, false, false)
	embedded.Start()
	ready := make(chan bool, 1)
	go func() { ready <- embedded.ReadyForConnections(testTimeout) }()
	select {
	case why := <-complaints:
		return errors.New(why)
	case is := <-ready:
		if !is {
			return errors.New("not ready")
		}
	}
	fmt.Println("ready")
	go func() {
		for embedded.NumRemotes() < config.Remotes && embedded.Running() {
			time.Sleep(time.Millisecond) // a process of its own, which does not report it
		}
		fmt.Println("routed")
	}()
	end := func(shutdown func()) func() error {
		return func() error {
			shutdown()
			embedded.WaitForShutdown()
			fmt.Println("stopped")
			return nil
		}
	}
	return obey(map[string]func() error{"stop": end(embedded.Shutdown), "leave": end(embedded.LameDuckShutdown)})
}

func (c brokerConfig) options() *server.Options {
	options := &server.Options{
		Host: "127.0.0.1", Port: c.Port, NoSigs: true, NoLog: true,
		MaxPayload: cmp.Or(c.MaxPayload, 1<<20), MaxPending: c.MaxPending,
		PingInterval: cmp.Or(c.PingInterval, 10*time.Second),
		// the shortest that the server allows in its configuration is 30 s; only waiting times depend on it
		LameDuckDuration: time.Second, LameDuckGracePeriod: 200 * time.Millisecond,
		JetStream: c.StoreDir != "", StoreDir: c.StoreDir, JetStreamMaxStore: c.MaxStore,
	}
	if c.ClusterPort == 0 {
		return options
	}
	options.ServerName = strconv.Itoa(c.Port)
	options.Cluster = server.ClusterOpts{Name: "faults", Host: "127.0.0.1", Port: c.ClusterPort}
	for _, peer := range c.Peers {
		if peer != c.ClusterPort {
			options.Routes = append(options.Routes, &url.URL{Scheme: "nats", Host: "127.0.0.1:" + strconv.Itoa(peer)})
		}
	}
	return options
}

package batch_test

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/internal/batch"
)

// BenchmarkRequest is nats.go's request and reply over one broker and two connections, one caller at a time and 64 for
// each core, with the writes to sockets that a call takes, the broker's included.
func BenchmarkRequest(b *testing.B) {
	for _, size := range []int{16, 1 << 10, 64 << 10} {
		for _, transport := range transports() {
			b.Run(fmt.Sprintf("%s/size=%d/serial", transport.name, size), func(b *testing.B) {
				request := transport.request(b, size)
				for b.Loop() {
					request()
				}
			})
			b.Run(fmt.Sprintf("%s/size=%d/parallel", transport.name, size), func(b *testing.B) {
				request := transport.request(b, size)
				b.SetParallelism(64)
				b.ReportAllocs()
				before := writes()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						request()
					}
				})
				b.ReportMetric(float64(writes()-before)/float64(b.N), "writes/op")
			})
		}
	}
}

// transport is one way for nats.go to connect to a broker.
type transport struct {
	name string
	dial func(embedded *server.Server) (*nats.Conn, error)
}

func transports() []transport {
	return []transport{
		{"tcp", func(s *server.Server) (*nats.Conn, error) { return nats.Connect(s.ClientURL()) }},
		{"tcp-batch", func(s *server.Server) (*nats.Conn, error) {
			return nats.Connect(s.ClientURL(), nats.SetCustomDialer(&batch.Dialer{}), nats.SkipHostLookup())
		}},
		{"memory", func(s *server.Server) (*nats.Conn, error) { return nats.Connect("", nats.InProcessServer(s)) }},
		{"memory-batch", func(s *server.Server) (*nats.Conn, error) {
			return nats.Connect("", nats.InProcessServer(collected{s}))
		}},
	}
}

// collected is a provider whose connections are collected.
type collected struct{ *server.Server }

func (c collected) InProcessConn() (net.Conn, error) {
	conn, err := c.Server.InProcessConn()
	if err != nil {
		return nil, err
	}
	return batch.New(conn), nil
}

// request starts a broker, a replier and a requester.
func (tr transport) request(b *testing.B, size int) func() {
	b.Helper()
	embedded := startServer(b, &server.Options{})
	server, client := tr.connect(b, embedded), tr.connect(b, embedded)
	if _, err := server.Subscribe("echo", func(m *nats.Msg) { _ = m.Respond(m.Data) }); err != nil {
		b.Fatal(err)
	}
	if err := server.Flush(); err != nil {
		b.Fatal(err)
	}
	payload := []byte(strings.Repeat("x", size))
	return func() {
		if _, err := client.Request("echo", payload, nats.DefaultTimeout*10); err != nil {
			b.Error(err)
		}
	}
}

func (tr transport) connect(b *testing.B, embedded *server.Server) *nats.Conn {
	b.Helper()
	conn, err := tr.dial(embedded)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(conn.Close)
	return conn
}

// writes returns how many write system calls this process has made, 0 if the system does not report it.
func writes() (count int64) {
	data, _ := os.ReadFile("/proc/self/io")
	for line := range strings.Lines(string(data)) {
		_, _ = fmt.Sscanf(line, "syscw: %d", &count)
	}
	return count
}

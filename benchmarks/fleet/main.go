// Fleet measures what instances cost that start and stop together, on a broker of their own:
//
//	go run ./benchmarks/fleet                     # 10, 100, 400 and 1000 instances
//	go run ./benchmarks/fleet -instances 50,200
//
// Each is a service of its own connection to the broker, as if it were in another process, and all share one host. It prints a table in
// Markdown; README.md has one.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
)

func main() {
	instances := flag.String("instances", "10,100,400,1000", "how many, separated by commas")
	settle := flag.Duration("settle", 3*time.Second, "time after the last start until the messages are counted")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *instances, *settle); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, stdout io.Writer, instances string, settle time.Duration) error {
	table := tabwriter.NewWriter(stdout, 0, 0, 1, ' ', 0)
	fmt.Fprintln(table, "| instances\t| all started\t| sent by each\t| received by each\t| KiB of each, broker included\t| discovery\t|")
	fmt.Fprintln(table, "|--:\t|--:\t|--:\t|--:\t|--:\t|--:\t|")
	for text := range strings.SplitSeq(instances, ",") {
		count, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || count < 1 {
			return fmt.Errorf("-instances %s: %q is no number of instances", instances, text)
		}
		measured, err := measure(ctx, count, settle)
		if err != nil {
			return err
		}
		measured.print(table, count)
	}
	return table.Flush()
}

// figures are those of one fleet.
type figures struct {
	started, discovery time.Duration
	messages           messages // from the start of the first instance to the stop of the last
	memory             uint64   // bytes
}

// messages are those that the instances have sent and received.
type messages struct{ sent, received uint64 }

func (f figures) print(table io.Writer, count int) {
	each := func(total uint64) float64 { return float64(total) / float64(count) }
	fmt.Fprintf(table, "| %d\t| %s\t| %.1f\t| %.1f\t| %.0f\t| %s\t|\n", count, f.started.Round(time.Millisecond),
		each(f.messages.sent), each(f.messages.received), each(f.memory)/1024, f.discovery.Round(time.Millisecond))
}

// fleet is a service with many instances.
type fleet struct {
	conns []*bus.Conn
	raw   []*nats.Conn
}

// worker is what each instance serves.
type worker struct{}

func (worker) Work(x int) (y int) { return x }

func measure(ctx context.Context, count int, settle time.Duration) (f figures, err error) {
	embedded, err := broker.Start(broker.Listen("127.0.0.1:0"))
	if err != nil {
		return f, err
	}
	defer embedded.Close()
	before := memory()
	all, began := &fleet{make([]*bus.Conn, count), make([]*nats.Conn, count)}, time.Now()
	err = all.each(func(i int) error {
		conn, err := bus.Connect(ctx, "worker.example", bus.WithURL(embedded.URL()), bus.WithoutSharing(), bus.WithLogger(zerolog.Nop()))
		if err != nil {
			return err
		}
		all.conns[i], all.raw[i] = conn, conn.NATS()
		return bus.Serve(conn, worker{}, bus.ParamNames("Work", "x", "y"))
	})
	if err != nil {
		return f, err
	}
	f.started = time.Since(began)
	time.Sleep(settle)
	f.memory = memory() - before
	started := all.messages()
	if f.discovery, err = discover(ctx, embedded.URL(), count); err != nil {
		return f, err
	}
	discovered := all.messages()
	if err := all.each(func(i int) error { return all.conns[i].Close(ctx) }); err != nil {
		return f, err
	}
	f.messages = all.messages()
	f.messages.sent -= discovered.sent - started.sent
	f.messages.received -= discovered.received - started.received
	return f, nil
}

// each runs a function for each instance, 16 at a time.
func (f *fleet) each(run func(i int) error) error {
	errs, room := make(chan error, len(f.conns)), make(chan struct{}, 16)
	var running sync.WaitGroup
	for i := range f.conns {
		room <- struct{}{}
		running.Go(func() {
			defer func() { <-room }()
			if err := run(i); err != nil {
				errs <- err
			}
		})
	}
	running.Wait()
	close(errs)
	return <-errs
}

// messages adds up those of all instances.
func (f *fleet) messages() (all messages) {
	for _, conn := range f.raw {
		stats := conn.Stats()
		all.sent += stats.OutMsgs
		all.received += stats.InMsgs
	}
	return all
}

// memory returns the bytes in use.
func memory() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapInuse + stats.StackInuse
}

// discover finds all instances, and returns how long it takes.
func discover(ctx context.Context, url string, count int) (time.Duration, error) {
	caller, err := bus.Connect(ctx, "caller.example", bus.WithURL(url), bus.WithLogger(zerolog.Nop()))
	if err != nil {
		return 0, err
	}
	defer caller.Close(ctx) //nolint:errcheck // the measurement has ended
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://worker.example:888/ping", http.NoBody)
	if err != nil {
		return 0, err
	}
	began, found := time.Now(), 0
	for response, err := range caller.Multicast(request) {
		if err != nil {
			return 0, err
		}
		_ = response.Body.Close()
		found++
	}
	if found != count {
		return 0, fmt.Errorf("%d of %d instances were found", found, count)
	}
	return time.Since(began), nil
}

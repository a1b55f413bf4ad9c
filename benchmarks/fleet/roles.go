package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strconv"
	"sync"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/portal"
	"github.com/busline/busline/portal/ingress"
)

// What children are.
const (
	brokerRole    = "broker"
	instancesRole = "instances"
	portalRole    = "portal"
)

// Commands to the instances.
const (
	startCommand = "start"
	countCommand = "count"
	stopCommand  = "stop"
)

// counts are those of some instances.
type counts struct {
	Sent, Received uint64 // messages
	Subscriptions  int
}

func (c *counts) add(other counts) {
	c.Sent, c.Received, c.Subscriptions = c.Sent+other.Sent, c.Received+other.Received, c.Subscriptions+other.Subscriptions
}

// worker is what each instance serves.
type worker struct{}

// Work returns its argument.
func (worker) Work(x int) (y int) { return x }

// Rest returns nothing.
func (worker) Rest() {}

// ListJobs serves GET /jobs.
func (worker) ListJobs(_ context.Context, limit int) (jobs []string) {
	return make([]string, min(limit, 1))
}

// instances are those of one process.
type instances struct {
	url     string
	hosts   []string // of each
	conns   []*bus.Conn
	atATime int // that start or stop
}

// together is how many instances of a fleet start or stop at a time.
const together = 16

// beInstances runs the instances of hosts from the first to before the last, "worker-7.example", at a broker; the last
// argument is how many start at a time.
func beInstances(ctx context.Context,
	arguments []string) (line string, answer func(string) (string, error), err error) {
	first, err := strconv.Atoi(arguments[1])
	if err != nil {
		return "", nil, err
	}
	end, err := strconv.Atoi(arguments[2])
	if err != nil {
		return "", nil, err
	}
	atATime, err := strconv.Atoi(arguments[3])
	if err != nil {
		return "", nil, err
	}
	all := &instances{url: arguments[0], conns: make([]*bus.Conn, end-first), atATime: atATime}
	for number := first; number < end; number++ {
		all.hosts = append(all.hosts, hostOf(number))
	}
	return "", func(command string) (string, error) { return all.do(ctx, command) }, nil
}

func hostOf(number int) string { return fmt.Sprintf("worker-%d.example", number) }

func (i *instances) do(ctx context.Context, command string) (string, error) {
	switch command {
	case startCommand:
		return "", i.each(func(at int) error { return i.start(ctx, at) })
	case stopCommand:
		return "", i.each(func(at int) error { return i.conns[at].Close(ctx) })
	case countCommand:
		debug.FreeOSMemory()
		text, err := json.Marshal(i.count())
		return string(text), err
	default:
		return "", fmt.Errorf("there is no command %q", command)
	}
}

func (i *instances) start(ctx context.Context, at int) error {
	conn, err := bus.Connect(ctx, i.hosts[at], bus.WithURL(i.url), bus.WithoutSharing(), bus.WithLogger(zerolog.Nop()))
	if err != nil {
		return err
	}
	i.conns[at] = conn
	return bus.Serve(conn, worker{}, bus.ParamNames("Work", "x", "y"), bus.ParamNames("ListJobs", "limit", "jobs"))
}

func (i *instances) count() (all counts) {
	for _, conn := range i.conns {
		if conn != nil {
			raw := conn.NATS()
			stats := raw.Stats()
			all.add(counts{stats.OutMsgs, stats.InMsgs, raw.NumSubscriptions()})
		}
	}
	return all
}

// each runs a function for each instance.
func (i *instances) each(run func(at int) error) error {
	errs, room := make(chan error, len(i.conns)), make(chan struct{}, i.atATime)
	var running sync.WaitGroup
	for at := range i.conns {
		room <- struct{}{}
		running.Go(func() {
			defer func() { <-room }()
			if err := run(at); err != nil {
				errs <- err
			}
		})
	}
	running.Wait()
	close(errs)
	return <-errs
}

// bePortal runs the portal and an ingress at a broker.
func bePortal(ctx context.Context, arguments []string) (base string, _ func(string) (string, error), err error) {
	connect := func(host string) (*bus.Conn, error) {
		return bus.Connect(ctx, host, bus.WithURL(arguments[0]), bus.WithLogger(zerolog.Nop()))
	}
	page, err := connect("portal")
	if err != nil {
		return "", nil, err
	}
	if err := portal.Register(page); err != nil {
		return "", nil, err
	}
	door, err := connect("ingress")
	if err != nil {
		return "", nil, err
	}
	handler, err := ingress.New(door)
	if err != nil {
		return "", nil, err
	}
	server, err := ingress.Listen(handler, ingress.WithAddress("127.0.0.1:0"))
	if err != nil {
		return "", nil, err
	}
	go func() { _ = server.Serve(ctx) }() // ends with the process
	return server.BaseURL(), nil, nil
}

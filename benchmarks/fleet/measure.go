package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/busline/busline/benchmarks/child"
	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// figures are those of one fleet.
type figures struct {
	instances, processes int

	started              time.Duration
	counts               counts // of all instances, from the first start to the last stop
	memory, brokerMemory int64  // bytes of all
	discovery, multicast time.Duration

	// processor time of an instance and of the broker for one announcement that one instance receives
	perInstance, forwarded time.Duration

	page       time.Duration // from the first request for the documents to the last byte, when the portal knows nothing
	pageCPU    float64       // share of a core that the portal takes while it is looked at
	pageBytes  float64       // a second
	scrape     time.Duration
	scrapeSize int64 // bytes
}

// fleet is a broker, instances in some processes, and a portal.
type fleet struct {
	broker, portal *child.Process
	parts          []*child.Process
	closing        []*child.Process
}

func (f *fleet) start(role string, arguments ...string) (*child.Process, error) {
	process, err := child.Start(role, arguments...)
	if err == nil {
		f.closing = append(f.closing, process)
	}
	return process, err
}

func (f *fleet) close() error {
	var errs []error
	for _, each := range slices.Backward(f.closing) {
		errs = append(errs, each.Close())
	}
	return errors.Join(errs...)
}

// ask sends a command to all parts at once, and adds up what they have counted.
func (f *fleet) ask(command string) (all counts, err error) {
	answers, errs := make([]string, len(f.parts)), make([]error, len(f.parts))
	var asking sync.WaitGroup
	for at, part := range f.parts {
		asking.Go(func() { answers[at], errs[at] = part.Ask(command) })
	}
	asking.Wait()
	for at, answer := range answers {
		if errs[at] != nil || command != countCommand {
			continue
		}
		var counted counts
		errs[at] = json.Unmarshal([]byte(answer), &counted)
		all.add(counted)
	}
	return all, errors.Join(errs...)
}

// memory returns that of all parts.
func (f *fleet) memory() (bytes int64) {
	for _, part := range f.parts {
		bytes += child.Memory(part.ID())
	}
	return bytes
}

// cpu returns the processor time of all parts.
func (f *fleet) cpu() (used time.Duration) {
	for _, part := range f.parts {
		used += child.CPU(part.ID())
	}
	return used
}

func measure(ctx context.Context, count, processes int, set *settings) (figures, error) {
	measured := figures{instances: count, processes: processes}
	all := new(fleet)
	err := errors.Join(all.measure(ctx, &measured, set), all.close())
	return measured, err
}

func (f *fleet) measure(ctx context.Context, m *figures, set *settings) (err error) {
	if f.broker, err = f.start(brokerRole); err != nil {
		return err
	}
	url := f.broker.Told()
	for part := range m.processes {
		first, end := part*m.instances/m.processes, (part+1)*m.instances/m.processes
		started, err := f.start(instancesRole, url, strconv.Itoa(first), strconv.Itoa(end),
			strconv.Itoa(max(1, together/m.processes)))
		if err != nil {
			return err
		}
		f.parts = append(f.parts, started)
	}
	if _, err = f.ask(countCommand); err != nil {
		return err
	}
	memory, brokerMemory, began := f.memory(), child.Memory(f.broker.ID()), time.Now()
	if _, err = f.ask(startCommand); err != nil {
		return err
	}
	m.started = time.Since(began)
	time.Sleep(set.settle)
	running, err := f.ask(countCommand)
	if err != nil {
		return err
	}
	m.memory, m.brokerMemory = f.memory()-memory, child.Memory(f.broker.ID())-brokerMemory
	if m.discovery, m.multicast, err = multicasts(ctx, url, m.instances); err != nil {
		return err
	}
	if err := f.announce(m, url, set.announcements); err != nil {
		return fmt.Errorf("announcements that are made up: %w", err)
	}
	if f.portal, err = f.start(portalRole, url); err != nil {
		return err
	}
	if err := f.look(ctx, m, set.look); err != nil {
		return err
	}
	before, err := f.ask(countCommand)
	if err != nil {
		return err
	}
	if _, err = f.ask(stopCommand); err != nil {
		return err
	}
	m.counts, err = f.ask(countCommand)
	m.counts.Sent += running.Sent - before.Sent // not what was measured in between
	m.counts.Received += running.Received - before.Received
	m.counts.Subscriptions = running.Subscriptions
	return err
}

// multicasts calls all instances as a caller that has just come, and again when it knows them and has received its own
// announcement.
func multicasts(ctx context.Context, url string, count int) (first, next time.Duration, err error) {
	caller, err := bus.Connect(ctx, "caller.example", bus.WithURL(url), bus.WithLogger(zerolog.Nop()))
	if err != nil {
		return 0, 0, err
	}
	defer caller.Close(ctx) //nolint:errcheck // the measurement has ended
	for _, took := range []*time.Duration{&first, &next, &next} {
		began, found := time.Now(), 0
		for response, err := range caller.Multicast(get(ctx, "https://all:888/ping")) {
			if err != nil {
				return 0, 0, err
			}
			_ = response.Body.Close()
			found++
		}
		if *took = time.Since(began); found != count+1 { // the caller is one, too
			return 0, 0, fmt.Errorf("%d of %d instances were found", found-1, count)
		}
	}
	return first, next, nil
}

func get(ctx context.Context, address string) *http.Request {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		panic(err) // cannot happen: the addresses are ours
	}
	return request
}

// announce has instances announce themselves that are not there, and measures what that costs the others.
func (f *fleet) announce(m *figures, url string, count int) error {
	conn, err := nats.Connect(url)
	if err != nil {
		return err
	}
	defer conn.Close()
	to, err := subject.Address{Port: subject.ControlPort, Host: subject.HostAll, Method: http.MethodPost,
		Path: "/hello"}.Subject("bus")
	if err != nil {
		return err
	}
	cpu, brokerCPU := f.cpu(), child.CPU(f.broker.ID())
	const (
		most       = 1000      // a second, of which an instance takes 5000
		deliveries = 100_000   // a second, which leaves most of two cores idle
		enough     = 1_000_000 // deliveries in all
	)
	count = min(count, max(1, enough/m.instances))
	pace := time.NewTicker(time.Second / time.Duration(min(most, max(1, deliveries/m.instances))))
	defer pace.Stop()
	for number := range count {
		<-pace.C
		message := wire.AppendRequest(nil, &wire.Request{
			Method: http.MethodPost, Target: "/hello", Host: "all:888", FromHost: fmt.Sprintf("made-up-%d.example", number),
			FromID: "m1aaaaaaaa",
			MsgID:  strconv.Itoa(number), TimeBudget: wire.DefaultTimeBudget, CallDepth: 1,
		})
		if err := conn.Publish(to, message); err != nil {
			return err
		}
	}
	if err := conn.Flush(); err != nil {
		return err
	}
	if _, err := f.ask(countCommand); err != nil { // by then all have received them
		return err
	}
	announcements := time.Duration(max(1, count*m.instances))
	m.perInstance, m.forwarded = (f.cpu()-cpu)/announcements, (child.CPU(f.broker.ID())-brokerCPU)/announcements
	return nil
}

// look does what the page does in a browser, and then what Prometheus does.
func (f *fleet) look(ctx context.Context, m *figures, duration time.Duration) error {
	reader := &reader{base: f.portal.Told(), etags: make(map[string]string)}
	documents := []string{"/portal/openapi.json", "/portal/asyncapi.json", "/portal/instances.json"}
	began := time.Now()
	if err := reader.read(ctx, documents...); err != nil {
		return err
	}
	m.page = time.Since(began)
	if err := reader.read(ctx, append(documents, "/portal/live.json")...); err != nil {
		return err
	}
	cpu, size, began := child.CPU(f.portal.ID()), reader.bytes, time.Now()
	figures, lists := time.NewTicker(2*time.Second), time.NewTicker(4*time.Second) //nolint:mnd // as the page does
	defer figures.Stop()
	defer lists.Stop()
	for over := time.After(duration); over != nil; {
		var err error
		select {
		case <-over:
			over = nil
		case <-figures.C:
			err = reader.read(ctx, "/portal/live.json")
		case <-lists.C:
			err = reader.read(ctx, documents...)
		}
		if err != nil {
			return err
		}
	}
	took := time.Since(began).Seconds()
	m.pageCPU = (child.CPU(f.portal.ID()) - cpu).Seconds() / took
	m.pageBytes = float64(reader.bytes-size) / took
	began, size = time.Now(), reader.bytes
	if err := reader.read(ctx, "/-/metrics/all"); err != nil {
		return err
	}
	m.scrape, m.scrapeSize = time.Since(began), reader.bytes-size
	return nil
}

// reader reads documents of the portal, and only those that have changed.
type reader struct {
	base  string
	etags map[string]string
	bytes int64
}

func (r *reader) read(ctx context.Context, paths ...string) error {
	for _, path := range paths {
		request := get(ctx, r.base+path)
		if etag := r.etags[path]; etag != "" {
			request.Header.Set("If-None-Match", etag)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		var body bytes.Buffer
		_, err = io.Copy(&body, response.Body)
		_ = response.Body.Close()
		if err != nil {
			return err
		}
		r.bytes += int64(body.Len())
		switch response.StatusCode {
		case http.StatusOK:
			r.etags[path] = response.Header.Get("ETag")
		case http.StatusNotModified:
		default:
			return fmt.Errorf("%s: %s: %s", path, response.Status, body.Bytes())
		}
	}
	return nil
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/busline/busline/bus"
)

// parkedKinds are kinds of parked events: "on-ordered of mailer.example".
type parkedKinds map[string]bool

func (k parkedKinds) add(event *bus.DeadLetter) {
	k[cleanLine(event.Event)+" of "+event.Service] = true
}

// noneParked returns the error for a source, a service or an event that is probably misspelt, as nothing is parked of it. It
// returns nil if the source stores events and none is parked, which is good news.
func (s *session) noneParked(ctx context.Context, conn *bus.Conn, options parkedOptions, others parkedKinds) error {
	if len(others) > 0 {
		kinds := strings.Join(slices.Sorted(maps.Keys(others)), ", ")
		return &failure{status: absent, err: fmt.Errorf("no such event of %s is parked; there are %s", options.source, kinds)}
	}
	manager, err := jetstream.New(conn.NATS())
	if err != nil {
		return err
	}
	_, err = manager.Stream(ctx, conn.Plane()+"_EVENTS_"+strings.ReplaceAll(options.source, ".", "_")) // see docs/wire.md
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil // it is there, or may be
	}
	instances, err := s.discover(ctx, "all")
	if err != nil {
		return err
	}
	return &failure{status: absent, err: fmt.Errorf("%s has no stored events in plane %s%s", options.source, conn.Plane(), didYouMean(options.source, hostsIn(instances)))}
}

// hostsIn returns all hosts, also those that serve nothing, such as a mere source of events.
func hostsIn(instances []instance) (hosts []string) {
	for _, each := range instances {
		hosts = append(hosts, each.Host)
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

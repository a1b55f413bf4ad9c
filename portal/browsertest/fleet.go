package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chromedp/chromedp/kb"

	"github.com/busline/busline/bus"
)

// fleetSize is the number of services of a large bus.
const fleetSize = 1000

// fleetPeriod is the time between two rounds of calls in a fleet.
const fleetPeriod = 500 * time.Millisecond

// errFull is why some services of a fleet fail.
var errFull = errors.New("the disk is full")

// fleetService is one of a fleet.
type fleetService struct{ err error }

// Lookup finds what is stored under a key.
func (fleetService) Lookup(key string) (value string, found bool) { return key, true }

// Store keeps a value.
func (f fleetService) Store(_, _ string) (stored bool, err error) { return true, f.err }

// Stats returns the state.
func (fleetService) Stats() (entries, bytes int64) { return 1, 2 }

// scale visits a thousand services.
func scale(v *visit) error {
	drawn := func(what, condition string) step {
		return v.awaits(what, `((nodes) => `+condition+
			`)([...document.querySelectorAll(".map-node")].map((node) => node.getAttribute("aria-label").split(":")[0]))`)
	}
	var comes guest
	return do(v.startFleet, v.opens(""), v.sees(".count", "1000 services, 3000 operations"),
		v.sees(".tiles + p", "880 more"),
		v.fills("#search", "node-0777"), v.sees(".count", "3 operations of 1 service found"), v.presses(kb.Enter),
		v.sees(".operation", "Lookup finds"),
		v.fills("#search", "lookup"), v.sees(".count", "1000 operations of 1000 services found"), v.clicks(".more button"),
		v.awaits("all that is found", `document.querySelectorAll(".services ul a").length === 1000`),
		v.awaits("the first that was not shown has the focus",
			`document.activeElement.dataset.at === "node-0200.billing.example"`),
		v.fills("#search", ""), func() error {
			return v.run(`window.row = document.querySelector('[data-at="node-0500.billing.example"]')`)
		},
		func() (err error) {
			comes, err = v.startGuest(func(conn *bus.Conn) error { return bus.Serve(conn, oldGuest{}) })
			return err
		},
		v.sees(".count", "1001 services"), v.sees(".banner", "new"),
		func() error { return comes.leave() }, v.sees(".count", "1000 services"), v.sees(".banner", "gone"),
		v.awaits("the others are the same elements", `row.isConnected`),
		v.opens("#/map"), v.sees(".map-state", "Live"), v.sees(".map-left-out", "of 1000: what fails"),
		drawn("a picture of some", `nodes.length > 20 && nodes.length <= 36`), v.sees(".map-left-out", "counted only"),
		drawn("what fails", `nodes.includes("node-0155.billing.example")`),
		drawn("what is busiest", `nodes.includes("node-0003.identity.example")`),
		v.awaits("its calls", `document.querySelector(".map-edge.failed")`),
		v.awaits("its colour", `document.querySelector('.map-node.failed[aria-label^="node-0155.billing.example"]')`),
		v.awaits("short tables", `document.querySelectorAll(".map-table tbody tr").length === 200`), v.takes("fleet-map"),
		v.fills(".map-filter input", "node-0155"),
		drawn("who has to do with it",
			`nodes.sort().join() === "node-0005.billing.example,node-0154.search.example,node-0155.billing.example"`),
		v.fills(".map-filter input", "node-0999"), drawn("what has no calls", `nodes.join() === "node-0999.search.example"`),
		v.fills(".map-filter input", ""), v.clicks(".map-scroll:last-child .map-more"),
		v.awaits("all services", `document.querySelectorAll(".map-scroll:last-child tbody tr").length === 1000`),
	)
}

// fleetHost is the name of a service.
func fleetHost(at int) string {
	areas := []string{"billing", "catalog", "fulfilment", "identity", "search"}
	return fmt.Sprintf("node-%04d.%s.example", at, areas[at%len(areas)])
}

// startFleet starts a thousand services: every fifth is called by its neighbour, the first ten by hundreds, and seven
// fail.
func (s *stage) startFleet() error {
	const hubs, callers, neighbours, failing = 10, 500, 5, 150
	members := make([]*bus.Conn, fleetSize)
	for at := range members {
		conn, err := s.join(fleetHost(at))
		if err != nil {
			return err
		}
		members[at] = conn
		var served fleetService
		if at%failing == neighbours {
			served.err = errFull
		}
		if err := bus.Serve(conn, served, bus.ParamNames("Store", "key, value", "stored")); err != nil {
			return err
		}
	}
	round := func(ctx context.Context) {
		for at, from := range members[:callers] {
			_ = from.Call(ctx, "https://"+fleetHost(at%hubs)+"/lookup", bus.Args{"key": "a"}, nil)
			if at%neighbours == neighbours-1 {
				_ = from.Call(ctx, "https://"+fleetHost(at+1)+"/store", bus.Args{"key": "a", "value": "b"}, nil) // some fail
			}
		}
	}
	calling, cancel := context.WithCancel(s.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		rounds := time.NewTicker(fleetPeriod)
		defer rounds.Stop()
		for calling.Err() == nil {
			round(calling)
			select {
			case <-rounds.C:
			case <-calling.Done():
			}
		}
	}()
	s.atEnd(func(context.Context) error { cancel(); <-done; return nil })
	return nil
}

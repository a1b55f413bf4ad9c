package events

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/reflectapi/similar"
)

// A service that subscribes with Durable gets nothing of a publisher without it, of one that does not exist, or of an
// event that is not published. JetStream says nothing. So the service sends an instance of the publisher what it
// subscribes to, which answers what it publishes: any instance at Subscribe and from time to time, and each that
// greets. Both sides log what does not fit, and note it for operators.

const (
	checkWithin      = 5 * time.Second
	checkAfterHello  = time.Second      // the publisher has named its events by then
	checkPause       = 10 * time.Minute // between two checks of a publisher that fits
	checkPauseIfNot  = time.Minute
	unstoredForgiven = 5 * time.Minute // after the last report of a subscriber that an event is not stored

	maxUnstored = 256 // events that subscribers want to be stored; any client can report some
	maxChecked  = 16  // instances that one check asks; of a fleet that starts, not all are
)

// publisherCheck checks one publisher of stored events. The subscriptions are those of all Subscribe to it.
type publisherCheck struct {
	of        *sources
	publisher string

	mu            sync.Mutex // protects all below
	timer         *time.Timer
	subscriptions map[string]eventReader     // by event
	greeted       map[string]bool            // instances that are to be asked
	unfit         map[string]map[string]bool // what instances publish that do not fit, and whether it is stored
	notes         []string
}

// check begins to check the publisher of subscriptions, until the connection closes.
func (s *sources) check(publisher string, subscriptions map[string]eventReader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.checks[publisher]
	if known == nil {
		known = &publisherCheck{
			of: s, publisher: publisher, subscriptions: make(map[string]eventReader),
			greeted: make(map[string]bool), unfit: make(map[string]map[string]bool),
		}
		known.timer = time.AfterFunc(time.Hour, known.check)
		context.AfterFunc(s.Base(), func() { known.timer.Stop() })
		s.checks[publisher] = known
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	maps.Copy(known.subscriptions, subscriptions)
	known.timer.Reset(0)
}

// Greeted checks an instance of a publisher soon, or forgets it if it leaves.
func (s *sources) Greeted(host, id string, stays bool) {
	s.mu.Lock()
	known := s.checks[host]
	s.mu.Unlock()
	if known == nil {
		return
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	delete(known.unfit, id)
	if stays && len(known.greeted) < maxChecked {
		known.greeted[id] = true
	}
	known.timer.Reset(checkAfterHello)
}

// The timer calls check.
func (p *publisherCheck) check() {
	if p.of.IsClosing() {
		return
	}
	ctx, cancel := context.WithTimeout(p.of.Base(), checkWithin)
	defer cancel()
	p.mu.Lock()
	subscriptions := maps.Clone(p.subscriptions)
	ask := maps.Clone(p.greeted)
	clear(p.greeted)
	for id := range p.unfit {
		ask[id] = true
	}
	p.mu.Unlock()
	events := slices.Sorted(maps.Keys(subscriptions))
	unfit, there, err := make(map[string]map[string]bool), false, error(nil)
	for id := range ask {
		published, by, failed := p.ask(ctx, id+"."+p.publisher, events)
		there = there || by != ""
		if by != "" && !fits(events, published) {
			unfit[by] = published
		}
		err = cmp.Or(err, failed)
	}
	if !there {
		published, by, failed := p.ask(ctx, p.publisher, events)
		if there = by != ""; there && !fits(events, published) {
			unfit[by] = published
		}
		err = failed
	}
	p.note(unfit, p.compare(events, subscriptions, unfit, there), err)
}

// awaitPublisher looks once for the publisher of events that are not stored, when it has had the time to start: who
// publishes by hand names no events, and may come and go.
func (s *sources) awaitPublisher(publisher string, handled []*handledEvent) {
	s.NoteCallee(subject.Address{Host: publisher, Port: subject.ControlPort}) // Permissions may be called before
	var events []string
	for _, each := range handled {
		events = append(events, each.name())
	}
	p := &publisherCheck{of: s, publisher: publisher}
	timer := time.AfterFunc(checkPauseIfNot, func() {
		ctx, cancel := context.WithTimeout(s.Base(), checkWithin)
		defer cancel()
		published, by, err := p.ask(ctx, publisher, nil)
		if err != nil {
			return // the broker is away, or denies the question
		}
		if by == "" {
			err = s.conn.Call(ctx, "GET https://"+publisher+":"+strconv.Itoa(subject.ControlPort)+"/ping", nil, nil)
		}
		if errors.Is(err, bus.ErrNoResponder) && s.conn.Connected() {
			s.Log(s.logger.Warn(), fmt.Sprintf("no instance of %s is on the bus, and this service subscribes to its events "+
				"(%s): see that it runs, and has that name",
				publisher, strings.Join(events, ", ")))
		}
		for _, note := range p.unknown(events, published, by) {
			s.Log(s.logger.Warn(), note)
		}
	})
	context.AfterFunc(s.Base(), func() { timer.Stop() })
}

// unknown has a sentence for each event that an instance does not publish. by is "" if it has named none.
func (p *publisherCheck) unknown(events []string, published map[string]bool, by string) (notes []string) {
	names := slices.Sorted(maps.Keys(published))
	for _, event := range events {
		if _, known := published[event]; by != "" && !known {
			notes = append(notes,
				fmt.Sprintf("%s does not publish %s at %s, to which this service subscribes%s; it publishes %s",
					p.publisher, event, by, similar.DidYouMean(event, names), strings.Join(names, ", ")))
		}
	}
	return notes
}

// fits reports whether all events are published and stored.
func fits(events []string, published map[string]bool) bool {
	return !slices.ContainsFunc(events, func(event string) bool { return !published[event] })
}

// note logs what is new, and sets the next check.
func (p *publisherCheck) note(unfit map[string]map[string]bool, notes []string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pause := checkPause
	switch {
	case len(p.greeted) > 0:
		pause = checkAfterHello
	case err != nil || len(notes) > 0:
		pause = checkPauseIfNot
	}
	p.timer.Reset(pause)
	if err != nil { // the broker is away, or denies the question
		p.of.Log(p.of.logger.Debug().Err(err).Str("publisher", p.publisher),
			"cannot ask a publisher whether it stores its events")
		return
	}
	for _, each := range notes {
		if !slices.Contains(p.notes, each) {
			p.of.Log(p.of.logger.Warn(), each)
		}
	}
	if len(notes) == 0 && len(p.notes) > 0 {
		p.of.Log(p.of.logger.Info().Str("publisher", p.publisher),
			"the publisher is there, and stores all events that this service subscribes to")
	}
	p.unfit, p.notes = unfit, notes
}

// ask sends an instance the subscriptions, and returns which one has answered, "" for none, and what it publishes.
func (p *publisherCheck) ask(ctx context.Context, host string,
	events []string) (published map[string]bool, by string, err error) {
	var answer struct {
		ID        string           `json:"id"`
		Publishes []publishedEvent `json:"publishes"`
	}
	err = p.of.conn.Call(ctx, "POST https://"+host+":"+strconv.Itoa(subject.ControlPort)+"/subscribed",
		bus.Args{"publisher": p.publisher, "events": events}, &answer)
	if failed, ok := errors.AsType[*bus.Error](err); ok && failed.Executed == bus.ExecutedNo &&
		(failed.Status == http.StatusNotFound || failed.Status == http.StatusServiceUnavailable) && p.of.conn.Connected() {
		return nil, "", nil // none is there, or none publishes
	}
	if err != nil {
		return nil, "", err
	}
	published = make(map[string]bool)
	for _, each := range answer.Publishes {
		published[each.Event] = each.Durable
	}
	return published, answer.ID, nil
}

// compare has a sentence for each way in which the publisher does not fit. One that is away is no such way if events
// have come.
func (p *publisherCheck) compare(events []string, subscriptions map[string]eventReader,
	unfit map[string]map[string]bool, there bool) (notes []string) {
	if !there {
		never := slices.DeleteFunc(slices.Clone(events), func(event string) bool { return subscriptions[event].HasCome() })
		if len(never) > 0 {
			notes = append(notes,
				fmt.Sprintf("no instance of %s publishes events, and none has ever come (%s): see that it runs, "+
					"and has events.Durable(), too", p.publisher, strings.Join(never, ", ")))
		}
		return notes
	}
	for _, event := range events {
		var without, unknown []string
		names := make(map[string]bool)
		for _, id := range slices.Sorted(maps.Keys(unfit)) {
			published := unfit[id]
			switch stored, publishes := published[event]; {
			case !publishes:
				unknown = append(unknown, id)
				maps.Copy(names, published)
			case !stored:
				without = append(without, id)
			}
		}
		notes = append(notes, p.unknown([]string{event}, names, strings.Join(unknown, ", "))...)
		if len(without) > 0 {
			notes = append(notes,
				fmt.Sprintf("%s publishes %s without events.Durable() at %s, so that is not stored for this service", p.publisher,
					event, strings.Join(without, ", ")))
		}
	}
	return notes
}

// unstored are events that subscribers want to be stored, and that are not.
type unstored struct {
	service, event string
}

// wanted notes the events of a publisher that a service wants to be stored and that are not, and returns those that are
// new.
func (s *sources) wanted(publisher, service string, events []string) (added []unstored) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, event := range events {
		by := s.published[eventName{publisher, "/" + event}].publisher
		if by == nil || by.store != nil {
			continue
		}
		each := unstored{service, event}
		if _, known := s.unstored[each]; !known {
			if len(s.unstored) >= maxUnstored {
				maps.DeleteFunc(s.unstored, func(_ unstored, at time.Time) bool { return time.Since(at) >= unstoredForgiven })
			}
			if len(s.unstored) >= maxUnstored {
				continue
			}
			added = append(added, each)
		}
		s.unstored[each] = time.Now()
	}
	return added
}

func (u unstored) String() string {
	return u.service + " subscribes to " + u.event +
		" with events.Durable(), but this publisher has no events.Durable(), so it gets nothing"
}

// Notes has a sentence for all publishers and subscribers that do not fit.
func (s *sources) Notes() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, each := range s.checks {
		each.mu.Lock()
		all = append(all, each.notes...)
		each.mu.Unlock()
	}
	for each, at := range s.unstored {
		if time.Since(at) < unstoredForgiven {
			all = append(all, each.String())
		}
	}
	for _, each := range s.watches {
		if note := each.Note(); note != "" {
			all = append(all, note)
		}
	}
	slices.Sort(all)
	return all
}

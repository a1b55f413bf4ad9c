package bus

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/busline/busline/bus/internal/client"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/reflectapi/similar"
)

// A service that subscribes with Durable gets nothing of a publisher without it, of one that does not exist, or of an event that is not
// published. JetStream does not tell. So the service tells the instances of the publisher what it subscribes to, and they answer what they
// publish: at Subscribe, when an instance of the publisher greets, and from time to time. Both sides log what does not fit, and tell
// operators.

const (
	checkWithin      = 5 * time.Second
	checkAfterHello  = time.Second      // the publisher has named its events by then
	checkPause       = 10 * time.Minute // between two checks of a publisher that fits
	checkPauseIfNot  = time.Minute
	unstoredForgiven = 5 * time.Minute // after the last time that a subscriber has told of an event that is not stored
)

// publisherCheck checks one publisher of stored events. The subscriptions are those of all Subscribe to it.
type publisherCheck struct {
	conn      *Conn
	publisher string

	mu            sync.Mutex // protects all below
	timer         *time.Timer
	subscriptions map[string]eventReader // by event
	notes         []string
	greeted       bool // an instance has greeted since the latest check began
}

// check begins to check the publisher of subscriptions, until the connection closes.
func (s *eventSources) check(c *Conn, publisher string, subscriptions map[string]eventReader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.checks[publisher]
	if known == nil {
		known = &publisherCheck{conn: c, publisher: publisher, subscriptions: make(map[string]eventReader)}
		if s.checks == nil {
			s.checks = make(map[string]*publisherCheck)
		}
		s.checks[publisher] = known
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	maps.Copy(known.subscriptions, subscriptions)
	if known.timer == nil {
		known.timer = time.AfterFunc(time.Hour, known.check)
		context.AfterFunc(c.life.base, func() { known.timer.Stop() })
	}
	known.timer.Reset(0)
}

// greetedBy checks a publisher of which an instance has greeted.
func (s *eventSources) greetedBy(host string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.checks[host]; known != nil {
		known.mu.Lock()
		defer known.mu.Unlock()
		known.greeted = true
		known.timer.Reset(checkAfterHello)
	}
}

// check is called by the timer.
func (p *publisherCheck) check() {
	if p.conn.isClosing() {
		return
	}
	ctx, cancel := context.WithTimeout(p.conn.life.base, checkWithin)
	defer cancel()
	p.mu.Lock()
	p.greeted = false
	subscriptions := maps.Clone(p.subscriptions)
	p.mu.Unlock()
	events := slices.Sorted(maps.Keys(subscriptions))
	told, err := p.ask(ctx, events)
	p.note(p.compare(events, subscriptions, told), err)
}

// note logs what is new, and sets the next check.
func (p *publisherCheck) note(notes []string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pause := checkPause
	switch {
	case p.greeted:
		pause = checkAfterHello
	case err != nil || len(notes) > 0:
		pause = checkPauseIfNot
	}
	p.timer.Reset(pause)
	if err != nil { // the broker is away, or denies the question
		p.conn.log(p.conn.logger.Debug().Err(err).Str("publisher", p.publisher), "cannot ask a publisher whether it stores its events")
		return
	}
	for _, each := range notes {
		if !slices.Contains(p.notes, each) {
			p.conn.log(p.conn.logger.Warn(), each)
		}
	}
	if len(notes) == 0 && len(p.notes) > 0 {
		p.conn.log(p.conn.logger.Info().Str("publisher", p.publisher), "the publisher is there, and stores all events that this service subscribes to")
	}
	p.notes = notes
}

// toldEvents are what one instance of a publisher publishes.
type toldEvents struct {
	id     string
	events map[string]bool // whether it is stored
}

// ask tells all instances of the publisher of the subscriptions, and returns what they publish.
func (p *publisherCheck) ask(ctx context.Context, events []string) (told []toldEvents, err error) {
	body, err := json.Marshal(map[string]any{"publisher": p.publisher, "events": events})
	if err != nil {
		return nil, err
	}
	to := &url.URL{Scheme: "https", Host: p.publisher + ":" + strconv.Itoa(subject.ControlPort), Path: subscribedPath}
	question, err := client.NewOutgoing(http.MethodPost, to, jsonContent(), body)
	if err != nil {
		return nil, err
	}
	err = p.conn.client.Ask(ctx, &question, func(response *wire.Response, failed error) bool {
		var answer struct {
			Publishes []publishedEvent `json:"publishes"`
		}
		if failed != nil || json.Unmarshal(response.Body, &answer) != nil {
			return true
		}
		one := toldEvents{response.FromID, make(map[string]bool)}
		for _, each := range answer.Publishes {
			one.events[each.Event] = each.Durable
		}
		told = append(told, one)
		return true
	})
	return told, err
}

// compare has a sentence for each way in which the publisher does not fit. One that is away is no such way if events have come.
func (p *publisherCheck) compare(events []string, subscriptions map[string]eventReader, told []toldEvents) (notes []string) {
	if len(told) == 0 {
		never := slices.DeleteFunc(slices.Clone(events), func(event string) bool { return subscriptions[event].HasCome() })
		if len(never) > 0 {
			notes = append(notes, fmt.Sprintf("no instance of %s publishes events, and none has ever come (%s): see that it runs, and has bus.Durable(), too", p.publisher, strings.Join(never, ", ")))
		}
		return notes
	}
	var published []string
	for _, one := range told {
		for event := range one.events {
			published = append(published, event)
		}
	}
	slices.Sort(published)
	published = slices.Compact(published)
	for _, event := range events {
		var without []string
		for _, one := range told {
			if stored, publishes := one.events[event]; publishes && !stored {
				without = append(without, one.id)
			}
		}
		switch {
		case !slices.Contains(published, event):
			notes = append(notes, fmt.Sprintf("%s does not publish %s, to which this service subscribes%s; it publishes %s",
				p.publisher, event, similar.DidYouMean(event, published), strings.Join(published, ", ")))
		case len(without) > 0:
			notes = append(notes, fmt.Sprintf("%s publishes %s without bus.Durable() at %s, so that is not stored for this service", p.publisher, event, strings.Join(without, ", ")))
		}
	}
	return notes
}

// unstored are events that subscribers want to be stored, and that are not.
type unstored struct {
	service, event string
}

// wanted notes the events of a publisher that a service wants to be stored and that are not, and returns those that are new.
func (s *eventSources) wanted(publisher, service string, events []string) (added []unstored) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unstored == nil {
		s.unstored = make(map[unstored]time.Time)
	}
	for _, event := range events {
		by := s.published[eventName{publisher, "/" + event}].publisher
		if by == nil || by.store != nil {
			continue
		}
		each := unstored{service, event}
		if _, known := s.unstored[each]; !known {
			added = append(added, each)
		}
		s.unstored[each] = time.Now()
	}
	return added
}

func (u unstored) String() string {
	return u.service + " subscribes to " + u.event + " with bus.Durable(), but this publisher has no bus.Durable(), so it gets nothing"
}

// notes has a sentence for all publishers and subscribers that do not fit.
func (s *eventSources) notes() (all []string) {
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
	slices.Sort(all)
	return all
}

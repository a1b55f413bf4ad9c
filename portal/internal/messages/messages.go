// Package messages shows stored events to the portal's page, and delivers them again.
package messages

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/eventlog"
	"github.com/busline/busline/portal/internal/answer"
)

// Limits of one answer.
const (
	maxShown      = 50
	maxShownBytes = 4 << 20 // of bodies; the last one may exceed it
	maxRead       = 5000    // that a filter reads
	maxReadBytes  = 64 << 20
	maxReadTime   = 5 * time.Second
)

// message is a stored event. Bytes is its body if that is no text.
type message struct {
	eventlog.Event

	Bytes []byte `json:"bytes,omitempty"`
}

func newMessage(event eventlog.Event) message {
	if utf8.ValidString(event.Body) {
		return message{Event: event}
	}
	bytes := []byte(event.Body)
	event.Body = ""
	return message{event, bytes}
}

// list is a part of the stored events of a kind, the newest first.
type list struct {
	Messages []message `json:"messages"`
	// Before continues the list: it is the sequence number below which nothing was read. 0: there are none.
	Before uint64 `json:"before"`
	// Read is how many events were read for that, and Reached when the last one of them was stored.
	Read    int       `json:"read"`
	Reached time.Time `json:"reached,omitzero"`
}

// List returns a handler of the stored events of a publisher. Its query has publisher and event, since and until as
// times, before and after as sequence numbers, text that the body has, and key and keyName, an argument and its value.
func List(conn *bus.Conn) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		query := r.URL.Query()
		of, err := rangeOf(query)
		if err != nil {
			return err
		}
		matches := filter(query)
		found := list{Messages: []message{}}
		size, sizeRead, began := 0, 0, time.Now()
		for event, err := range eventlog.Latest(r.Context(), conn, query.Get("publisher"), of) {
			if err != nil {
				return err
			}
			if len(found.Messages) == maxShown || size > maxShownBytes || found.Read == maxRead || sizeRead > maxReadBytes ||
				found.Read > 0 && time.Since(began) > maxReadTime {
				found.Before = event.Sequence + 1
				break
			}
			found.Read++
			found.Reached = event.Stored
			sizeRead += len(event.Body)
			if matches(event.Body) {
				size += len(event.Body)
				found.Messages = append(found.Messages, newMessage(event))
			}
		}
		return answer.WriteJSON(w, found)
	}
}

// rangeOf reads which events are wanted.
func rangeOf(query url.Values) (of eventlog.Range, err error) {
	of.Event = query.Get("event")
	if query.Get("publisher") == "" || of.Event == "" {
		return of, bus.Errorf(http.StatusBadRequest, "name the publisher and the event")
	}
	for name, into := range map[string]*time.Time{"since": &of.Since, "until": &of.Until} {
		if text := query.Get(name); text != "" {
			if *into, err = time.Parse(time.RFC3339Nano, text); err != nil {
				return of, bus.Errorf(http.StatusBadRequest, "%s is %.40q: give a time such as 2026-01-31T12:00:00Z", name, text)
			}
		}
	}
	for name, into := range map[string]*uint64{"before": &of.Before, "after": &of.After} {
		if text := query.Get(name); text != "" {
			if *into, err = strconv.ParseUint(text, 10, 64); err != nil {
				return of, bus.Errorf(http.StatusBadRequest, "%s is %.40q: give the sequence of an event that was shown", name,
					text)
			}
		}
	}
	return of, nil
}

// filter returns what a body has to have.
func filter(query url.Values) func(body string) bool {
	text, name, key := strings.ToLower(query.Get("text")), query.Get("keyName"), query.Get("key")
	return func(body string) bool {
		return (text == "" || strings.Contains(strings.ToLower(body), text)) && (key == "" || hasKey(body, name, key))
	}
}

// hasKey reports whether an argument has a value, which is JSON or the content of a string.
func hasKey(body, name, key string) bool {
	var arguments map[string]json.RawMessage
	if json.Unmarshal([]byte(body), &arguments) != nil {
		return false
	}
	var text string
	value := arguments[name]
	return string(value) == key || json.Unmarshal(value, &text) == nil && text == key
}

// Replay is a request to deliver stored events again to a service.
type Replay struct {
	Publisher string `json:"publisher"`
	Service   string `json:"service"`
	Event     string `json:"event"`
	// Sequence is that of the only event, 0 for all from From on.
	Sequence uint64    `json:"sequence,omitempty"`
	From     time.Time `json:"from,omitzero"`
	// Count asks only how many events that are.
	Count bool `json:"count,omitempty"`
}

// DeliverAgain returns a handler of a [Replay], which answers with the number of events.
func DeliverAgain(conn *bus.Conn) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		var wanted Replay
		err := answer.ReadJSON(r, &wanted, "publisher, service, event, and sequence or from")
		if err == nil {
			err = wanted.check()
		}
		if err != nil {
			return err
		}
		events, err := wanted.deliver(conn, r)
		if err != nil {
			return err
		}
		return answer.WriteJSON(w, map[string]int{"events": events})
	}
}

func (p *Replay) check() error {
	if p.Publisher == "" || p.Service == "" || p.Event == "" {
		return bus.Errorf(http.StatusBadRequest, "name the publisher, the service and the event")
	}
	if (p.Sequence > 0) == !p.From.IsZero() {
		return bus.Errorf(http.StatusBadRequest, "give either the sequence of one event, or from as a time")
	}
	return nil
}

func (p *Replay) deliver(conn *bus.Conn, r *http.Request) (events int, err error) {
	switch {
	case p.Sequence > 0 && p.Count:
		return 1, nil
	case p.Sequence > 0:
		return 1, eventlog.Redeliver(r.Context(), conn, p.Publisher, p.Service, p.Event, p.Sequence)
	case p.Count:
		return eventlog.ReplayCount(r.Context(), conn, p.Publisher, p.Service, p.Event, p.From)
	default:
		return eventlog.Replay(r.Context(), conn, p.Publisher, p.Service, p.Event, p.From)
	}
}

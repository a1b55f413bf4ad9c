package events

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/internal/client"
	"github.com/busline/busline/bus/internal/durable"
	"github.com/busline/busline/bus/internal/feature"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/wire"
)

// Record is an event that is kept somewhere else before it is stored, such as in a table: see package outbox.
type Record struct {
	Publisher string // the host, "orders.example"
	Path      string // "/on-ordered"
	Key       string // that orders the event; "" for none
	// ID is that of [WithID], else the message id of the event. It is what [DeliveryOf] has.
	ID string
	// Header has what the handlers get: fields of bus.WithOutgoingHeader and of the trace, the sender, the message id and
	// the depth. It has no token.
	Header    http.Header
	Arguments json.RawMessage
	At        time.Time // of [At]; zero for at once
}

type recorderKey struct{}

// WithRecorder returns a context with which each event of a publisher with [Durable] is passed to a function in place
// of being sent, after it was checked. The broker need not be within reach. If the function returns an error, so does
// Publish, with status 500. Events that would not be stored are refused with status 400, and so are those whose key or
// id is no text: UTF-8 without NUL. Default: events are sent.
func WithRecorder(ctx context.Context, record func(ctx context.Context, record Record) error) context.Context {
	return context.WithValue(ctx, recorderKey{}, record)
}

// recorderOf returns the recorder of a context, nil for none.
func recorderOf(ctx context.Context) func(context.Context, Record) error {
	record, _ := ctx.Value(recorderKey{}).(func(context.Context, Record) error)
	return record
}

func newRecord(publisher string, event durable.Event) Record {
	request := event.Request
	record := Record{Publisher: publisher, Path: event.Path, Key: event.Key, ID: cmp.Or(event.ID, request.MsgID),
		Header: request.Header.HTTP(), Arguments: request.Body, At: event.At}
	record.Header.Set(wire.HeaderFromHost, request.FromHost)
	record.Header.Set(wire.HeaderFromID, request.FromID)
	record.Header.Set(wire.HeaderMsgID, request.MsgID)
	record.Header.Set(wire.HeaderCallDepth, strconv.Itoa(request.CallDepth))
	return record
}

// checkTexts returns an error for what a database does not take as text. JSON is text.
func (r *Record) checkTexts() error {
	for what, text := range map[string]string{"key": r.Key, "id": r.ID} {
		if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
			return status.NotRun(http.StatusBadRequest, nil, "event %s of %s: its %s cannot be kept as text: it has a NUL, or "+
				"is no UTF-8; encode it, such as in base64", r.Path, r.Publisher, what)
		}
	}
	return nil
}

// MsgID returns the message id, which no other event has.
func (r *Record) MsgID() string { return r.Header.Get(wire.HeaderMsgID) }

// Publish stores the event, and returns when JetStream has confirmed that, as Publish of [Event] does. Its errors are
// the same. The connection may be that of any service.
func (r *Record) Publish(ctx context.Context, conn *bus.Conn) error {
	if conn == nil {
		return feature.Bus.NoConnection(addressOf(r.Publisher, r.Path))
	}
	s := sourcesOf(conn)
	event, err := r.outgoing(s)
	if err != nil {
		return feature.Bus.Unsent(err)
	}
	store, err := s.storeOf(ctx, r.Publisher)
	if err != nil {
		return err
	}
	stored := durable.Event{Path: r.Path, Key: r.Key, Request: &event.Request}
	if r.At.After(time.Now()) {
		stored.At = r.At
	}
	if r.ID != event.MsgID {
		stored.ID = r.ID
	}
	if err := store.Store(ctx, stored); err != nil {
		return feature.Bus.Error(err)
	}
	if stored.At.IsZero() {
		s.sendUnstored(ctx, event)
	}
	return nil
}

// outgoing returns the event as it was when it was recorded.
func (r *Record) outgoing(s *sources) (*client.Outgoing, error) {
	to, err := s.FindDestination(addressOf(r.Publisher, r.Path), nil)
	if err != nil {
		return nil, err
	}
	event := to.WithBody(r.Arguments).Outgoing()
	if event.Subject, err = event.Address.Subject(s.conn.Plane()); err != nil {
		return nil, err
	}
	event.Header = wire.FromHTTP(r.Header)
	event.FromHost, event.FromID = r.Header.Get(wire.HeaderFromHost), r.Header.Get(wire.HeaderFromID)
	event.CallDepth, _ = strconv.Atoi(r.Header.Get(wire.HeaderCallDepth)) // else it is written as 1
	event.TimeBudget = wire.DefaultTimeBudget
	if event.MsgID = r.MsgID(); event.MsgID == "" {
		return nil, status.NotRun(http.StatusBadRequest, nil, "event %s of %s was recorded without a field %s",
			r.Path, r.Publisher, wire.HeaderMsgID)
	}
	return event, nil
}

// storeOf returns the stream of a host, whose publisher may be on another connection. It notes what looking for
// recorded events in the log takes.
func (s *sources) storeOf(ctx context.Context, host string) (store, error) {
	stream := durable.Names{Plane: s.conn.Plane(), Publisher: host}.Events()
	for _, ask := range []string{"CREATE", "MSG.NEXT", "DELETE"} {
		s.need(natsconn.Permission{Subject: s.conn.JetStreamPrefix() + ".CONSUMER." + ask + "." + stream + ".>",
			For: "looking for recorded events in the log"})
	}
	if known := s.storeFor(host); known != nil {
		return known, nil
	}
	return openStream(ctx, s, host, durable.Limits{})
}

// sendUnstored sends an event that is stored to subscribers without Durable.
func (s *sources) sendUnstored(ctx context.Context, outgoing *client.Outgoing) {
	if err := s.Client().Publish(ctx, outgoing); err != nil {
		s.Log(s.logger.Warn().Err(err).Str("subject", outgoing.Subject),
			"an event was stored, but subscribers without events.Durable did not get it")
	}
}

package portal

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/eventlog"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/portal/internal/outside"
)

// Limits of operating events from the page.
const (
	maxPublishBytes   = 2 << 20 // of a request to publish: more than an event may have
	maxOperationBytes = 64 << 10
	maxShownDead      = 100     // dead letters of one answer
	maxShownDeadBytes = 4 << 20 // of their bodies; the last one may exceed it
	maxOperatedDead   = 1000    // sequence numbers of one request
	maxFailedDead     = 100     // failures after which a request ends
)

// only serves only those who may operate events.
func (o *eventOperators) only(handle func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := o.check(r.Context())
		if err == nil {
			err = handle(w, r)
		}
		if err != nil {
			bus.WriteError(w, r, err)
		}
	})
}

// eventOperations does for the page what operators of events do.
type eventOperations struct{ conn *bus.Conn }

// deadLetterList is a part of the dead letters of a subscription.
type deadLetterList struct {
	DeadLetters []eventlog.DeadLetter `json:"deadLetters"`
	More        bool                  `json:"more"` // there are some after these
}

// list serves the dead letters of a publisher, also of one service or event, after a sequence number.
func (o *eventOperations) list(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	var after uint64
	if text := query.Get("after"); text != "" {
		var err error
		if after, err = strconv.ParseUint(text, 10, 64); err != nil {
			return bus.Errorf(http.StatusBadRequest, "after is %.40q: give the sequence of the last dead letter that was shown",
				text)
		}
	}
	listed := deadLetterList{DeadLetters: []eventlog.DeadLetter{}}
	size := 0
	selected := eventlog.Of(query.Get("service"), query.Get("event"))
	for dead, err := range eventlog.DeadLetters(r.Context(), o.conn, query.Get("publisher"), selected,
		eventlog.After(after)) {
		if err != nil {
			return err
		}
		if listed.More = len(listed.DeadLetters) == maxShownDead || size > maxShownDeadBytes; listed.More {
			break
		}
		size += len(dead.Body)
		listed.DeadLetters = append(listed.DeadLetters, dead)
	}
	return writeJSON(w, listed)
}

// deadLetterOperation is a request to operate dead letters.
type deadLetterOperation struct {
	Publisher string   `json:"publisher"`
	Service   string   `json:"service"`
	Event     string   `json:"event"`
	Sequences []uint64 `json:"sequences,omitempty"`
	All       bool     `json:"all,omitempty"`
	Action    string   `json:"action"` // "redeliver" or "delete"
}

// deadLetterOutcome is what became of it.
type deadLetterOutcome struct {
	Done   int                 `json:"done"`
	Failed []deadLetterFailure `json:"failed"`
	More   bool                `json:"more"` // it has ended early: for lack of time, or because too many have failed
}

type deadLetterFailure struct {
	Sequence uint64 `json:"sequence"`
	Error    string `json:"error"`
}

// operate redelivers or deletes dead letters.
func (o *eventOperations) operate(w http.ResponseWriter, r *http.Request) error {
	var wanted deadLetterOperation
	if err := readJSON(r, &wanted, "publisher, service, event, sequences or all, and action"); err != nil {
		return err
	}
	act, err := wanted.action()
	if err != nil {
		return err
	}
	ctx := r.Context()
	if ends, ok := ctx.Deadline(); ok {
		limited, cancel := context.WithDeadline(ctx, ends.Add(-answerMargin))
		defer cancel()
		ctx = limited
	}
	outcome := &deadLetterOutcome{Failed: []deadLetterFailure{}}
	for dead, err := range o.selected(ctx, &wanted) {
		if err != nil && outcome.Done == 0 && len(outcome.Failed) == 0 && bus.StatusOf(err) != http.StatusNotFound {
			return err
		}
		if err == nil {
			err = act(dead, ctx)
		}
		outcome.note(dead.Sequence, err)
		if outcome.More = ctx.Err() != nil || len(outcome.Failed) == maxFailedDead; outcome.More {
			break
		}
	}
	return writeJSON(w, outcome)
}

func (o *deadLetterOutcome) note(sequence uint64, err error) {
	if err == nil {
		o.Done++
		return
	}
	o.Failed = append(o.Failed, deadLetterFailure{sequence, outside.DetailOf(err)})
}

// selected yields the dead letters that a request names. A dead letter with an error has no more than its sequence
// number, 0 if the error is not about a certain one.
func (o *eventOperations) selected(ctx context.Context,
	wanted *deadLetterOperation) iter.Seq2[eventlog.DeadLetter, error] {
	of := eventlog.Of(wanted.Service, wanted.Event)
	if wanted.All {
		return eventlog.DeadLetters(ctx, o.conn, wanted.Publisher, of)
	}
	return func(yield func(eventlog.DeadLetter, error) bool) {
		for _, sequence := range wanted.Sequences {
			if !yield(o.find(ctx, wanted, of, sequence)) {
				return
			}
		}
	}
}

// find returns the dead letter with a sequence number.
func (o *eventOperations) find(ctx context.Context, wanted *deadLetterOperation, of eventlog.DeadLetterOption,
	sequence uint64) (eventlog.DeadLetter, error) {
	none := eventlog.DeadLetter{Sequence: sequence}
	if sequence > 0 {
		for dead, err := range eventlog.DeadLetters(ctx, o.conn, wanted.Publisher, of, eventlog.After(sequence-1)) {
			if err != nil {
				return none, err
			}
			if dead.Sequence == sequence {
				return dead, nil
			}
			break
		}
	}
	return none, bus.Errorf(http.StatusNotFound, "%d is no dead letter of %s any more", sequence, wanted.Service)
}

// action returns what is to be done with each dead letter, and an error for a request that is not clear.
func (d *deadLetterOperation) action() (func(eventlog.DeadLetter, context.Context) error, error) {
	switch {
	case d.Publisher == "" || d.Service == "" || d.Event == "":
		return nil, bus.Errorf(http.StatusBadRequest, "name the publisher, the service and the event")
	case d.All == (len(d.Sequences) > 0):
		return nil, bus.Errorf(http.StatusBadRequest, "give either sequences or all")
	case len(d.Sequences) > maxOperatedDead:
		return nil, bus.Errorf(http.StatusBadRequest, "%d sequences exceed the limit of %d: give all, or fewer",
			len(d.Sequences), maxOperatedDead)
	}
	switch d.Action {
	case "redeliver":
		return eventlog.DeadLetter.Redeliver, nil
	case "delete":
		return eventlog.DeadLetter.Delete, nil
	default:
		return nil, bus.Errorf(http.StatusBadRequest, "the action is %.40q: give redeliver or delete", d.Action)
	}
}

// publication is a request to publish an event.
type publication struct {
	Publisher string          `json:"publisher"`
	Event     string          `json:"event"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// publish asks an instance of the publisher to publish an event, on behalf of the caller, and relays its answer.
func (o *eventOperations) publish(w http.ResponseWriter, r *http.Request) error {
	var wanted publication
	if err := readJSON(r, &wanted, "publisher, event and arguments"); err != nil {
		return err
	}
	if err := subject.CheckHost(wanted.Publisher); err != nil {
		return bus.Errorf(http.StatusBadRequest, "the publisher: %w", err)
	}
	if wanted.Publisher == outside.HostAll || wanted.Event == "" {
		return bus.Errorf(http.StatusBadRequest, "name one publisher, and its event")
	}
	address := "https://" + wanted.Publisher + ":888/publish/" + url.PathEscape(wanted.Event)
	request, err := http.NewRequestWithContext(r.Context(), http.MethodPost, address, bytes.NewReader(wanted.Arguments))
	if err != nil {
		return bus.Errorf(http.StatusBadRequest, "%w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := o.conn.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	for _, name := range []string{"Content-Type", "Retry-After", "Www-Authenticate"} {
		if value := response.Header.Get(name); value != "" {
			w.Header().Set(name, value)
		}
	}
	w.Header().Set("Cache-Control", "private, no-store")
	w.WriteHeader(response.StatusCode)
	_, err = io.Copy(w, response.Body)
	return err
}

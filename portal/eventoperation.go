package portal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/eventlog"
	"github.com/busline/busline/bus/operators"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/portal/internal/answer"
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
	parallelLogs      = 4       // logs that are read at once, hence bodies of 20 MiB in memory
)

// toOperate is what only operators do.
const toOperate = "operate events"

// onlyOperators serves only operators, who alone may do what the text says.
func onlyOperators(rule *operators.Rule, what string,
	handle func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := rule.Check(r.Context(), "the portal", what)
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

// deadLetterList is a part of the dead letters that are asked for.
type deadLetterList struct {
	DeadLetters []eventlog.DeadLetter `json:"deadLetters"`
	More        bool                  `json:"more"` // there are some after these
	size        int                   // of the bodies, in bytes
}

// list serves the dead letters of a publisher, also of one service or event: the newest first, below a sequence number,
// or with after the oldest first. Without a publisher it serves the newest of all publishers.
func (o *eventOperations) list(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	publisher := query.Get("publisher")
	from := eventlog.Below(0)
	for name, option := range map[string]func(uint64) eventlog.DeadLetterOption{"below": eventlog.Below,
		"after": eventlog.After} {
		if text := query.Get(name); text != "" {
			sequence, err := strconv.ParseUint(text, 10, 64)
			if err != nil || publisher == "" {
				return bus.Errorf(http.StatusBadRequest,
					"%s is %.40q: give the sequence of the last dead letter that was shown, and its publisher", name, text)
			}
			from = option(sequence)
		}
	}
	selected := eventlog.Of(query.Get("service"), query.Get("event"))
	listed := new(deadLetterList)
	var err error
	if publisher == "" {
		listed, err = o.newestOfAll(r.Context(), selected)
	} else {
		err = listed.read(eventlog.DeadLetters(r.Context(), o.conn, publisher, selected, from))
	}
	if err != nil {
		return err
	}
	listed.DeadLetters = append([]eventlog.DeadLetter{}, listed.DeadLetters...)
	return answer.WriteJSON(w, listed)
}

// newestOfAll returns the newest dead letters of all publishers, the newest first.
func (o *eventOperations) newestOfAll(ctx context.Context,
	selected eventlog.DeadLetterOption) (*deadLetterList, error) {
	publishers, err := eventlog.Hosts(ctx, o.conn)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex // protects newest and err
	newest := &deadLetterList{}
	inParallel(len(publishers), parallelLogs, func(at int) {
		var of deadLetterList
		failed := of.read(eventlog.DeadLetters(ctx, o.conn, publishers[at], selected, eventlog.Below(0)))
		mu.Lock()
		defer mu.Unlock()
		newest, err = newest.merge(&of), cmp.Or(err, failed)
	})
	return newest, err
}

// read adds dead letters until the list is full.
func (l *deadLetterList) read(all iter.Seq2[eventlog.DeadLetter, error]) error {
	for dead, err := range all {
		if err != nil {
			return err
		}
		if !l.add(dead) {
			break
		}
	}
	return nil
}

// add adds a dead letter, unless the list is full.
func (l *deadLetterList) add(dead eventlog.DeadLetter) bool {
	if l.More = l.More || len(l.DeadLetters) == maxShownDead || l.size > maxShownDeadBytes; l.More {
		return false
	}
	l.size += len(dead.Body)
	l.DeadLetters = append(l.DeadLetters, dead)
	return true
}

// merge returns the newest of two lists, the newest first.
func (l *deadLetterList) merge(other *deadLetterList) *deadLetterList {
	all := slices.Concat(l.DeadLetters, other.DeadLetters)
	slices.SortFunc(all, func(a, b eventlog.DeadLetter) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Publisher, b.Publisher), cmp.Compare(b.Sequence, a.Sequence))
	})
	merged := &deadLetterList{}
	for at := range all {
		if !merged.add(all[at]) {
			break
		}
	}
	merged.More = merged.More || l.More || other.More
	return merged
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
	if err := answer.ReadJSON(r, &wanted, "publisher, service, event, sequences or all, and action"); err != nil {
		return err
	}
	act, err := wanted.action()
	if err != nil {
		return err
	}
	ctx, cancel := answer.InTime(r.Context())
	defer cancel()
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
	return answer.WriteJSON(w, outcome)
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
	if err := answer.ReadJSON(r, &wanted, "publisher, event and arguments"); err != nil {
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

package durable

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/subject"
)

// Subscriber is how far a service is with one event of a publisher.
type Subscriber struct {
	Service, Event string
	Backlog        int       // events that are not handled, those in flight included
	InFlight       int       // events that an instance has, or will get again after a pause
	Redelivered    int       // of those, the ones that were delivered before
	Oldest         time.Time // when the oldest event that is not handled was stored; zero for none
	// about how many events the log has dropped before the service had handled them, since this instance looks
	CutOff int
}

// Watch looks from time to time how far the services are that subscribe to the events of a publisher, and notes those
// that are cut off: the log has dropped events that they had not handled. Every instance of the publisher looks. It is
// safe for concurrent use.
type Watch struct {
	stream *Stream
	timer  *time.Timer
	failed bool          // the latest look of the timer
	looks  atomic.Uint64 // that have begun

	mu     sync.Mutex                  // protects all below
	latest uint64                      // look that is noted
	places map[ConsumerName]place      // at the latest look; nil before the first one
	cutOff map[ConsumerName]int        // without partitions
	logged map[ConsumerName]cutOffLine // without partitions: what was last logged of cutOff
	warned map[ConsumerName]bool       // without partitions: about to be cut off
	state  jetstream.StreamState       // of the log
	limit  int64                       // of its bytes
	behind string                      // a sentence about servers that do not have all of the log; "" if all have
}

// place is where a consumer is.
type place struct {
	backlog, pending, inFlight, redelivered int
	delivered                               jetstream.SequenceInfo
	last, lastAfter                         uint64  // of the log, before and after the consumer was looked at
	share                                   float64 // of the log that has these events
	oldest                                  uint64  // event that is not handled
	stored                                  time.Time
}

// cutOffLine is when it was logged that a service was cut off, and how many events were dropped until then.
type cutOffLine struct {
	at     time.Time
	events int
}

const (
	watchPause = 10 * time.Second // between two looks
	tellPause  = time.Hour        // until it is logged again that a service is cut off
)

// Headers of the record that a service was cut off, in the stream of dead letters.
const (
	CutOffEventsHeader = "Bus-Cut-Off-Events" // about how many were dropped
	CutOffUntilHeader  = "Bus-Cut-Off-Until"  // events that are older were dropped, RFC 3339

	// CutOffToken stands for the partition in the subject of the record.
	CutOffToken = "cut"
)

// watchPermissions are those of a publisher that looks how far the services are.
func (s *Stream) watchPermissions() []natsconn.Permission {
	return []natsconn.Permission{
		{Subject: s.config.API + ".CONSUMER.LIST." + s.Events(), For: "looking how far services are"},
		{Subject: s.config.API + ".STREAM.MSG.GET." + s.Events(),
			For: "looking how old the events are that they have not handled"},
		{Subject: s.DeadLetter(AnyToken, AnyToken, CutOffToken), For: "noting that a service is cut off"},
	}
}

// Watch starts to look, until the connection is closed.
func (s *Stream) Watch() *Watch {
	w := &Watch{stream: s, cutOff: make(map[ConsumerName]int), logged: make(map[ConsumerName]cutOffLine),
		warned: make(map[ConsumerName]bool)}
	s.watch.Store(w)
	w.timer = time.AfterFunc(time.Hour, w.lookAgain)
	w.timer.Reset(0)
	context.AfterFunc(s.config.Base, func() { w.Stop() })
	return w
}

// Stop ends the looks, and reports whether there would have been another.
func (w *Watch) Stop() bool { return w.timer.Stop() }

// laggard names the subscriber that is the furthest behind; "" if there is none.
func (s *Stream) laggard() string {
	watch := s.watch.Load()
	if watch == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(s.config.Base, storeAttempt)
	defer cancel()
	_ = watch.Look(ctx) // else that of the latest look is named
	subscribers, _, _ := watch.Subscribers()
	if len(subscribers) == 0 {
		return ""
	}
	last := slices.MaxFunc(subscribers, func(a, b Subscriber) int { return cmp.Compare(a.Backlog, b.Backlog) })
	if last.Backlog == 0 {
		return ""
	}
	return fmt.Sprintf("; the furthest behind is %s, which has not handled %d of %s", last.Service,
		last.Backlog, last.Event)
}

// The timer calls lookAgain.
func (w *Watch) lookAgain() {
	if w.stream.config.IsClosing() {
		return
	}
	ctx, cancel := context.WithTimeout(w.stream.config.Base, natsconn.DefaultTimeout)
	defer cancel()
	err := w.Look(ctx)
	warning, again := "", true
	switch {
	case err == nil:
	case slices.ContainsFunc(w.stream.watchPermissions(),
		func(each natsconn.Permission) bool { return w.stream.denies(each.Subject) }):
		warning, again = "cannot look how far the subscribers of stored events are, and so not tell of those that are cut off", false
	case !w.failed:
		warning = "cannot look how far the subscribers of stored events are; the instance keeps trying"
	}
	if warning != "" && w.stream.config.Base.Err() == nil {
		w.stream.config.Log(w.stream.config.Logger.Warn().Str("publisher", w.stream.Publisher).Str("reason",
			w.stream.failed(err).Detail), warning)
	}
	if w.failed = err != nil; again {
		w.timer.Reset(watchPause)
	}
}

// Look looks at all consumers of the log.
func (w *Watch) Look(ctx context.Context) error {
	look := w.looks.Add(1)
	stream, err := w.stream.find(ctx, w.stream.Events())
	if err != nil {
		return err
	}
	log, err := stream.Info(ctx, jetstream.WithSubjectFilter(">"))
	if err != nil {
		return err
	}
	places := make(map[ConsumerName]place)
	listed := stream.ListConsumers(ctx)
	for info := range listed.Info() {
		if name, ok := ParseConsumer(info.Name); ok {
			places[name] = newPlace(info, &log.State, w.stream.Event(name.Event, cmp.Or(name.Partition, AnyToken)))
		}
	}
	if err := listed.Err(); err != nil {
		return err
	}
	after, err := stream.Info(ctx)
	if err != nil {
		return err
	}
	for name, at := range places {
		at.lastAfter = after.State.LastSeq
		if at.backlog > 0 {
			if at, err = w.withOldest(ctx, stream, name, at); err != nil {
				return err
			}
		}
		places[name] = at
	}
	w.note(ctx, look, after, places)
	return nil
}

func newPlace(info *jetstream.ConsumerInfo, log *jetstream.StreamState, events string) place {
	at := place{
		backlog: int(info.NumPending) + info.NumAckPending, pending: int(info.NumPending),
		inFlight: info.NumAckPending, redelivered: info.NumRedelivered,
		delivered: info.Delivered, last: log.LastSeq, oldest: info.AckFloor.Stream + 1,
	}
	var kept uint64
	for stored, messages := range log.Subjects {
		if subject.Covers(events, stored) {
			kept += messages
		}
	}
	if log.Msgs > 0 {
		// a sum of quotients would differ from one where the log has no other events
		at.share = float64(kept) / float64(log.Msgs)
	}
	return at
}

// withOldest returns the place with the oldest event that is not handled: the first one behind all that are handled.
func (w *Watch) withOldest(ctx context.Context, stream jetstream.Stream, name ConsumerName, at place) (place, error) {
	all := jetstream.WithGetMsgSubject(w.stream.Event(name.Event, cmp.Or(name.Partition, AnyToken)))
	message, err := stream.GetMsg(ctx, at.oldest, all)
	switch {
	case err == nil:
		at.oldest, at.stored = message.Sequence, message.Time
	// else a dead letter is delivered again, or all is handled by now
	case !isAPIError(err, jetstream.JSErrCodeMessageNotFound):
		return at, err
	}
	return at, nil
}

// note compares a look with the one before. It ignores a look that began before the one that is noted.
func (w *Watch) note(ctx context.Context, look uint64, log *jetstream.StreamInfo, places map[ConsumerName]place) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if look < w.latest {
		return
	}
	w.latest = look
	lost, late := make(map[ConsumerName]int), make(map[ConsumerName]place)
	for name, at := range places {
		before, known := w.places[name]
		if !known {
			// it is new, so it was to get all since then
			before = place{delivered: at.delivered, last: w.state.LastSeq, lastAfter: w.state.LastSeq}
		}
		kind := ConsumerName{Service: name.Service, Event: name.Event}
		least, most := before.dropped(at, log.State.FirstSeq)
		// what was stored during the look is no reason for an alarm
		if w.places != nil && (least > 0 || most > 0 && w.cutOff[kind] > 0) {
			lost[kind] += most
		}
		if at.isLate(log) {
			late[kind] = at
		}
	}
	for kind, events := range lost {
		w.cutOff[kind] += events
		if before := w.logged[kind]; time.Since(before.at) > tellPause {
			w.logged[kind] = cutOffLine{time.Now(), w.cutOff[kind]}
			w.stream.noteCutOff(ctx, kind, w.cutOff[kind]-before.events, log.State.FirstTime)
		}
	}
	for kind, at := range late {
		if !w.warned[kind] && lost[kind] == 0 {
			w.stream.config.Log(w.stream.config.Logger.Warn().Str("publisher", w.stream.Publisher).Str("service",
				kind.Service).Str("event", kind.Event).
				Int("backlog", at.backlog).Time("oldest", at.stored),
				"a subscriber will be cut off soon: the log is about to drop events that it has not handled; "+
					"see events.MaxAge and events.MaxBytes")
		}
	}
	clear(w.warned)
	for kind := range late {
		w.warned[kind] = true
	}
	w.places, w.state, w.limit = places, log.State, log.Config.MaxBytes
	w.noteServersLocked(log)
}

// noteServersLocked notes whether all servers have the log that are to have it.
func (w *Watch) noteServersLocked(log *jetstream.StreamInfo) {
	behind := ""
	if having := serversWith(log); having < log.Config.Replicas {
		behind = fmt.Sprintf("the events of %s are on %d of the %d servers that are to store them", w.stream.Publisher,
			having, log.Config.Replicas)
	}
	if behind != "" && w.behind == "" {
		w.stream.config.Log(w.stream.config.Logger.Warn(), behind)
	}
	w.behind = behind
}

// serversWith returns how many servers have a log: its leader, and those that have caught up with it.
func serversWith(log *jetstream.StreamInfo) int {
	having := 1
	if log.Cluster != nil {
		for _, each := range log.Cluster.Replicas {
			if each.Current && !each.Offline {
				having++
			}
		}
	}
	return having
}

// Note returns a sentence for operators about the servers that have the log; "" if nothing is amiss.
func (w *Watch) Note() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.behind
}

// dropped returns about how many events the log has dropped since a look before an instance got them. What was stored
// since then is estimated by the share of the kind in the log, so it is right if the log has no other events, and if
// none was delivered twice. The two differ by what was stored while the looks lasted.
func (p place) dropped(now place, first uint64) (least, most int) {
	delivered := p.delivered.Stream + 1
	switch {
	// nothing that was to come, or the consumer was set back
	case first <= delivered, now.delivered.Consumer < p.delivered.Consumer:
		return 0, 0
	case p.pending == 0 && now.share < 1: // the estimate is too coarse
		return 0, 0
	}
	gone := float64(p.pending) - float64(now.delivered.Consumer-p.delivered.Consumer) - float64(now.pending)
	bounded := func(stored float64) int { return max(0, min(int(gone+stored*now.share+0.5), int(first-delivered))) }
	return bounded(float64(now.last) - float64(p.lastAfter)), bounded(float64(now.lastAfter) - float64(p.last))
}

// isLate reports whether the log drops the oldest event soon that the consumer has not handled: it is in the last fifth
// of what the log keeps.
func (p place) isLate(log *jetstream.StreamInfo) bool {
	if p.stored.IsZero() {
		return false
	}
	const fifth = 5
	state, config := log.State, log.Config
	byAge := config.MaxAge > 0 && time.Since(p.stored) > config.MaxAge-config.MaxAge/fifth
	bySize := config.MaxBytes > 0 && state.Bytes > uint64(config.MaxBytes-config.MaxBytes/fifth) &&
		p.oldest-min(p.oldest, state.FirstSeq) < (state.LastSeq-state.FirstSeq)/fifth
	return byAge || bySize
}

// noteCutOff logs that a service is cut off, and stores that for tools. All instances of the publisher do at about the
// same time, and JetStream keeps one record.
func (s *Stream) noteCutOff(ctx context.Context, of ConsumerName, events int, until time.Time) {
	s.config.Log(s.config.Logger.Error().Str("publisher", s.Publisher).Str("service", of.Service).Str("event", of.Event).
		Int("events", events).Time("until", until),
		"a subscriber is cut off: the log has dropped events that it had not handled; it goes on with what there is")
	record := nats.NewMsg(s.DeadLetter(of.Service, of.Event, CutOffToken))
	record.Header.Set(CutOffEventsHeader, strconv.Itoa(events))
	record.Header.Set(CutOffUntilHeader, until.UTC().Format(time.RFC3339Nano))
	manager, err := s.manager()
	if err == nil {
		_, err = manager.PublishMsg(ctx, record, jetstream.WithMsgID("cut "+of.String()+" "+
			time.Now().Truncate(tellPause).UTC().Format(time.RFC3339)))
	}
	if err != nil {
		s.config.Log(s.config.Logger.Warn().Err(err).Str("publisher", s.Publisher).Str("service", of.Service),
			"cannot store that a subscriber is cut off")
	}
}

// Subscribers returns how far the services were at the latest look, in the order of their names, and the bytes of the
// log and their limit.
func (w *Watch) Subscribers() (all []Subscriber, bytes, limit float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	of := make(map[ConsumerName]*Subscriber)
	for name, at := range w.places {
		kind := ConsumerName{Service: name.Service, Event: name.Event}
		sum := of[kind]
		if sum == nil {
			sum = &Subscriber{Service: kind.Service, Event: kind.Event, CutOff: w.cutOff[kind]}
			of[kind] = sum
		}
		sum.Backlog += at.backlog
		sum.InFlight += at.inFlight
		sum.Redelivered += at.redelivered
		if !at.stored.IsZero() && (sum.Oldest.IsZero() || at.stored.Before(sum.Oldest)) {
			sum.Oldest = at.stored
		}
	}
	for _, each := range of {
		all = append(all, *each)
	}
	slices.SortFunc(all, func(a, b Subscriber) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Event, b.Event))
	})
	return all, float64(w.state.Bytes), float64(w.limit)
}

package natsconn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/wire"
)

// Receiver takes a message on the goroutine of the dispatcher, which must not block, and parses it with the reader of
// that goroutine. It returns what is left to do, nil for nothing.
type Receiver func(message *nats.Msg, reader *wire.Reader) worker.Job

// Subscription is a subscription with all that is needed to make it again.
type Subscription struct {
	Subject, Queue string
	Receive        Receiver
	Answers        bool   // it brings responses to our own requests, or ends handlers that still run, so it ends last
	Always         bool   // it stays while the session is paused
	Pattern        string // the subjects that any instance of the host subscribes to in its place; "" if that is Subject
	For            string // what it is for, for the list of permissions

	session *Session
	sub     *nats.Subscription
	dropped int             // of sub, at the last look
	drained <-chan struct{} // closed when sub has drained; nil before it drains
	ended   func()          // closes drained
}

func (s *Subscription) subscribe(on *nats.Conn) (err error) {
	s.dropped = 0
	if s.sub, err = s.session.conn.dispatcher.subscribe(on, s); errors.Is(err, nats.ErrConnectionClosed) {
		err = fmt.Errorf("%w: %w", status.ErrDisconnected, err) // it is being replaced
	}
	if err != nil {
		return fmt.Errorf("subscribe to %s: %w", s.Subject, err)
	}
	return nil
}

// Member is the owner of a session. Its methods are called on goroutines of nats.go and of the dispatcher, and must not
// block.
type Member interface {
	// Expects reports whether a violation is not an error, but how the broker was set up. off says what the violation
	// turns off, for the log and for [Session.TurnedOff]; with "" it is not worth a line.
	Expects(Violation) (off string, expected bool)
	// PublishDenied is called when the broker refuses messages to a subject, of any session.
	PublishDenied(subject string)
	// Reconnected is called when the broker is back.
	Reconnected()
	// Dropped is called when a message cannot be received.
	Dropped(subject string, err error)
}

// Session is the subscriptions of one user of a Conn. Its methods are safe for concurrent use.
type Session struct {
	conn   *Conn
	member Member
	plane  string
	logger zerolog.Logger

	mu            sync.Mutex // protects all below
	subscriptions []*Subscription
	examined      error // the last report of the broker when it was last looked at
	closing       bool
	paused        bool // subscriptions in queue groups are listed, and not made
	slow          slowConsumer
}

// Open returns a session without subscriptions. plane is the first token of the member's subjects, "" for none of its
// own.
func (c *Conn) Open(member Member, plane string, logger zerolog.Logger) *Session {
	s := &Session{conn: c, member: member, plane: plane, logger: logger}
	s.examined = c.NATS().LastError() // an earlier error has nothing to do with this session
	c.joining.Lock()
	defer c.joining.Unlock()
	c.sessions = append(c.sessions, s)
	return s
}

// Leave ends the session, and all its subscriptions at once.
func (s *Session) Leave() {
	s.Keep(nil)
	s.conn.joining.Lock()
	defer s.conn.joining.Unlock()
	s.conn.sessions = slices.DeleteFunc(s.conn.sessions, func(other *Session) bool { return other == s })
}

func (c *Conn) allSessions() []*Session {
	c.joining.Lock()
	defer c.joining.Unlock()
	return slices.Clone(c.sessions)
}

// Subscribe makes a subscription, or lists it until [Session.Resume]. Whether the broker denies it is known later: see
// [Session.Attempt]. It is an error once the session is draining.
func (s *Session) Subscribe(added *Subscription) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return status.ErrClosed
	}
	added.session = s
	if !s.isPausedLocked(added) {
		if err := added.subscribe(s.conn.NATS()); err != nil {
			return err
		}
	}
	s.subscriptions = append(s.subscriptions, added)
	return nil
}

// Attempt runs what calls Subscribe, and returns when the broker knows of the subscriptions and has denied none of
// them. after, if it is not nil, runs then. If anything fails all subscriptions made meanwhile end.
func (s *Session) Attempt(ctx context.Context, subscribe func() error, after func() error) error {
	before := s.Subscriptions()
	err := s.subscribeChecked(ctx, subscribe)
	if err == nil && after != nil {
		err = after()
	}
	if err != nil {
		s.Keep(before)
		_ = s.conn.Flush(ctx) // until the broker knows, messages would still be sent here
	}
	return err
}

func (s *Session) subscribeChecked(ctx context.Context, subscribe func() error) error {
	defer s.conn.expectingNoDenial()()
	collector := s.conn.collectAsyncErrs()
	defer collector.close()
	if err := subscribe(); err != nil {
		return err
	}
	if err := s.conn.Flush(ctx); err != nil {
		return err
	}
	return s.check(ctx, collector)
}

// Subscriptions returns the subscriptions there are.
func (s *Session) Subscriptions() []*Subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.subscriptions)
}

// Keep ends all subscriptions but some.
func (s *Session) Keep(some []*Subscription) {
	s.remove(func(each *Subscription) bool { return !slices.Contains(some, each) })
}

// Unsubscribe ends some subscriptions.
func (s *Session) Unsubscribe(some []*Subscription) {
	s.remove(func(each *Subscription) bool { return slices.Contains(some, each) })
}

func (s *Session) remove(ends func(*Subscription) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscriptions = slices.DeleteFunc(s.subscriptions, func(each *Subscription) bool {
		if !ends(each) {
			return false
		}
		s.conn.dispatcher.forget(each.sub)
		return true
	})
}

// isPausedLocked reports whether a subscription is only listed.
func (s *Session) isPausedLocked(of *Subscription) bool { return s.paused && of.canPause() }

// canPause reports whether the broker can deliver the messages to another subscription of the group.
func (s *Subscription) canPause() bool { return s.Queue != "" && !s.Always }

// Pause leaves the queue groups, once what was delivered before has arrived, and makes no further subscription in one.
// It waits no longer than ctx allows.
func (s *Session) Pause(ctx context.Context) {
	s.mu.Lock()
	s.paused = true
	s.mu.Unlock()
	if s.conn.quiet != nil {
		s.endInQuiet(ctx, s.suspend)
	} else {
		s.Drain(ctx, (*Subscription).canPause)
		s.conn.Barrier(ctx)
	}
	s.suspend() // what has not drained in its time, too
}

// suspend ends the subscriptions in queue groups, and keeps them listed.
func (s *Session) suspend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, each := range s.subscriptions {
		if each.canPause() {
			s.conn.dispatcher.forget(each.sub)
			each.sub, each.drained, each.ended = nil, nil, nil
		}
	}
}

// Resume joins the queue groups again, and returns when the broker knows of it and has denied nothing. After an error
// the session is still paused.
func (s *Session) Resume(ctx context.Context) error {
	err := s.subscribeChecked(ctx, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.closing {
			return status.ErrClosed
		}
		s.paused = false
		return s.resubscribeLocked(s.conn.NATS(), func(each *Subscription) bool { return each.sub == nil })
	})
	if err != nil {
		s.Pause(ctx)
	}
	return err
}

// resubscribe makes all subscriptions again that do not drain. A session that is draining takes no more requests.
func (s *Session) resubscribe(on *nats.Conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscriptions = slices.DeleteFunc(s.subscriptions, func(each *Subscription) bool {
		return s.closing && !each.Answers || each.drained != nil && !s.isPausedLocked(each)
	})
	return s.resubscribeLocked(on, func(*Subscription) bool { return true })
}

// resubscribeLocked makes some subscriptions again.
func (s *Session) resubscribeLocked(on *nats.Conn, which func(*Subscription) bool) error {
	for _, each := range s.subscriptions {
		if s.isPausedLocked(each) || !which(each) {
			continue
		}
		if err := each.subscribe(on); err != nil {
			return err
		}
	}
	return nil
}

// StopSubscribing makes every further Subscribe fail.
func (s *Session) StopSubscribing() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
}

// Drain ends those of the subscriptions that ends names, but none that brings responses, once what was delivered before
// has arrived. If the broker goes away meanwhile nothing more arrives. It waits no longer than ctx allows.
func (s *Session) Drain(ctx context.Context, ends func(*Subscription) bool) {
	if s.conn.quiet != nil {
		s.endInQuiet(ctx, func() {
			s.remove(func(each *Subscription) bool { return !each.Answers && ends(each) })
		})
		return
	}
	connection := s.conn.NATS()
	lost := connection.StatusChanged(nats.RECONNECTING, nats.CLOSED)
	defer connection.RemoveStatusListener(lost)
	if !s.conn.IsConnected() {
		return
	}
	for _, drained := range s.beginDraining(ends) {
		select {
		case <-drained:
		case <-lost:
			return
		case <-ctx.Done():
			return
		}
	}
}

// beginDraining drains those subscriptions, and returns for each what is closed when it has. A registration that is
// taken back at the same time ends them, too. nats.go reports no end of a subscription that has ended already, so the
// lock is held until all of them are set to report theirs. An application can still drain a connection of its own at
// the same time.
func (s *Session) beginDraining(ends func(*Subscription) bool) (drained []<-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, each := range s.subscriptions {
		if !each.Answers && ends(each) {
			drained = append(drained, each.drain())
		}
	}
	return drained
}

// drain begins to drain, unless that has begun, and returns a channel that is closed when it has.
func (s *Subscription) drain() <-chan struct{} {
	if s.drained == nil {
		drained := make(chan struct{})
		ended := sync.OnceFunc(func() { close(drained) })
		s.drained, s.ended = drained, ended
		if s.sub != nil { // the session is not paused
			s.sub.SetClosedHandler(func(string) { ended() })
		}
	}
	if s.sub.Drain() != nil || !s.sub.IsValid() { // it has ended already
		s.ended()
	}
	return s.drained
}

// endInQuiet calls end, which ends subscriptions and must not block, at a moment at which nothing is on its way to
// them. Without such a moment it does not, and they stay.
func (s *Session) endInQuiet(ctx context.Context, end func()) {
	if !s.conn.IsConnected() || s.conn.quiet.AwaitQuiet(ctx) != nil {
		return
	}
	end()
	_ = s.conn.Flush(ctx) // if it fails the broker has gone, and nothing arrives any more
}

// dropQuiet is how long nothing must have been dropped before a session counts as healthy again.
const dropQuiet = 10 * time.Second

// slowConsumer counts the messages that nats.go dropped because the dispatcher was too slow.
type slowConsumer struct {
	count int64
	last  time.Time // when some were last noticed
}

// Dropped returns how many messages of this session nats.go has dropped, as the dispatcher was too slow, and whether
// that happened in the last 10 s.
func (s *Session) Dropped() (count int64, recently bool) {
	recently = s.countDropped()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slow.count, recently
}

// countDropped counts what was dropped since the last time. The first drop of an episode is logged.
func (s *Session) countDropped() (recently bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	recently = !s.slow.last.IsZero() && now.Sub(s.slow.last) < dropQuiet
	for _, each := range s.subscriptions {
		more := each.newlyDropped()
		if more == 0 {
			continue
		}
		s.slow.count += more
		s.slow.last = now
		if !recently {
			recently = true
			s.conn.log(s.logger.Error().Str("subject", each.Subject).Int64("messages", more),
				"messages arrive faster than this process reads them, and are thrown away")
		}
	}
	return recently
}

// newlyDropped returns how many messages were dropped since the last time; none once the subscription is closed.
func (s *Subscription) newlyDropped() int64 {
	dropped, err := s.sub.Dropped()
	if err != nil {
		return 0
	}
	more := dropped - s.dropped
	s.dropped = dropped
	return int64(more)
}

package natsconn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/internal/status"
)

// Permission is a permission to publish or to subscribe that the user of a connection needs.
type Permission struct {
	Subject string
	For     string // the purpose, for people
}

// Violation is a subject that the broker does not let a connection publish or subscribe to. The broker reports it
// later, as text, and without naming the message; this is the only place that parses it.
type Violation struct {
	Publish bool // else to subscribe
	Subject string
}

// ParseViolation parses an error of nats.go. It returns false for any other error.
func ParseViolation(err error) (denied Violation, ok bool) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return Violation{}, false
	}
	_, quoted, publish := strings.Cut(err.Error(), "Permissions Violation for Publish to ")
	if !publish {
		_, quoted, ok = strings.Cut(err.Error(), "Permissions Violation for Subscription to ")
		if !ok {
			return Violation{}, false
		}
	}
	prefix, err := strconv.QuotedPrefix(quoted)
	if err != nil {
		return Violation{}, false
	}
	subject, err := strconv.Unquote(prefix)
	return Violation{publish, subject}, err == nil
}

func (d Violation) verb() string {
	if d.Publish {
		return "publish"
	}
	return "subscribe"
}

// violations are the subjects that the broker has denied on the present connection.
type violations struct {
	mu   sync.Mutex // protects seen
	seen map[Violation]struct{}
}

// maxDenials bounds what is remembered; beyond it everything is forgotten, and may be logged once more.
const maxDenials = 1024

// add reports whether it is the first time.
func (d *violations) add(denied Violation) (first bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.seen[denied]; known {
		return false
	}
	if d.seen == nil || len(d.seen) >= maxDenials {
		d.seen = make(map[Violation]struct{})
	}
	d.seen[denied] = struct{}{}
	return true
}

func (d *violations) has(denied Violation) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, known := d.seen[denied]
	return known
}

func (d *violations) all() []Violation {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Keys(d.seen))
}

// forget starts afresh after a reconnect, which may allow more.
func (d *violations) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen = nil
}

// everySubject stands in a denial for all further subscriptions, whatever their subject.
const everySubject = ">"

// onViolation handles a report on a connection of our own: calls to that subject end at once.
func (c *Conn) onViolation(denied Violation) {
	sessions := c.allSessions()
	for _, session := range sessions {
		if off, expected := session.member.Expects(denied); expected {
			c.noteExpected(denied, off)
			return
		}
	}
	if c.violations.add(denied) {
		c.log(c.logger.Error().Str("subject", denied.Subject), c.denied(denied).Error())
	}
	if !denied.Publish {
		return
	}
	for _, session := range sessions {
		session.member.PublishDenied(denied.Subject)
	}
}

// noteExpected notes a violation that is not an error. What it turns off is logged once, until the connection is made
// again.
func (c *Conn) noteExpected(denied Violation, off string) {
	switch {
	case off == "":
		c.log(c.logger.Debug().Str("subject", denied.Subject), c.denied(denied).Error())
	case c.violations.add(denied):
		c.log(c.logger.Warn().Str("subject", denied.Subject), fmt.Sprintf("%s; %s", off, c.denied(denied)))
	}
}

// Report returns what [Conn.DeniedSince] compares with: the last error of a connection of the application, whose
// callbacks are not ours. It is nil for a connection of our own, whose sessions get a report of a violation.
func (c *Conn) Report() error {
	if c.owned {
		return nil
	}
	return c.NATS().LastError()
}

// DeniedSince reports whether the broker has denied publishing to a subject after an earlier [Conn.Report]. The earlier
// one does not count: what it denied may have been allowed in the meantime.
func (c *Conn) DeniedSince(before error, subject string) bool {
	return isNewViolation(before, c.Report(), Violation{Publish: true, Subject: subject})
}

// LastReport returns the last error of the connection, for [Conn.IsNewViolation].
func (c *Conn) LastReport() error { return c.NATS().LastError() }

// IsNewViolation reports whether the last error is a violation, and another error than before.
func (c *Conn) IsNewViolation(before error, v Violation) bool {
	return isNewViolation(before, c.LastReport(), v)
}

func isNewViolation(before, last error, v Violation) bool {
	denied, ok := ParseViolation(last)
	return ok && last != before && denied == v //nolint:errorlint // the very same report
}

// Denies reports whether the broker is known to deny publishing to a subject, which holds until the next reconnect.
func (c *Conn) Denies(subject string) bool {
	to := Violation{Publish: true, Subject: subject}
	if last, ok := ParseViolation(c.Report()); ok && last == to {
		c.violations.add(to)
	}
	return c.violations.has(to)
}

// LastViolation returns what the broker denied, if that was its last report, and the error for it.
func (c *Conn) LastViolation() (denied Violation, err error) {
	denied, ok := ParseViolation(c.LastReport())
	if !ok {
		return Violation{}, nil
	}
	return denied, c.denied(denied)
}

// denied is the error for a subject that the broker denies.
func (c *Conn) denied(v Violation) error {
	return fmt.Errorf("the broker does not let %s %s to %s; see docs/guides/permissions.md", c.User(), v.verb(), v.Subject)
}

// Forbidden returns the error for a request that the broker denies. Nothing has run. The text is not for people outside
// of the bus.
func (c *Conn) Forbidden(subject string) *status.Error {
	failed := status.NotRun(http.StatusForbidden, nats.ErrPermissionViolation, "%s",
		c.denied(Violation{Publish: true, Subject: subject}))
	failed.Internal = true
	return failed
}

// User returns as whom the broker knows us, for people. A user in the URL comes before the others, and one without a
// password is a token.
func (c *Conn) User() string {
	connection := c.NATS()
	if at, err := url.Parse(connection.ConnectedUrl()); err == nil && at.User != nil {
		if _, named := at.User.Password(); named {
			return fmt.Sprintf("user %q", at.User.Username())
		}
		return "this connection"
	}
	if name := connection.Opts.User; name != "" {
		return fmt.Sprintf("user %q", name)
	}
	if connection.Opts.Nkey != "" {
		return "nkey " + connection.Opts.Nkey
	}
	return "this connection"
}

// check returns an error if the broker has refused a subscription of this session since a collector began. Call it
// after a flush: the broker has then reported all of them.
func (s *Session) check(ctx context.Context, collector *asyncErrCollector) error {
	reports, err := collector.reports(ctx)
	if err != nil {
		return fmt.Errorf("no word from the broker about the subscriptions: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.examined = collector.last
	for _, report := range reports {
		// always the same error, so it may be old: this is rather too strict
		if errors.Is(report, nats.ErrMaxSubscriptionsExceeded) {
			return s.conn.tooManySubscriptions(report)
		}
		denied, isOurs := s.concernsLocked(report)
		if off, expected := s.member.Expects(denied); isOurs && expected {
			s.conn.noteExpected(denied, off)
			continue
		}
		if isOurs {
			return fmt.Errorf("%w: %w", s.conn.denied(denied), nats.ErrPermissionViolation)
		}
	}
	return nil
}

// concernsLocked returns which subscription of this session a report denies.
func (s *Session) concernsLocked(report error) (denied Violation, isOurs bool) {
	denied, isDenial := ParseViolation(report)
	if !isDenial || denied.Publish {
		return denied, false
	}
	return denied, slices.ContainsFunc(s.subscriptions,
		func(each *Subscription) bool { return each.Subject == denied.Subject })
}

// Denied reports whether the broker has denied a subscription of this session, which it can do when the connection is
// made again. Of a connection of the application only the last report is known.
func (s *Session) Denied() bool {
	last := s.conn.Report()
	s.mu.Lock()
	defer s.mu.Unlock()
	if denied, isOurs := s.concernsLocked(last); isOurs && last != s.examined && !s.expects(denied) { //nolint:errorlint // the very same report may still stand there
		return true
	}
	return slices.ContainsFunc(s.subscriptions, func(each *Subscription) bool {
		denied := Violation{Subject: each.Subject}
		return s.conn.violations.has(denied) && !s.expects(denied)
	})
}

func (s *Session) expects(denied Violation) bool {
	_, expected := s.member.Expects(denied)
	return expected
}

// TurnedOff returns what the violations turn off that the member expects, sorted.
func (s *Session) TurnedOff() (all []string) {
	for _, denied := range s.conn.violations.all() {
		if off, expected := s.member.Expects(denied); expected && off != "" {
			all = append(all, off)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// tooManySubscriptions is the error when the broker has refused some because of their number. It does not say which.
func (c *Conn) tooManySubscriptions(err error) error {
	return fmt.Errorf("the broker takes no more subscriptions of %s, so that some are missing: "+
		"raise max_subscriptions of the broker, or the limit of the account: %w", c.User(), err)
}

// asyncErrCollector collects which messages the broker refuses while subscriptions are being made. nats.go reports
// asynchronous errors through a callback, and keeps only the last one, which may be about what another session does at
// the same time.
type asyncErrCollector struct {
	conn   *Conn
	before error         // the last report when it began
	last   error         // the last report when it was asked
	more   chan struct{} // room for one: collected has grown

	mu        sync.Mutex // protects collected
	collected []error    // in their order
}

// collectAsyncErrs begins before anything is subscribed to. Close the collector in the end.
func (c *Conn) collectAsyncErrs() *asyncErrCollector {
	w := &asyncErrCollector{conn: c, before: c.NATS().LastError(), more: make(chan struct{}, 1)}
	c.collecting.Lock()
	defer c.collecting.Unlock()
	c.collectors = append(c.collectors, w)
	return w
}

func (w *asyncErrCollector) close() {
	w.conn.collecting.Lock()
	defer w.conn.collecting.Unlock()
	w.conn.collectors = slices.DeleteFunc(w.conn.collectors, func(other *asyncErrCollector) bool { return other == w })
}

// recordAsyncErr gives all collectors what nats.go reports of a connection of our own.
func (c *Conn) recordAsyncErr(report error) {
	c.collecting.Lock()
	defer c.collecting.Unlock()
	for _, w := range c.collectors {
		w.record(report)
	}
}

func (w *asyncErrCollector) record(report error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.collected = append(w.collected, report)
	select {
	case w.more <- struct{}{}:
	default:
	}
}

// reports returns what was refused since the collector began. Call it after a flush: nats.go has then received all
// reports. It calls back later, in their order, but sets LastError at once. So the wait ends when the callback has
// delivered LastError. A connection of the application has no callback of ours: only LastError is known.
func (w *asyncErrCollector) reports(ctx context.Context) ([]error, error) {
	w.last = w.conn.NATS().LastError()
	isOld := w.last == w.before //nolint:errorlint // the very same report
	switch {
	case errors.Is(w.last, nats.ErrMaxSubscriptionsExceeded): // the same error each time
		return []error{w.last}, nil
	case isOld, !isRefusal(w.last):
		return w.soFar(), nil
	case !w.conn.owned:
		return []error{w.last}, nil
	}
	for examined := 0; ; {
		collected := w.soFar()
		if slices.Contains(collected[examined:], w.last) {
			return collected, nil
		}
		examined = len(collected)
		select {
		case <-w.more:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (w *asyncErrCollector) soFar() []error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.collected // to which more is only appended
}

// isRefusal reports whether a report is about a message that the broker does not take, rather than the connection.
func isRefusal(report error) bool {
	return errors.Is(report, nats.ErrPermissionViolation) || errors.Is(report, nats.ErrMaxSubscriptionsExceeded)
}

// expectingNoDenial keeps denials that are expected apart from others; call done when the broker has answered. Only the
// last report of a connection of the application is known, so on such a connection one session subscribes after the
// other.
func (c *Conn) expectingNoDenial() (done func()) {
	if c.owned {
		c.denying.RLock()
		return c.denying.RUnlock
	}
	return c.ExpectingDenial()
}

// ExpectingDenial keeps all sessions from subscribing until done is called: so a denial is of the caller's own
// subscriptions.
func (c *Conn) ExpectingDenial() (done func()) {
	c.denying.Lock()
	return c.denying.Unlock
}

package bus

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/internal/status"
)

// permissionViolation is a subject that the broker does not let a connection publish or subscribe to. The broker reports it later, as text,
// and without naming the message; this is the only place that parses it.
type permissionViolation struct {
	publish bool
	subject string
}

// permissionViolationOf parses an error of the broker client; false for any other error.
func permissionViolationOf(err error) (denied permissionViolation, ok bool) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return permissionViolation{}, false
	}
	_, quoted, publish := strings.Cut(err.Error(), "Permissions Violation for Publish to ")
	if !publish {
		_, quoted, ok = strings.Cut(err.Error(), "Permissions Violation for Subscription to ")
		if !ok {
			return permissionViolation{}, false
		}
	}
	prefix, err := strconv.QuotedPrefix(quoted)
	if err != nil {
		return permissionViolation{}, false
	}
	subject, err := strconv.Unquote(prefix)
	return permissionViolation{publish, subject}, err == nil
}

func (d permissionViolation) verb() string {
	if d.publish {
		return "publish"
	}
	return "subscribe"
}

// permissionViolations are the subjects that the broker has denied on the present connection.
type permissionViolations struct {
	mu   sync.Mutex // protects seen
	seen map[permissionViolation]struct{}
}

// maxDenials bounds what is remembered; beyond it everything is forgotten, and may be logged once more.
const maxDenials = 1024

// add reports whether it is the first time.
func (d *permissionViolations) add(denied permissionViolation) (first bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.seen[denied]; known {
		return false
	}
	if d.seen == nil || len(d.seen) >= maxDenials {
		d.seen = make(map[permissionViolation]struct{})
	}
	d.seen[denied] = struct{}{}
	return true
}

func (d *permissionViolations) has(denied permissionViolation) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, known := d.seen[denied]
	return known
}

// forget starts afresh after a reconnect, which may allow more.
func (d *permissionViolations) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen = nil
}

// everySubject stands in a denial for all further subscriptions, whatever their subject.
const everySubject = ">"

// onPermissionViolation handles a report on a connection of our own: calls to that subject end at once.
func (l *link) onPermissionViolation(denied permissionViolation) {
	if l.services.expects(denied) {
		l.log(l.logger.Debug().Str("subject", denied.subject), l.denied(denied).Error())
		return
	}
	if l.denials.add(denied) {
		l.log(l.logger.Error().Str("subject", denied.subject), l.denied(denied).Error())
	}
	if !denied.publish {
		return
	}
	for _, member := range l.members() {
		member.pending.denied(denied.subject)
	}
}

// givenReport returns the last error of a connection given with WithNATS. Its callbacks are not ours, so this is all that is
// known about it. It returns nil for a connection of our own.
func (l *link) givenReport() error {
	if l.owned {
		return nil
	}
	return l.conn().LastError()
}

// deniedSince reports whether the broker has denied a subject on a given connection after an earlier report. The earlier one does
// not count: what it denied may have been allowed in the meantime.
func (l *link) deniedSince(before error, subject string) bool {
	last := l.givenReport()
	denied, ok := permissionViolationOf(last)
	return ok && last != before && denied == permissionViolation{publish: true, subject: subject} //nolint:errorlint // the very same report
}

// denies reports whether the broker is known not to let us publish to a subject, which holds until the next reconnect.
func (l *link) denies(subject string) bool {
	to := permissionViolation{publish: true, subject: subject}
	if last, ok := permissionViolationOf(l.givenReport()); ok && last == to {
		l.denials.add(to)
	}
	return l.denials.has(to)
}

// denied is the error for a subject that the broker denies.
func (l *link) denied(denied permissionViolation) error {
	return fmt.Errorf("the broker does not let %s %s to %s; see docs/permissions.md", l.user(), denied.verb(), denied.subject)
}

// user says as whom the broker knows us. A user in the URL comes before the others, and one without a password is a token.
func (l *link) user() string {
	connection := l.conn()
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

// forbidden is the error for a call that the broker denies. Nothing has run. Whose mistake that is, and its text, is nothing for
// people outside of the bus.
func (c *Conn) forbidden(subject string) *status.Error {
	err := c.link.denied(permissionViolation{publish: true, subject: subject})
	failed := status.Errorf(http.StatusForbidden, status.ExecutedNo, nats.ErrPermissionViolation, "%s", err)
	failed.Internal = true
	return failed
}

// checkSubscriptions returns an error if the broker has refused a subscription of this connection since a witness began.
// Call it after a flush: the broker has then reported all of them.
func (c *Conn) checkSubscriptions(ctx context.Context, w *asyncErrCollector) error {
	reports, err := w.reports(ctx)
	if err != nil {
		return fmt.Errorf("no word from the broker about the subscriptions: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.examined = w.last
	for _, report := range reports {
		if errors.Is(report, nats.ErrMaxSubscriptionsExceeded) { // always the same error, so that it may be old: rather too strict
			return c.link.tooManySubscriptions(report)
		}
		if denied, isOurs := c.concernsLocked(report); isOurs {
			return fmt.Errorf("%w: %w", c.link.denied(denied), nats.ErrPermissionViolation)
		}
	}
	return nil
}

// concernsLocked returns which subscription of this connection, and not an optional one, a report denies.
func (c *Conn) concernsLocked(report error) (denied permissionViolation, isOurs bool) {
	denied, isDenial := permissionViolationOf(report)
	if !isDenial || denied.publish {
		return denied, false
	}
	return denied, slices.ContainsFunc(c.subscriptions, func(each *subscription) bool {
		return each.subject == denied.subject && !each.optional
	})
}

// tooManySubscriptions is the error when the broker has refused some because of their number. It does not say which.
func (l *link) tooManySubscriptions(err error) error {
	return fmt.Errorf("the broker takes no more subscriptions of %s, so that some are missing: raise max_subscriptions of the broker, or the limit of the account: %w", l.user(), err)
}

// asyncErrCollector hears which subscriptions the broker refuses while some are being made. The broker client keeps only its last
// report, and that may be about what another connection of the process does at the same time.
type asyncErrCollector struct {
	link   *link
	before error         // the last report when it began
	last   error         // the last report when it was asked
	news   chan struct{} // room for one: it has heard something

	mu    sync.Mutex // protects heard
	heard []error    // in their order
}

// newWitness begins before anything is subscribed to. It hears until it is dismissed.
func (l *link) newWitness() *asyncErrCollector {
	w := &asyncErrCollector{link: l, before: l.conn().LastError(), news: make(chan struct{}, 1)}
	l.hearing.Lock()
	defer l.hearing.Unlock()
	l.witnesses = append(l.witnesses, w)
	return w
}

func (w *asyncErrCollector) dismiss() {
	w.link.hearing.Lock()
	defer w.link.hearing.Unlock()
	w.link.witnesses = slices.DeleteFunc(w.link.witnesses, func(other *asyncErrCollector) bool { return other == w })
}

// recordAsyncErr tells all witnesses what the broker client reports of a connection of ours.
func (l *link) recordAsyncErr(report error) {
	l.hearing.Lock()
	defer l.hearing.Unlock()
	for _, w := range l.witnesses {
		w.record(report)
	}
}

func (w *asyncErrCollector) record(report error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = append(w.heard, report)
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// reports returns what was refused since it began. Call it after a flush: the broker client has then received all reports. It
// passes them on later, in their order, so that the last one, which it names at once, ends the wait. Of a connection that was
// given nothing else is known.
func (w *asyncErrCollector) reports(ctx context.Context) ([]error, error) {
	w.last = w.link.conn().LastError()
	old := w.last == w.before //nolint:errorlint // the very same report
	switch {
	case errors.Is(w.last, nats.ErrMaxSubscriptionsExceeded): // the same error each time
		return []error{w.last}, nil
	case old, !isRefusal(w.last):
		return w.soFar(), nil
	case !w.link.owned:
		return []error{w.last}, nil
	}
	for examined := 0; ; {
		heard := w.soFar()
		if slices.Contains(heard[examined:], w.last) {
			return heard, nil
		}
		examined = len(heard)
		select {
		case <-w.news:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (w *asyncErrCollector) soFar() []error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.heard // to which more is only appended
}

// isRefusal reports whether a report is about a message that the broker does not take, rather than the connection.
func isRefusal(report error) bool {
	return errors.Is(report, nats.ErrPermissionViolation) || errors.Is(report, nats.ErrMaxSubscriptionsExceeded)
}

// checking keeps denials that are expected apart from others; call done when nothing is subscribed to any more. Of a connection
// that was given only the last report is known, so that on it one subscribes after the other.
func (l *link) checking() (done func()) {
	if l.owned {
		l.denying.RLock()
		return l.denying.RUnlock
	}
	l.denying.Lock()
	return l.denying.Unlock
}

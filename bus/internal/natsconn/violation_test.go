package natsconn_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/natsconn/natsconntest"
	"github.com/busline/busline/bus/internal/status"
)

// TestViolation_ParseViolation_Texts holds which errors of nats.go are violations, and of what.
func TestViolation_ParseViolation_Texts(t *testing.T) {
	t.Parallel()
	violation := func(text string) error {
		return fmt.Errorf("%w: Permissions Violation for %s", nats.ErrPermissionViolation, text)
	}
	for _, test := range []struct {
		err  error
		want natsconn.Violation // without a subject: none
	}{
		{violation(`Publish to "a.b"`), natsconn.Violation{Publish: true, Subject: "a.b"}},
		{violation(`Subscription to "a.*.>"`), natsconn.Violation{Subject: "a.*.>"}},
		{violation(`Subscription to "a.b" using queue "q"`), natsconn.Violation{Subject: "a.b"}},
		{violation(`Publish to "a\"b\\c\u00e9"`), natsconn.Violation{Publish: true, Subject: `a"b\cé`}},
		{fmt.Errorf("wrapped: %w", violation(`Publish to "a"`)), natsconn.Violation{Publish: true, Subject: "a"}},
		{violation(`Subscription to "Publish to "`), natsconn.Violation{Subject: "Publish to "}},
		{violation(`Publish to a.b`), natsconn.Violation{}},
		{violation(`Publish to "a.b`), natsconn.Violation{}},
		{violation(`Publish to `), natsconn.Violation{}},
		{violation(`Something to "a.b"`), natsconn.Violation{}},
		{nats.ErrPermissionViolation, natsconn.Violation{}},
		{errors.New(`Permissions Violation for Publish to "a.b"`), natsconn.Violation{}},
		{nats.ErrMaxSubscriptionsExceeded, natsconn.Violation{}},
		{nil, natsconn.Violation{}},
	} {
		got, ok := natsconn.ParseViolation(test.err)
		if got != test.want || ok != (test.want.Subject != "") {
			t.Errorf("%v: %+v, %t", test.err, got, ok)
		}
	}
}

// TestViolations_Add_Bounded holds that what is remembered is bounded.
func TestViolations_Add_Bounded(t *testing.T) {
	t.Parallel()
	var seen natsconn.Violations
	subject := func(i int) natsconn.Violation { return natsconn.Violation{Subject: fmt.Sprint(i)} }
	for i := range natsconn.MaxDenials {
		if seen.Has(subject(i)) || !seen.Add(subject(i)) || seen.Add(subject(i)) {
			t.Fatalf("violation %d is not new once", i)
		}
	}
	if seen.Has(natsconn.Violation{Publish: true, Subject: "0"}) || !seen.Has(subject(0)) {
		t.Error("the verbs are not told apart, or the first one is forgotten")
	}
	if !seen.Add(subject(natsconn.MaxDenials)) || !seen.Has(subject(natsconn.MaxDenials)) {
		t.Error("the one beyond the bound is not remembered")
	}
	if seen.Has(subject(0)) || !seen.Add(subject(0)) {
		t.Error("beyond the bound the first one is still known")
	}
}

// TestViolations_Forget_Afresh holds that a violation is new again after a reconnect.
func TestViolations_Forget_Afresh(t *testing.T) {
	t.Parallel()
	var seen natsconn.Violations
	denied := natsconn.Violation{Publish: true, Subject: "a"}
	seen.Forget()
	seen.Add(denied)
	seen.Forget()
	if seen.Has(denied) || !seen.Add(denied) {
		t.Error("it is still known")
	}
}

// TestConn_HandleError_PublishDenied holds that members are told what the broker denies, which is known from then on.
func TestConn_HandleError_PublishDenied(t *testing.T) {
	t.Parallel()
	r := open(t, dialGuest(t), newMember())
	if r.conn.Denies("denied.one") {
		t.Error("it is denied from the start")
	}
	before := r.conn.LastReport()
	if err := r.conn.PublishNow("denied.one", "", nil); err != nil {
		t.Fatal(err)
	}
	r.awaitDenied("denied.one")
	if !r.conn.Denies("denied.one") || r.conn.Denies("denied.two") {
		t.Error("another subject is denied")
	}
	if !r.conn.IsNewViolation(before, natsconn.Violation{Publish: true, Subject: "denied.one"}) {
		t.Errorf("the last report is %v", r.conn.LastReport())
	}
	const want = `the broker does not let user "guest" publish to denied.one; see docs/permissions.md`
	forbidden := r.conn.Forbidden("denied.one")
	if forbidden.Status != http.StatusForbidden || forbidden.Executed != status.ExecutedNo || !forbidden.Internal ||
		!errors.Is(forbidden, nats.ErrPermissionViolation) || forbidden.Detail != want {
		t.Errorf("the error is %#v", forbidden)
	}
}

// TestSession_Denied_Later holds that a session knows of a subscription of its own that the broker has denied.
func TestSession_Denied_Later(t *testing.T) {
	t.Parallel()
	r := open(t, dialGuest(t), newMember())
	other := open(t, r.conn, newMember())
	other.mustAdd("allowed")
	r.mustAdd("denied.one")
	if err := r.conn.PublishNow("denied.two", "", nil); err != nil { // which is reported after the subscription
		t.Fatal(err)
	}
	r.awaitDenied("denied.two")
	if !r.Denied() || other.Denied() {
		t.Errorf("a subscription of the session is denied: %t; of the other one: %t", r.Denied(), other.Denied())
	}
}

// TestAsyncErrCollector_Reports_Order holds that all that was refused is collected in its order, and that the wait ends with the last
// report or with ctx. The callback of nats.go is busy with the first one meanwhile.
func TestAsyncErrCollector_Reports_Order(t *testing.T) {
	t.Parallel()
	m := newMember()
	release := make(chan struct{})
	m.expects = func(natsconn.Violation) bool {
		<-release
		return false
	}
	r := open(t, dialGuest(t), m)
	collector := natsconn.CollectAsyncErrs(r.conn)
	defer collector.Close()
	reports, err := collector.Reports(t.Context())
	if len(reports) > 0 || err != nil {
		t.Errorf("nothing was refused: %v, %v", reports, err)
	}
	r.mustAdd("denied.one", "allowed", "denied.two")
	if err := r.conn.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if reports, err := collector.Reports(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("without the last report: %v, %v", reports, err)
	}
	later := natsconn.CollectAsyncErrs(r.conn)
	later.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		reports, err = collector.Reports(t.Context())
	}()
	close(release)
	await(t, done)
	var subjects []string
	for _, report := range reports {
		denied, _ := natsconn.ParseViolation(report)
		subjects = append(subjects, denied.Subject)
	}
	if err != nil || !slices.Equal(subjects, []string{"denied.one", "denied.two"}) {
		t.Errorf("collected %q, %v", subjects, err)
	}
	if reports, err := later.Reports(t.Context()); len(reports) > 0 || err != nil {
		t.Errorf("a collector that began later has %v, %v", reports, err)
	}
}

// TestAsyncErrCollector_Reports_GivenConnection holds that the last report alone is known of a connection of the application.
func TestAsyncErrCollector_Reports_GivenConnection(t *testing.T) {
	t.Parallel()
	given := dialGuest(t).NATS()
	r := open(t, natsconntest.Dial(t, natsconn.Config{NATS: given}), newMember())
	collector := natsconn.CollectAsyncErrs(r.conn)
	defer collector.Close()
	r.mustAdd("denied.one", "denied.two")
	if err := r.conn.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	reports, err := collector.Reports(t.Context())
	if err != nil || len(reports) != 1 || !strings.Contains(reports[0].Error(), `"denied.two"`) {
		t.Errorf("collected %v, %v", reports, err)
	}
}

// TestConn_User_Credentials holds as whom the broker knows a connection. Credentials in the URL come before others.
func TestConn_User_Credentials(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ config, login, user, want string }{
		{`authorization { users: [ { user: "one", password: "secret" } ] }`, "one:secret@", "other", `user "one"`},
		{`authorization { token: "t0ken" }`, "t0ken@", "other", "this connection"},
		{`authorization { users: [ { user: "other", password: "" } ] }`, "", "other", `user "other"`},
		{`max_control_line: 4096`, "", "", "this connection"},
	} {
		conn := natsconntest.Dial(t, natsconn.Config{URL: startBroker(t, test.config, test.login), User: test.user})
		if got := conn.User(); got != test.want {
			t.Errorf("%s: got %s, want %s", test.config, got, test.want)
		}
	}
}

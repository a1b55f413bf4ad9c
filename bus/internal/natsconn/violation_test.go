package natsconn_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
		assert.Equal(t, test.want, got)
		assert.Equal(t, test.want.Subject != "", ok)
	}
}

// TestViolations_Add_Bounded holds that what is remembered is bounded.
func TestViolations_Add_Bounded(t *testing.T) {
	t.Parallel()
	var seen natsconn.Violations
	subject := func(i int) natsconn.Violation { return natsconn.Violation{Subject: fmt.Sprint(i)} }
	for i := range natsconn.MaxDenials {
		require.False(t, seen.Has(subject(i)))
		require.True(t, seen.Add(subject(i)))
		require.False(t, seen.Add(subject(i)))
	}
	assert.False(t, seen.Has(natsconn.Violation{Publish: true, Subject: "0"}),
		"the verbs are not told apart, or the first one is forgotten")
	assert.True(t, seen.Has(subject(0)))
	assert.True(t, seen.Add(subject(natsconn.MaxDenials)), "the one beyond the bound is not remembered")
	assert.True(t, seen.Has(subject(natsconn.MaxDenials)))
	assert.False(t, seen.Has(subject(0)), "beyond the bound the first one is still known")
	assert.True(t, seen.Add(subject(0)))
}

// TestViolations_Forget_Afresh holds that a violation is new again after a reconnect.
func TestViolations_Forget_Afresh(t *testing.T) {
	t.Parallel()
	var seen natsconn.Violations
	denied := natsconn.Violation{Publish: true, Subject: "a"}
	seen.Forget()
	seen.Add(denied)
	seen.Forget()
	assert.False(t, seen.Has(denied), "it is still known")
	assert.True(t, seen.Add(denied))
}

// TestConn_HandleError_PublishDenied holds that members get a report of what the broker denies, which is known from
// then on.
func TestConn_HandleError_PublishDenied(t *testing.T) {
	t.Parallel()
	r := open(t, dialGuest(t), newMember())
	if r.conn.Denies("denied.one") {
		t.Error("it is denied from the start")
	}
	before := r.conn.LastReport()
	require.NoError(t, r.conn.PublishNow("denied.one", "", nil))
	r.awaitDenied("denied.one")
	assert.True(t, r.conn.Denies("denied.one"), "another subject is denied")
	assert.False(t, r.conn.Denies("denied.two"))
	if !r.conn.IsNewViolation(before, natsconn.Violation{Publish: true, Subject: "denied.one"}) {
		t.Errorf("the last report is %v", r.conn.LastReport())
	}
	const want = `the broker does not let user "guest" publish to denied.one; see docs/guides/permissions.md`
	forbidden := r.conn.Forbidden("denied.one")
	assert.Equal(t, http.StatusForbidden, forbidden.Status)
	assert.Equal(t, status.ExecutedNo, forbidden.Executed)
	assert.True(t, forbidden.Internal)
	assert.ErrorIs(t, forbidden, nats.ErrPermissionViolation)
	assert.Equal(t, want, forbidden.Detail)
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
	assert.True(t, r.Denied(), "a subscription of the session is denied")
	assert.False(t, other.Denied(), "a subscription of the session is denied")
}

// TestAsyncErrCollector_Reports_Order holds that all that was refused is collected in its order, and that the wait ends
// with the last report or with ctx. The callback of nats.go is busy with the first one meanwhile.
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
	assert.LessOrEqual(t, len(reports), 0, "nothing was refused")
	assert.NoError(t, err, "nothing was refused")
	r.mustAdd("denied.one", "allowed", "denied.two")
	require.NoError(t, r.conn.Flush(t.Context()))
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
	require.NoError(t, err)
	assert.Equal(t, []string{"denied.one", "denied.two"}, subjects)
	reports, err = later.Reports(t.Context())
	assert.LessOrEqual(t, len(reports), 0)
	assert.NoError(t, err)
}

// TestAsyncErrCollector_Reports_GivenConnection holds that the last report alone is known of a connection of the
// application.
func TestAsyncErrCollector_Reports_GivenConnection(t *testing.T) {
	t.Parallel()
	appConn := dialGuest(t).NATS()
	r := open(t, natsconntest.Dial(t, natsconn.Config{NATS: appConn}), newMember())
	collector := natsconn.CollectAsyncErrs(r.conn)
	defer collector.Close()
	r.mustAdd("denied.one", "denied.two")
	require.NoError(t, r.conn.Flush(t.Context()))
	reports, err := collector.Reports(t.Context())
	require.NoError(t, err)
	require.Len(t, reports, 1)
	assert.ErrorContains(t, reports[0], `"denied.two"`)
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

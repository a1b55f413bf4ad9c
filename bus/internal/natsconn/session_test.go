package natsconn_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/wire"
)

// TestSession_Attempt_Denied holds that all subscriptions of an attempt end when the broker denies one, and earlier
// ones stay.
func TestSession_Attempt_Denied(t *testing.T) {
	t.Parallel()
	r := open(t, dialGuest(t), newMember())
	r.mustAdd("kept")
	err := r.Attempt(t.Context(), func() error {
		return errors.Join(r.add("added", false), r.add("denied.one", false))
	}, func() error {
		t.Error("after ran")
		return nil
	})
	const want = `the broker does not let user "guest" subscribe to denied.one; see docs/guides/permissions.md`
	assert.ErrorIs(t, err, nats.ErrPermissionViolation)
	assert.ErrorContains(t, err, want)
	got := r.subjects()
	assert.Equal(t, []string{"kept"}, got)
	assert.Equal(t, 1, r.conn.KnownSubscriptions())
	r.checkArrives([]string{"added", "kept"}, "kept")
	if err := r.Attempt(t.Context(), func() error { return r.add("added", false) }, nil); err != nil {
		t.Errorf("the next attempt: %v", err)
	}
	r.checkArrives([]string{"added", "kept"}, "added", "kept")
}

// TestSession_Attempt_Fails holds that all subscriptions of an attempt end when one of its functions fails.
func TestSession_Attempt_Fails(t *testing.T) {
	t.Parallel()
	r := open(t, dialInProcess(t), newMember())
	r.mustAdd("kept")
	failed := errors.New("failed")
	if err := r.Attempt(t.Context(), func() error { return r.add("added", false) },
		func() error { return failed }); !errors.Is(err, failed) {
		t.Errorf("after fails: %v", err)
	}
	r.checkArrives([]string{"added", "kept"}, "kept")
	err := r.Attempt(t.Context(), func() error { return errors.Join(r.add("added", false), failed) }, func() error {
		t.Error("after ran")
		return nil
	})
	if !errors.Is(err, failed) {
		t.Errorf("subscribe fails: %v", err)
	}
	r.checkArrives([]string{"added", "kept"}, "kept")
}

// TestSession_Subscribe_Closing holds that a session that is draining takes no more subscriptions, and keeps those it
// has.
func TestSession_Subscribe_Closing(t *testing.T) {
	t.Parallel()
	r := open(t, dialInProcess(t), newMember())
	r.mustAdd("kept")
	r.StopSubscribing()
	if err := r.add("late", false); !errors.Is(err, status.ErrClosed) {
		t.Errorf("the error is %v", err)
	}
	r.checkArrives([]string{"late", "kept"}, "kept")
}

// TestSession_Drain_KeepsAnswers holds that subscriptions that bring responses stay, and that those of another session
// do.
func TestSession_Drain_KeepsAnswers(t *testing.T) {
	t.Parallel()
	r := open(t, dialInProcess(t), newMember())
	other := open(t, r.conn, newMember())
	r.mustAdd("one", "two")
	other.mustAdd("two")
	require.NoError(t, r.add("answers", true))
	r.StopSubscribing()
	r.Drain(t.Context(), func(*natsconn.Subscription) bool { return true })
	r.checkArrives([]string{"one", "two", "answers"}, "answers")
	other.checkArrives([]string{"one", "two"}, "two")
	r.Drain(t.Context(), func(*natsconn.Subscription) bool { return true }) // has nothing left to wait for
}

// TestSession_Drain_Some holds that a drain of some subscriptions leaves the others, and does not disturb one of all.
func TestSession_Drain_Some(t *testing.T) {
	t.Parallel()
	r := open(t, dialInProcess(t), newMember())
	r.mustAdd("goes", "stays")
	r.Drain(t.Context(), func(each *natsconn.Subscription) bool { return each.Subject == "goes" })
	r.checkArrives([]string{"goes", "stays"}, "stays")
	r.Drain(t.Context(), func(*natsconn.Subscription) bool { return true })
	r.checkArrives([]string{"goes", "stays"})
}

// TestSession_Keep_Unsubscribe holds which subscriptions end.
func TestSession_Keep_Unsubscribe(t *testing.T) {
	t.Parallel()
	r := open(t, dialInProcess(t), newMember())
	all := []string{"one", "two", "three"}
	r.mustAdd(all...)
	r.Unsubscribe(r.Subscriptions()[:1])
	r.checkArrives(all, "two", "three")
	r.Keep(r.Subscriptions()[1:])
	r.checkArrives(all, "three")
	r.Leave()
	r.checkArrives(all)
	if known := r.conn.KnownSubscriptions(); known != 0 {
		t.Errorf("%d subscriptions are known", known)
	}
}

// TestConn_OwnsSubject_Planes holds which subjects are below the plane of a session that is open.
func TestConn_OwnsSubject_Planes(t *testing.T) {
	t.Parallel()
	conn := dialInProcess(t)
	session, none := conn.Open(newMember(), "bus", zerolog.Nop()), conn.Open(newMember(), "", zerolog.Nop())
	defer none.Leave()
	for subject, want := range map[string]bool{
		"bus.a": true, "bus.a.b": true, "bus": false, "business.a": false, ".a": false, "": false, "other.bus.a": false,
	} {
		if got := conn.OwnsSubject(subject); got != want {
			t.Errorf("%q: %t", subject, got)
		}
	}
	session.Leave()
	if conn.OwnsSubject("bus.a") {
		t.Error("the plane stays when its session has left")
	}
}

// TestConn_ReceiverPanics holds that a member gets a report of a message whose receiver panics, and that the next one
// is received.
func TestConn_ReceiverPanics(t *testing.T) {
	t.Parallel()
	m := newMember()
	r := open(t, dialInProcess(t), m)
	err := r.Subscribe(&natsconn.Subscription{Subject: "broken",
		Receive: func(*nats.Msg, *wire.Reader) worker.Job { panic("no such field") }})
	require.NoError(t, err)
	r.mustAdd("sound")
	r.checkArrives([]string{"broken", "sound", "broken", "sound"}, "sound", "sound")
	for range 2 {
		if err := await(t, m.dropped); err.Error() != "panic: no such field" {
			t.Errorf("dropped: %v", err)
		}
	}
}

// TestConn_Barrier_Order holds that a barrier waits for a receiver that is busy and for what arrived behind its
// message, or for the end of ctx.
func TestConn_Barrier_Order(t *testing.T) {
	t.Parallel()
	r := open(t, dialInProcess(t), newMember())
	started, release := make(chan struct{}), make(chan struct{})
	err := r.Subscribe(&natsconn.Subscription{Subject: "busy", Receive: func(*nats.Msg, *wire.Reader) worker.Job {
		close(started)
		<-release
		return nil
	}})
	require.NoError(t, err)
	r.mustAdd("next")
	require.NoError(t, errors.Join(r.conn.PublishNow("busy", "", nil), r.conn.PublishNow("next", "", nil),
		r.conn.Flush(t.Context())))
	await(t, started)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	r.conn.Barrier(ended)
	close(release)
	r.conn.Barrier(t.Context())
	if !slices.Equal(r.received, []string{"next"}) {
		t.Errorf("received %q", r.received)
	}
	if known := r.conn.KnownSubscriptions(); known != 2 {
		t.Errorf("%d subscriptions are known after a barrier, want 2", known)
	}
}

// TestConn_Barrier_NothingSubscribed holds that there is nothing to wait for where there was never a subscription.
func TestConn_Barrier_NothingSubscribed(t *testing.T) {
	t.Parallel()
	conn := dialInProcess(t)
	limited, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	conn.Barrier(limited)
	if err := limited.Err(); err != nil {
		t.Errorf("the barrier waited: %v", err)
	}
}

// TestConn_Reconnect_Sweep holds that another connection gets the subscriptions that there are, those for answers alone
// of a session that is draining, and that the closed ones are forgotten.
func TestConn_Reconnect_Sweep(t *testing.T) {
	t.Parallel()
	m := newMember()
	r := open(t, dialInProcess(t), m)
	draining := open(t, r.conn, newMember())
	r.mustAdd("one", "two")
	draining.mustAdd("one")
	require.NoError(t, draining.add("answers", true))
	draining.StopSubscribing()
	before := r.conn.NATS()
	before.Close()
	await(t, m.back)
	assert.NotSame(t, before, r.conn.NATS())
	assert.Equal(t, int64(1), r.conn.Reconnects())
	if known := r.conn.KnownSubscriptions(); known != 3 {
		t.Errorf("%d subscriptions are known, want 3", known)
	}
	if got := draining.subjects(); !slices.Equal(got, []string{"answers"}) {
		t.Errorf("the session that is draining has %q", got)
	}
	r.checkArrives([]string{"one", "two", "answers"}, "one", "two")
	if !slices.Equal(draining.received, []string{"answers"}) {
		t.Errorf("the session that is draining received %q", draining.received)
	}
}

// TestConn_Reconnect_NothingSubscribed holds that a connection without subscriptions is replaced, too.
func TestConn_Reconnect_NothingSubscribed(t *testing.T) {
	t.Parallel()
	m := newMember()
	r := open(t, dialInProcess(t), m)
	r.conn.NATS().Close()
	await(t, m.back)
	assert.NoError(t, r.conn.AwaitOpen(t.Context()))
}

// heldMember is held in Reconnected until it is released.
type heldMember struct {
	*member
	release chan struct{}
}

func (m heldMember) Reconnected() {
	m.member.Reconnected()
	<-m.release
}

// TestConn_Reconnect_Short holds that members get a report of an outage that is over before the connection looks.
func TestConn_Reconnect_Short(t *testing.T) {
	t.Parallel()
	conn, m := dialInProcess(t), heldMember{newMember(), make(chan struct{})}
	t.Cleanup(conn.Open(m, "", zerolog.Nop()).Leave)
	require.NoError(t, conn.NATS().ForceReconnect())
	await(t, m.back)
	connected := conn.NATS().StatusChanged(nats.CONNECTED)
	require.NoError(t, conn.NATS().ForceReconnect())
	await(t, connected)
	close(m.release)
	await(t, m.back)
}

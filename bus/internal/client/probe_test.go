package client_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/subject"
)

// TestProbe_AckWait makes the rounds of a call without an ack.
func TestProbe_AckWait(t *testing.T) {
	t.Parallel()
	c, _, _ := newClient(t, 1<<20)
	for name, local := range map[string]bool{"broker": false, "process": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			probe, _ := c.NewUnicastProbe(calculatorHost, 2500*time.Millisecond, local)
			if got := probe.First(); got != time.Second {
				t.Errorf("the first round is due after %s", got)
			}
			for _, want := range []time.Duration{time.Second, 500 * time.Millisecond} {
				next, err := probe.Round()
				require.NoError(t, err)
				assert.Equal(t, want, next)
			}
			_, err := probe.Round()
			failed, _ := errors.AsType[*status.Error](err)
			require.NotNil(t, failed)
			assert.Equal(t, 503, failed.Status)
			assert.Equal(t, status.ExecutedUnknown, failed.Executed)
			assert.ErrorIs(t, err, status.ErrNoAck)
		})
	}
}

// TestProbe_Questions asks the broker for an instance that has acked: nothing within the first interval, and then once
// in each round.
func TestProbe_Questions(t *testing.T) {
	t.Parallel()
	for name, local := range map[string]bool{"broker": false, "process": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, conn, raw := newClient(t, 1<<20)
			questions := subscribe(t, raw, subject.Response("bus", first.Host, first.ID))
			probe, ack := c.NewUnicastProbe(calculatorHost, 100*time.Millisecond, local)
			probe.First()
			ack(first)
			for round, want := range []struct {
				next  time.Duration
				asked int
			}{{900 * time.Millisecond, 0}, {time.Second, 1}, {time.Second, 2}} {
				if local {
					want.asked = 0
				}
				next, err := probe.Round()
				if err == nil {
					err = errors.Join(conn.Flush(t.Context()), raw.Flush())
				}
				asked, _, _ := questions.Pending()
				require.NoError(t, err, "round %d", round)
				assert.Equal(t, want.next, next, "round %d", round)
				assert.Equal(t, want.asked, asked, "round %d", round)
			}
		})
	}
}

// owner is the owner of a session without violations.
type owner struct{ t *testing.T }

func (owner) Expects(natsconn.Violation) (string, bool) { return "", false }
func (o owner) PublishDenied(subject string)            { o.t.Errorf("%s is denied", subject) }
func (owner) Reconnected()                              {}
func (o owner) Dropped(_ string, err error)             { o.t.Error(err) }

// TestProbe_Lost asks for an instance that the broker does not know: the second answer in a row ends the call.
func TestProbe_Lost(t *testing.T) {
	t.Parallel()
	c, conn, _ := newClient(t, 1<<20)
	session := conn.Open(owner{t}, "bus", zerolog.Nop())
	t.Cleanup(session.Leave)
	err := session.Subscribe(&natsconn.Subscription{Subject: c.ResponseSubject() + ".*", Answers: true,
		Receive: c.ReceiveBelow})
	require.NoError(t, err)
	probe, ack := c.NewUnicastProbe(calculatorHost, time.Second, false)
	probe.First()
	ack(first)
	for _, isLost := range []bool{false, true} {
		_, err := probe.Round()
		require.NoError(t, err)
		<-probe.Events()
		next, gone := probe.Review()
		assert.Equal(t, isLost, (gone != nil), "%v, %s", gone, next)
		if gone != nil && *gone != first {
			t.Errorf("%v is gone, want %t; the next round after %s", gone, isLost, next)
		}
		if !isLost && next >= time.Second {
			t.Errorf("%v is gone, want %t; the next round after %s", gone, isLost, next)
		}
	}
}

package worker_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/bus/internal/worker"
)

// slots is a limiter with methods that acquire, and that release and end, one call or event.
type slots struct{ *worker.Limiter }

func (s slots) call() bool       { return s.Acquire() == worker.Admitted }
func (s slots) event() bool      { return s.AcquireEvent(true) == worker.Admitted }
func (s slots) endCall() bool    { s.Release(); s.Done(); return true }
func (s slots) endEvent() bool   { s.ReleaseEvent(); s.Done(); return true }
func (s slots) abandon() bool    { s.AbandonEvent(); return true }
func (s slots) startEvent() bool { return s.StartEvent() }

// TestLimiter_Classes holds how calls and events share the slots of a limiter.
func TestLimiter_Classes(t *testing.T) {
	t.Parallel()
	s := slots{worker.NewLimiter(4)}
	steps := []struct {
		name string
		do   func() bool
		want bool
	}{
		{"an event", s.event, true}, {"an event", s.event, true}, {"an event", s.event, true},
		{"an event beyond its share", s.event, false},
		{"a call in the last slot", s.call, true}, {"a call beyond the limit", s.call, false},
		{"an event ends", s.endEvent, true}, {"the event that waits", s.startEvent, true},
		{"the call ends", s.endCall, true}, {"an event ends", s.endEvent, true}, {"an event ends", s.endEvent, true},
		{"an event ends", s.endEvent, true},
		{"a call", s.call, true}, {"a call", s.call, true}, {"a call", s.call, true}, {"a call", s.call, true},
		{"an event among calls", s.event, false}, {"a call ends", s.endCall, true},
		{"a call in the slot of an event that waits", s.call, false}, {"that event", s.startEvent, true},
		{"a call ends", s.endCall, true}, {"a call, where no event waits", s.call, true},
		{"an event", s.event, false}, {"it gives up", s.abandon, true}, {"a call ends", s.endCall, true},
		{"a call", s.call, true},
	}
	for i, step := range steps {
		if got := step.do(); got != step.want {
			t.Fatalf("step %d, %s: %t", i, step.name, got)
		}
	}
}

// TestLimiter_OneSlot holds that a single slot passes from one class to the other.
func TestLimiter_OneSlot(t *testing.T) {
	t.Parallel()
	one := slots{worker.NewLimiter(1)}
	assert.True(t, one.event(), "a limiter with one slot does not go from one class to the other")
	assert.False(t, one.call())
	assert.True(t, one.endEvent())
	assert.True(t, one.call())
	assert.False(t, one.event())
	assert.True(t, one.endCall())
	assert.False(t, one.call())
	assert.True(t, one.startEvent())
}

// TestLimiter_Close holds that a closed limiter admits only nested calls, and reports when the last one is done.
func TestLimiter_Close(t *testing.T) {
	t.Parallel()
	s := slots{worker.NewLimiter(0)}
	s.Acquire()
	drained := s.Close()
	if got := s.Acquire(); got != worker.Closed {
		t.Errorf("a call after Close: %d, want %d", got, worker.Closed)
	}
	if got := s.AcquireEvent(true); got != worker.Closed {
		t.Errorf("an event after Close: %d, want %d", got, worker.Closed)
	}
	s.AcquireNested()
	s.endCall()
	select {
	case <-drained:
		t.Error("it is drained while a nested call runs")
	default:
	}
	inside, running := s.Count()
	assert.Equal(t, 1, inside)
	assert.Equal(t, 1, running)
	s.endCall()
	<-drained
}

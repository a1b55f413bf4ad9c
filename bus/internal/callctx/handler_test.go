package callctx_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/internal/callctx"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/wire"
)

// TestHandler_Done_MadeLate holds that Done is made when it is asked for, and that of a derived context is always
// there.
func TestHandler_Done_MadeLate(t *testing.T) {
	t.Parallel()
	h := newHandler(t)
	if callctx.DoneIfMade(h) != nil {
		t.Error("there is a Done before it is asked for")
	}
	done := h.Done()
	doneChan := callctx.DoneIfMade(h)
	require.NotNil(t, doneChan, "Done is not the one that was made")
	if doneChan != done {
		t.Error("Done is not the one that was made")
	}
	if doneChan != h.Done() {
		t.Error("Done is not the one that was made")
	}
	derived, cancel := context.WithCancel(h)
	defer cancel()
	if callctx.DoneIfMade(derived) != derived.Done() {
		t.Error("a derived context has another Done")
	}
}

// TestHandler_End_Cause holds that the caller's leave ends the context with its cause, whether or not Done is there by
// then.
func TestHandler_End_Cause(t *testing.T) {
	t.Parallel()
	for name, isMade := range map[string]bool{"before Done": false, "after Done": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHandler(t)
			if isMade && isClosed(h.Done()) {
				t.Error("Done is closed from the start")
			}
			err := h.Err()
			require.NoError(t, err, "it has ended from the start")
			assert.False(t, h.CallerLeft(), "it has ended from the start")
			h.End(status.ErrCallerLeft, false)
			h.End(errors.New("a later cause"), true)
			err = h.Err()
			assert.ErrorIs(t, err, context.Canceled)
			assert.True(t, h.CallerLeft())
			if !isClosed(h.Done()) {
				t.Error("Done is open")
			}
			if cause := context.Cause(h); !errors.Is(cause, status.ErrCallerLeft) {
				t.Errorf("the cause is %v", cause)
			}
			err = h.Err()
			assert.ErrorIs(t, err, context.Canceled)
			assert.True(t, h.CallerLeft())
		})
	}
}

// TestHandler_End_OtherCause holds that a handler that has returned was not left by its caller.
func TestHandler_End_OtherCause(t *testing.T) {
	t.Parallel()
	h := newHandler(t)
	h.End(context.Canceled, true)
	err := h.Err()
	assert.ErrorIs(t, err, context.Canceled)
	assert.False(t, h.CallerLeft())
}

// TestHandler_Err_Deadline holds that the context ends with the time budget, whether or not Done is there by then.
func TestHandler_Err_Deadline(t *testing.T) {
	t.Parallel()
	for name, isMade := range map[string]bool{"without Done": false, "with Done": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHandler(t)
				if isMade {
					h.Done()
				}
				ends, ok := h.Deadline()
				require.True(t, ok)
				assert.Equal(t, time.Minute, time.Until(ends))
				time.Sleep(time.Minute - 1)
				if err := h.Err(); err != nil {
					t.Errorf("before the deadline the error is %v", err)
				}
				time.Sleep(time.Nanosecond)
				synctest.Wait()
				err := h.Err()
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				assert.False(t, h.CallerLeft())
				<-h.Done()
				if err := h.Err(); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("with Done the error is %v", err)
				}
			})
		})
	}
}

// TestHandler_Err_Base holds that the context ends when the owner gives up on its handlers.
func TestHandler_Err_Base(t *testing.T) {
	t.Parallel()
	h := newHandler(t)
	base, giveUp := context.WithCancelCause(t.Context())
	h.Base = base
	giveUp(status.ErrClosed)
	if err := h.Err(); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	assert.True(t, isClosed(h.Done()))
	assert.ErrorIs(t, context.Cause(h), status.ErrClosed)
	assert.False(t, h.CallerLeft())
}

// TestHandler_Value_OwnKeys holds that a handler is found from what derives from it, and that what its base sets for
// calls does not go on.
func TestHandler_Value_OwnKeys(t *testing.T) {
	t.Parallel()
	h := newHandler(t)
	h.Base = callctx.WithActor(callctx.With(h.Base, "X-Field", "value"), "token")
	derived := context.WithoutCancel(h)
	assert.Same(t, h, callctx.Of(h), "the handler is not found, or found elsewhere")
	assert.Same(t, h, callctx.Of(derived))
	assert.Nil(t, callctx.Of(t.Context()))
	assert.Nil(t, callctx.FieldsOf(h), "the fields and the actor of the base are those of the handler")
	assert.Empty(t, callctx.Actor(h), "the fields and the actor of the base are those of the handler")
	if callctx.DoneIfMade(h) != nil {
		t.Error("a look at keys of this package makes Done")
	}
	if got := h.Value(key{}); got != "value" {
		t.Errorf("the value of the application is %v", got)
	}
}

// TestHandler_AcquireNested_AfterReturn holds that a handler may call after Close, and not once it has returned.
func TestHandler_AcquireNested_AfterReturn(t *testing.T) {
	t.Parallel()
	h, calls := newHandler(t), worker.NewLimiter(1)
	calls.Close()
	h.End(status.ErrCallerLeft, false)
	if !h.AcquireNested(calls) {
		t.Error("a handler that runs cannot call")
	}
	h.End(nil, true)
	if h.AcquireNested(calls) {
		t.Error("a handler that has returned can call")
	}
	if _, running := calls.Count(); running != 1 {
		t.Errorf("%d calls run, want 1", running)
	}
}

// TestHandler_ResponseHeader_Replaces holds that the last value of a name counts, and that the header that is passed
// does not change.
func TestHandler_ResponseHeader_Replaces(t *testing.T) {
	t.Parallel()
	h := newHandler(t)
	before := append(make(wire.Header, 0, 8), wire.Field{Name: "Content-Type", Value: "text/plain"})
	checkHeader(t, h.ResponseHeader(before), before)
	h.SetResponseHeader("X-A", wire.Header{{Name: "X-A", Value: "1"}, {Name: "X-A", Value: "2"}})
	h.SetResponseHeader("X-B", wire.Header{{Name: "X-B", Value: "3"}})
	h.SetResponseHeader("x-a", wire.Header{{Name: "x-a", Value: "4"}})
	checkHeader(t, h.ResponseHeader(before), append(before[:1:1], wire.Field{Name: "X-B", Value: "3"},
		wire.Field{Name: "x-a", Value: "4"}))
	if beyond := before[:2][1]; beyond.Name != "" {
		t.Errorf("%v was written behind the header that was passed", beyond)
	}
	h.SetResponseHeader("X-A", nil)
	checkHeader(t, h.ResponseHeader(nil), wire.Header{{Name: "X-B", Value: "3"}})
}

// TestBudget_Bounds holds how long calls may take in contexts with and without an end, in a handler and outside of one.
func TestBudget_Bounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		within := func(ctx context.Context, limit time.Duration) context.Context {
			limited, cancel := context.WithTimeout(ctx, limit)
			t.Cleanup(cancel)
			return limited
		}
		h := newHandler(t)
		cases := []struct {
			name string
			ctx  context.Context //nolint:containedctx // of a case
			want time.Duration
		}{
			{"the default", t.Context(), 20 * time.Second},
			{"that of ctx", within(t.Context(), time.Second), time.Second},
			{"longer than the default", within(t.Context(), time.Minute), time.Minute},
			{"the longest", within(t.Context(), time.Hour), 600 * time.Second},
			{"spent", within(t.Context(), -time.Second), -time.Second},
			{"that of the handler", h, time.Minute},
			{"shorter than that of the handler", within(h, time.Second), time.Second},
			{"longer than that of the handler", within(context.WithoutCancel(h), time.Hour), time.Minute},
			{"none, within a handler", context.WithoutCancel(h), time.Minute},
		}
		for _, test := range cases {
			if got := callctx.Budget(test.ctx); got != test.want {
				t.Errorf("%s: %v, want %v", test.name, got, test.want)
			}
		}
		h.MoveEnd(time.Now().Add(time.Hour))
		if got := callctx.Budget(h); got != 600*time.Second {
			t.Errorf("in a handler with an hour: %v", got)
		}
	})
}

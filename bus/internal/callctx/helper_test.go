package callctx_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/busline/busline/bus/internal/callctx"
	"github.com/busline/busline/bus/wire"
)

// TestMain fails if a context that has ended leaks a goroutine.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// key is a key of the application.
type key struct{}

// newHandler returns the context of a handler that has a minute for an empty request. Its base is that of the test,
// with a value of the application.
func newHandler(t *testing.T) *callctx.Handler {
	t.Helper()
	h := &callctx.Handler{Base: context.WithValue(t.Context(), key{}, "value"), Request: new(wire.Request)}
	h.SetEnd(time.Now().Add(time.Minute), false)
	t.Cleanup(func() { h.End(nil, true) })
	return h
}

// isClosed reports whether a channel is closed.
func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

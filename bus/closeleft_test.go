package bus_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/busline/busline/bus"
)

// leaver has handlers that leave a call behind, which outlives their contexts.
type leaver struct {
	conn  *bus.Conn
	begin chan struct{} // the calls
	end   chan struct{} // the handlers that stay
	left  chan error
}

func (l *leaver) Leave(ctx context.Context) {
	go func() {
		<-l.begin
		l.left <- l.conn.Call(context.WithoutCancel(ctx), "https://slow.example/wait", nil, nil)
	}()
}

func (l *leaver) LeaveLate(ctx context.Context) {
	l.Leave(ctx)
	<-l.end
}

func (l *leaver) Stay() { <-l.end }

// lingering answers when it is let.
type lingering struct{ let chan struct{} }

func (s lingering) Wait() { <-s.let }

// serveLeaver also serves what a leaver calls. What it calls by itself is a call from outside.
func (b *bubble) serveLeaver() (l *leaver, slow lingering, call func(path string) <-chan error) {
	b.t.Helper()
	l = &leaver{b.connect("leaver.example"), make(chan struct{}), make(chan struct{}), make(chan error, 1)}
	slow = lingering{make(chan struct{})}
	serve(b.t, l.conn, l)
	serve(b.t, b.connect("slow.example"), slow)
	caller := b.connect("caller.example")
	return l, slow, func(path string) <-chan error {
		answered := make(chan error, 1)
		go func() { answered <- caller.Call(b.t.Context(), "https://leaver.example"+path, nil, nil) }()
		synctest.Wait()
		return answered
	}
}

// close closes in the background.
func (l *leaver) close(t *testing.T) <-chan error {
	t.Helper()
	closed := make(chan error, 1)
	go func() { closed <- l.conn.Close(t.Context()) }()
	synctest.Wait()
	return closed
}

// TestClose_WaitsForWhatHandlersLeaveBehind has handlers return while a call that they have made is under way.
func TestClose_WaitsForWhatHandlersLeaveBehind(t *testing.T) {
	t.Parallel()
	for path, late := range map[string]bool{"/leave": false, "/leave-late": true} {
		inBubble(t, func(t *testing.T, b *bubble) {
			l, slow, call := b.serveLeaver()
			answered := call(path)
			var closed <-chan error
			if late {
				closed = l.close(t)
			}
			close(l.begin)
			synctest.Wait()
			close(l.end)
			synctest.Wait()
			if !late {
				closed = l.close(t)
			}
			select {
			case err := <-closed:
				t.Errorf("%s: Close has not waited: %v", path, err)
			default:
			}
			close(slow.let)
			if err := errors.Join(<-answered, <-l.left, <-closed); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		})
	}
}

// TestNoCallsOfHandlersThatHaveReturned makes a call while the connection closes, with the context of a handler that is over.
func TestNoCallsOfHandlersThatHaveReturned(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		l, _, call := b.serveLeaver()
		if err := <-call("/leave"); err != nil {
			t.Fatal(err)
		}
		answered := call("/stay")
		closed := l.close(t)
		close(l.begin)
		err := <-l.left
		if failed, ok := errors.AsType[*bus.Error](err); !ok || !errors.Is(err, bus.ErrClosed) || failed.Executed != bus.ExecutedNo {
			t.Errorf("the call: %v, want ErrClosed, not executed", err)
		}
		close(l.end)
		if err := errors.Join(<-answered, <-closed); err != nil {
			t.Error(err)
		}
	})
}

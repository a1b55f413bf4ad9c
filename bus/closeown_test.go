package bus_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/busline/busline/bus"
)

// selfish has a handler that calls one of its own host.
type selfish struct {
	conn          *bus.Conn
	entered, hung chan struct{}
	goOn, let     chan struct{}
}

func (s *selfish) Outer(ctx context.Context) error {
	s.entered <- struct{}{}
	<-s.goOn
	return s.conn.Call(ctx, "https://selfish.example/inner", nil, nil)
}

func (s *selfish) Inner() {
	s.hung <- struct{}{}
	<-s.let
}

// TestClose_GivesUpOnOwnCalls has Close give up on a handler that waits for one of its own instance, and tells that so.
func TestClose_GivesUpOnOwnCalls(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		conn := b.connect("selfish.example")
		s := &selfish{conn, make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})}
		serve(t, conn, s)
		caller := b.connect("caller.example")
		called := make(chan error)
		go func() { called <- caller.Call(t.Context(), "https://selfish.example/outer", nil, nil) }()
		<-s.entered
		ctx, giveUp := context.WithCancel(t.Context())
		closed := make(chan error)
		go func() { closed <- conn.Close(ctx) }()
		synctest.Wait()
		s.goOn <- struct{}{}
		<-s.hung
		giveUp()
		if err := <-closed; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "2 handlers") {
			t.Errorf("closed: %v", err)
		}
		if err := <-called; bus.StatusOf(err) != http.StatusServiceUnavailable {
			t.Errorf("called: %v", err)
		}
		close(s.let)
	})
}

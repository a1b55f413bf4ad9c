package bus_test

import (
	"slices"
	"testing"

	"github.com/busline/busline/bus"
)

// TestRestartsLoseNoEvent replaces instance after instance of a service while events are fired: each is handled once.
func TestRestartsLoseNoEvent(t *testing.T) {
	t.Parallel()
	for name, durable := range map[string]bool{"plain": false, "stored": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var firing []bus.PublishOption
			var serving []bus.SubscribeOption
			if durable {
				firing, serving = append(firing, bus.Durable()), append(serving, bus.Durable())
			}
			b := newStored(t)
			ordered := newOrdered(t, b.Connect(ordersHost), firing...)
			mailer := newSink()
			connect := func() *bus.Conn {
				conn := b.Connect("mailer.example")
				subscribe(t, conn, mailer, serving...)
				return conn
			}
			serving = append(serving, bus.TimeBudget(10_000_000_000))
			instances := []*bus.Conn{connect(), connect()}
			const restarts, perRestart = 10, 100
			next := make(chan int)
			fired := make(chan struct{})
			go func() {
				defer close(fired)
				for number := range next {
					fire(t, ordered, number)
				}
			}()
			var numbers []int
			for restart := range restarts {
				closed := make(chan error, 1)
				go func() { closed <- instances[restart%2].Close(t.Context()) }()
				for range perRestart {
					next <- len(numbers)
					numbers = append(numbers, len(numbers))
				}
				if err := <-closed; err != nil {
					t.Fatal(err)
				}
				instances[restart%2] = connect()
			}
			close(next)
			<-fired
			mailer.await(t, len(numbers))
			if got := mailer.taken(); !slices.Equal(got, numbers) {
				t.Errorf("of %d events %d were handled: %v", len(numbers), len(got), got)
			}
		})
	}
}

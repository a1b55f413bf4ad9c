package bus_test

import (
	"testing"
	"testing/synctest"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
)

// TestGreetingsWaitForEachOther holds that a connection does not greet while the greetings of others are still to be taken.
func TestGreetingsWaitForEachOther(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		first, second := b.connect("first.example"), b.connect("second.example")
		synctest.Wait()
		hellos := b.listen(subject.Subscription(b.Plane(), "888", "all", "POST", "hello"))
		release := bus.HoldIntake(first)
		served := make(chan error, 2)
		for _, conn := range []*bus.Conn{first, second} {
			go func() { served <- bus.Serve(conn, calculator{conn.ID()}) }()
		}
		synctest.Wait()
		if len(hellos) != 0 || len(served) != 0 {
			t.Errorf("%d hellos of %d services while nothing is taken", len(hellos), len(served))
		}
		release()
		for range cap(served) {
			if err := <-served; err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		if len(hellos) != cap(served) {
			t.Errorf("%d hellos of %d services", len(hellos), cap(served))
		}
	})
}

package bustest

import (
	"testing"

	"github.com/busline/busline/bus/broker"
)

// Virtual runs a test with a bus on a clock of its own, in a testing/synctest bubble: several services, the real protocol
// and the broker are all inside, and whenever each of them waits the clock moves on to whatever happens next. A time-out
// of 20 s costs no time, and ends at exactly 20 s.
//
//	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
//		serve(t, b.Connect("slow.example"))
//		err := Conn.Call(t.Context(), b.Connect("caller.example"), "https://slow.example/slow", nil, nil)
//		…
//	})
//
// The options are those of the broker. What b.Connect has opened is closed when the test ends. A connection that is still
// open then fails the test, with its host, and so does a leaked goroutine, with the place at which it waits. A test that
// waits for something that never comes fails, too: when its clock has gone a week ahead, which takes some seconds, the test
// binary ends with the places at which it waits.
//
// Any number of them may run at once, beside other tests. Inside:
//
//   - Use the t that the function is given, and none of t.Run, t.Parallel and t.Deadline: subtests go around Virtual.
//   - Connect with b.Connect, or with bus.Connect and b.Options, never to b.Broker() itself: these connections know that
//     they must not drain. Their Close loses nothing all the same, because it waits until nothing runs; a loop of calls
//     that never pauses on the clock holds it up.
//   - Of a raw NATS connection, Conn.NATS included, do not use Request, Flush, NextMsg or Drain: they share timers with the
//     whole process, and the next test that gets hold of one crashes. Use FlushWithContext and RequestWithContext.
//   - No JetStream: its timers belong to the whole process, and the clock would stand still. broker.JetStream fails the
//     test.
//   - No sockets: a goroutine that waits for one waits outside the bubble, and the clock stands still meanwhile. The same
//     holds for files, processes and mutexes, which do no harm as long as they are not held until the clock moves on.
func Virtual(t *testing.T, test func(t *testing.T, b *Bus), options ...broker.Option) {
	t.Helper()
	inside := new(bubble)
	err := inside.run(t, func(t *testing.T) {
		b := start(t, options...)
		if b.broker.JetStreamEnabled() {
			t.Fatal("bustest: JetStream does not work in virtual time, as it uses the clock of the whole process; test stored events with bustest.New")
		}
		quiet := &quietBroker{Broker: b.broker}
		b.provider = quiet
		t.Cleanup(func() { inside.open = b.left(quiet) }) // after all cleanups of the test
		test(t, b)
	})
	if err != nil {
		t.Fatalf("bustest: %v", err)
	}
}

package bustest

import (
	"testing"

	"github.com/busline/busline/bus/broker"
)

// Virtual runs a test with a bus on a clock of its own, in a testing/synctest bubble: services, the real protocol and
// the broker run inside, and the clock moves to the next timer whenever all goroutines wait. A time-out of 20 s costs
// no time, and ends at exactly 20 s.
//
//	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
//		serve(t, b.Connect("slow.example"))
//		err := b.Connect("caller.example").Call(t.Context(), "https://slow.example/slow", nil, nil)
//		…
//	})
//
// The options are those of the broker. Connections of b.Connect are closed when the test ends. Another connection that
// is still open then fails the test, with its host, and so does a leaked goroutine, with its stack. A test that waits
// for ever fails, too: when its clock has advanced by a week, which takes some seconds, the test binary ends with the
// stacks of the waiting goroutines.
//
// Any number of such tests may run in parallel, beside other tests. Inside:
//
//   - Use the t that the function is given, and none of t.Run, t.Parallel and t.Deadline: subtests go around Virtual.
//   - Connect with b.Connect, or with bus.Connect and b.Options, never to b.Broker() itself: connections of b do not
//     drain. Their Close loses nothing, because it waits until nothing runs; a loop of calls without a pause on the
//     clock delays it.
//   - Do not use Request, Flush, NextMsg or Drain of a raw NATS connection, Conn.NATS included: they share timers with
//     the whole process, and crash the next test that gets such a timer. Use FlushWithContext and RequestWithContext.
//   - No JetStream: its timers belong to the whole process, and the clock would stop. broker.JetStream fails the
//     test.
//   - No sockets: the clock stops while a goroutine waits for one. The same holds for files, processes and mutexes,
//     which do no harm unless they are held until the clock moves.
func Virtual(t *testing.T, test func(t *testing.T, b *Bus), options ...broker.Option) {
	t.Helper()
	inside := new(bubble)
	err := inside.run(t, func(t *testing.T) {
		b := start(t, options...)
		if b.broker.JetStreamEnabled() {
			t.Fatal("bustest: JetStream does not work in virtual time, as it uses the clock of the whole process; " +
				"test stored events with bustest.New")
		}
		quiet := &quietBroker{Broker: b.broker}
		b.provider = quiet
		t.Cleanup(func() { inside.open = b.openHosts(quiet) }) // after all cleanups of the test
		test(t, b)
	})
	if err != nil {
		t.Fatalf("bustest: %v", err)
	}
}

package bus_test

import (
	"bytes"
	"context"
	"regexp"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/internal/worker"
)

// inBubble runs a test over each transport with bustest.Virtual: a wait takes no time, and a goroutine that is left
// behind fails the test. Raw clients must not Flush.
func inBubble(t *testing.T, test func(t *testing.T, b *bubble)) {
	t.Helper()
	for name, transport := range transports() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
				test(t, &bubble{t: t, testBus: transport(b)})
			})
		})
	}
}

// bubble is a world with a clock of its own.
type bubble struct {
	*testBus
	t *testing.T
}

// newCalculators serves as many instances of the calculator, and returns their ids.
func (b *bubble) newCalculators(count int) (ids []string) {
	b.t.Helper()
	for range count {
		conn := b.connect(calculatorHost)
		serve(b.t, conn, calculator{conn.ID()}, bus.Method("Who", bus.NoQueue()))
		ids = append(ids, conn.ID())
	}
	return ids
}

// listen is tap for a bubble. What has arrived is there after synctest.Wait.
func (b *bubble) listen(subject string) <-chan *nats.Msg {
	b.t.Helper()
	heard := make(chan *nats.Msg, 1024)
	raw := rawClient(b.t, b.testBus)
	_, err := raw.ChanSubscribe(subject, heard)
	require.NoError(b.t, err)
	flush(b.t, raw)
	return heard
}

// flush is nats.Conn.Flush with a timer of its own.
func flush(t *testing.T, raw *nats.Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, raw.FlushWithContext(ctx))
}

// goroutines returns how many there are in this bubble once all of them are idle, and those that wait for work have
// ended.
func (b *bubble) goroutines() int {
	b.t.Helper()
	time.Sleep(2*worker.IdleTime + time.Second)
	synctest.Wait()
	inBubble := regexp.MustCompile(`synctest bubble \d+`)
	own := inBubble.Find(stacks(false))
	if own == nil {
		b.t.Fatal("the stack of a goroutine does not tell its bubble")
	}
	count := 0
	for _, other := range inBubble.FindAll(stacks(true), -1) {
		if bytes.Equal(other, own) {
			count++
		}
	}
	return count
}

func stacks(all bool) []byte {
	for size := 1 << 20; ; size *= 2 {
		buffer := make([]byte, size)
		if used := runtime.Stack(buffer, all); used < size {
			return buffer[:used]
		}
	}
}

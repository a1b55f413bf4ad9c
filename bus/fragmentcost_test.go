package bus_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/wire"
)

// TestHalfFinishedRequestsCostNoMoreThanIsCounted compares what first parts take with what they are said to take, on which the
// bounds rely.
func TestHalfFinishedRequestsCostNoMoreThanIsCounted(t *testing.T) { //nolint:paralleltest // measures the memory of the whole process
	for _, fields := range []int{0, 8} {
		t.Run(fmt.Sprintf("%d fields", fields), func(t *testing.T) {
			w := &world{Bus: newBus(t), transport: bus.WithoutShortCircuit()}
			callee := w.connect("bytes.example", bus.WithMaxMessageBytes(1<<20))
			handleBytes(t, callee)
			raw := rawClient(t, w)
			part := (&sender{t: t, callee: callee}).part(1, 2, "a")
			for field := range fields {
				part.Header = append(part.Header, wire.Field{Name: fmt.Sprintf("X-%d", field), Value: strings.Repeat("x", 240)})
			}
			s := &sender{t: t, raw: raw, plane: w.Plane(), callee: callee}
			before := memoryInUse()
			const requests = 900
			for i := range requests {
				part.MsgID = fmt.Sprintf("m%d", i)
				s.send(part)
			}
			flush(t, raw)
			awaitUnfinished(t, callee, requests)
			took, counted := memoryInUse()-before, bus.HeldByParts(callee)
			if took > counted {
				t.Errorf("%d requests take %d bytes each, %d are counted", requests, took/requests, counted/requests)
			}
		})
	}
}

func memoryInUse() int {
	var memory runtime.MemStats
	runtime.GC()
	runtime.GC() // what was in a pool
	runtime.ReadMemStats(&memory)
	return int(memory.HeapAlloc)
}

// awaitUnfinished returns when so many requests have been taken in.
func awaitUnfinished(t *testing.T, callee *bus.Conn, count int) {
	t.Helper()
	for bus.UnfinishedMessages(callee) < count && t.Context().Err() == nil {
		runtime.Gosched()
	}
}

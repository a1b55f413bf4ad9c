package bustest

import (
	"testing"

	"github.com/busline/busline/bus"
)

// MaxCalls fails the test when conn makes more than limit calls while do runs: a handler that calls once for each item of
// a list, say, where one call for all would do. It counts unicast and multicast calls of that connection, by
// whichever goroutine; see the Calls of bus.Stats.
func MaxCalls(t testing.TB, conn *bus.Conn, limit int, do func()) {
	t.Helper()
	before := conn.Stats().Calls
	do()
	if made := conn.Stats().Calls - before; made > int64(limit) {
		t.Errorf("bustest: %s made %d calls, %d at most are expected; is there one for each item of a list?", conn.Host(), made, limit)
	}
}

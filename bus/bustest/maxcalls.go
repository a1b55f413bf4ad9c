package bustest

import (
	"testing"

	"github.com/busline/busline/bus"
)

// MaxCalls fails the test if conn makes more than limit calls while do runs, for example one for each item of a list
// where one call suffices. It counts the unicast and multicast calls of that connection by any goroutine; see the Calls
// of [bus.Stats].
func MaxCalls(t testing.TB, conn *bus.Conn, limit int, do func()) {
	t.Helper()
	before := conn.Stats().Calls
	do()
	if calls := conn.Stats().Calls - before; calls > int64(limit) {
		t.Errorf("bustest: %s made %d calls, expected at most %d; does it make one for each item of a list?", conn.Host(),
			calls, limit)
	}
}

package bustest_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
)

// Sleeper never answers in time.
type Sleeper struct{}

// Sleep waits for its context to end.
func (Sleeper) Sleep(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// testTimeout is func TestTimeout(t *testing.T) of a test file. It takes some milliseconds.
func testTimeout(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		if err := bus.Serve(b.Connect("sleeper.example"), Sleeper{}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		err := b.Connect("client.example").Call(t.Context(), "https://sleeper.example/sleep", nil, nil)
		if took := time.Since(began); bus.StatusOf(err) != http.StatusGatewayTimeout || took != 20*time.Second {
			t.Errorf("got %v after %s", err, took)
		}
	})
}

// A test in virtual time: the clock moves on whenever all goroutines wait.
func ExampleVirtual() {
	var t *testing.T // go test hands one over
	testTimeout(t)
}

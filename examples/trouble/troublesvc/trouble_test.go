package troublesvc_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/internal/exampletest"
	"github.com/busline/busline/examples/trouble/troubleapi"
	"github.com/busline/busline/examples/trouble/troublesvc"
)

// start puts trouble on a bus of its own. What it logs is trouble that is asked for.
func start(t *testing.T) (caller *bus.Conn) {
	t.Helper()
	return startOn(t, bustest.New(t))
}

func startOn(t *testing.T, b *bustest.Bus) (caller *bus.Conn) {
	t.Helper()
	if err := troublesvc.Serve(b.Connect(troubleapi.Host, bus.WithLogger(zerolog.Nop()))); err != nil {
		t.Fatal(err)
	}
	return b.Connect("caller.example")
}

func TestTrouble(t *testing.T) {
	t.Parallel()
	trouble := exampletest.Open(t, start(t), "https://trouble.example")
	trouble.Check("POST /sleep", `{"ms":1}`, 200, `{"slept":1}`)
	trouble.Check("POST /sleep", `{"ms":-1}`, 400, "ms is -1; choose from 0 to 600000")
	trouble.Check("POST /hang", `{"ms":1}`, 200, `{}`)
	trouble.Check("POST /hang", `{"ms":600001}`, 400, "ms is 600001; choose from 0 to 600000")
	trouble.Check("POST /panic", `{}`, 500, "panicked")
	trouble.Check("POST /exit", `{}`, 500, "exited its goroutine")
	trouble.Check("POST /echo", `{"a":[1,2.5,null,"ü"]}`, 200, `{"a":[1,2.5,null,"ü"]}`)
	trouble.Check("POST /echo", `{"a":}`, 400, "JSON")
	trouble.Check("POST /cancelled", `{}`, 200, `{"count":0}`)
}

// TestEchoIsLarge sends more than functions take by default.
func TestEchoIsLarge(t *testing.T) {
	t.Parallel()
	trouble := exampletest.Open(t, start(t), "https://trouble.example")
	large := `"` + strings.Repeat("x", 5<<20) + `"`
	if response, body := trouble.Send("POST", "/echo", large); response.StatusCode != 200 || body != large {
		t.Errorf("%d, %d bytes", response.StatusCode, len(body))
	}
	if response, _ := trouble.Send("POST", "/sleep", large); response.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("another function takes as much: %d", response.StatusCode)
	}
}

// TestOutOfTime gives calls less time than they take.
func TestOutOfTime(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		caller := startOn(t, b)
		for address, ms := range map[string]int{
			"https://trouble.example/sleep": 600_000, // notices
			"https://trouble.example/hang":  5000,    // does not, and is waited for when the test ends
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			err := caller.Call(ctx, address, bus.Args{"ms": ms}, nil)
			if cancel(); bus.StatusOf(err) != http.StatusGatewayTimeout {
				t.Errorf("%s: %v", address, err)
			}
		}
		synctest.Wait() // until Sleep has noticed
		var cancelled struct{ Count int }
		if err := caller.Call(t.Context(), "https://trouble.example/cancelled", nil, &cancelled); err != nil {
			t.Fatal(err)
		}
		if cancelled.Count != 1 {
			t.Errorf("%d calls were cut short, want that of Sleep alone", cancelled.Count)
		}
	})
}

func TestNames(t *testing.T) {
	t.Parallel()
	bustest.CheckNames[troubleapi.Trouble](t, new(troublesvc.Trouble))
}

package bus_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
)

// passer passes on what has failed deeper in the chain, in words of its own.
type passer struct{ conn *bus.Conn }

func (p passer) Pass(ctx context.Context, depth int) error {
	if depth == 0 {
		return bus.Errorf(http.StatusNotFound, "no product 7")
	}
	return fmt.Errorf("at depth %d: %w", depth, p.conn.Call(ctx, "https://passer.example/pass", bus.Args{"depth": depth - 1}, nil))
}

func (p passer) Explain(ctx context.Context) error {
	return bus.Errorf(http.StatusBadGateway, "asked: %w", p.Pass(ctx, 1))
}

// TestAWrappedErrorIsOneSentence holds that no status and no sender turns up in a text that is shown to people, however long
// the chain is, and that the log tells all of it.
func TestAWrappedErrorIsOneSentence(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"pass?depth=3": "404 Not Found: at depth 3: at depth 2: at depth 1: no product 7",
		"explain":      "502 Bad Gateway: asked: at depth 1: no product 7",
	} {
		overBoth(t, func(t *testing.T, w *world) {
			logged := new(lines)
			conn := w.connect("passer.example", bus.WithLogger(zerolog.New(logged).Level(zerolog.DebugLevel)))
			serve(t, conn, passer{conn})
			err := w.connect("caller.example").Call(t.Context(), "GET https://passer.example/"+path, nil, nil)
			if text, _, _ := strings.Cut(fmt.Sprint(err), " ("); text != want {
				t.Errorf("%s: %v, want %s", path, err, want)
			}
			if logged.count("404 Not Found: no product 7 (passer.example/pass "+conn.ID()+")") == 0 {
				t.Errorf("%s: the log does not tell who failed", path)
			}
		})
	}
}

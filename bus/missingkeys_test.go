package bus_test

import (
	"net/http"
	"testing"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
)

// TestMissingKeysAreTold has whoever serves what nobody can call told so, once, when the first caller is refused.
func TestMissingKeysAreTold(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		for _, each := range []struct {
			host    string
			options []bus.ConnectOption
			asks    bus.HandleOption
			told    int
		}{
			{"keyless.example", nil, bus.Claims("true"), 1},
			{"public.example", nil, bus.Public(), 1},
			{"keyed.example", []bus.ConnectOption{newIssuer(t).trust()}, bus.Claims("true"), 0},
		} {
			log := new(lines)
			conn := b.connect(each.host, append(each.options, bus.WithLogger(zerolog.New(log)))...)
			if err := conn.Handle("GET", "/x", http.NotFoundHandler(), each.asks); err != nil {
				t.Fatal(err)
			}
			caller := b.connect("caller.example")
			for _, token := range []string{"", "a.b.c"} {
				_ = bus.Call(bus.ActAs(t.Context(), token), caller, "GET https://"+each.host+"/x", nil, nil) // 401, or 404 of the handler
			}
			const want = `"endpoint":"GET /x","message":"claims are required, and this connection has no keys, so every call is refused; set BUS_JWKS, or use bus.WithVerifier`
			if told := log.count(want); told != each.told {
				t.Errorf("%s: %d warnings, want %d:\n%s", each.host, told, each.told, log)
			}
		}
	})
}

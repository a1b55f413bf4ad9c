package bus_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
)

const missingKeys = `"message":"this connection has no keys, so every call that has a token or needs one is refused; set BUS_JWKS, or use bus.WithVerifier"`

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
			{"keyless.example", nil, bus.RequireClaims("true"), 1},
			{"public.example", nil, bus.AllowAnonymous(), 1},
			{"keyed.example", []bus.ConnectOption{newIssuer(t).trust()}, bus.RequireClaims("true"), 0},
		} {
			log := new(lines)
			conn := b.connect(each.host, append(each.options, bus.WithLogger(zerolog.New(log)))...)
			if err := conn.Handle("GET", "/x", http.NotFoundHandler(), each.asks); err != nil {
				t.Fatal(err)
			}
			caller := b.connect("caller.example")
			for _, token := range []string{"", "a.b.c"} {
				_ = caller.Call(bus.WithActor(t.Context(), token), "GET https://"+each.host+"/x", nil, nil) // 401, or 404 of the handler
			}
			bus.FlushLog(conn)
			if told := log.count(`"endpoint":"GET /x",` + missingKeys); told != each.told {
				t.Errorf("%s: %d warnings, want %d:\n%s", each.host, told, each.told, log)
			}
		}
	})
}

// TestMissingKeysAreToldOfWhatReachesNoHandler refuses a token that the connection verifies for others, as an ingress does, and
// the first part of a request in parts.
func TestMissingKeysAreToldOfWhatReachesNoHandler(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		const inParts = `"endpoint":"POST /echo",` + missingKeys
		for name, each := range map[string]struct {
			refuse func(*bus.Conn)
			want   string
		}{
			"verified": {func(conn *bus.Conn) { _, _ = conn.VerifyToken(t.Context(), "a.b.c") }, `"id":"$",` + missingKeys},
			"in parts": {func(conn *bus.Conn) { checkRefusedAtOnce(t, b, conn, "a token", "a.b.c", "401 ") }, inParts},
			"no token": {func(conn *bus.Conn) { checkRefusedAtOnce(t, b, conn, "no token", "", "401 ") }, inParts},
		} {
			log := new(lines)
			conn := b.connect("bytes.example", bus.WithLogger(zerolog.New(log)))
			handleBytes(t, conn, bus.RequireClaims("true"))
			each.refuse(conn)
			each.refuse(conn)
			bus.FlushLog(conn)
			if told := log.count(strings.ReplaceAll(each.want, "$", conn.ID())); told != 1 {
				t.Errorf("%s: %d warnings, want 1:\n%s", name, told, log)
			}
		}
	})
}

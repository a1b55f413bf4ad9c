package ingress_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/portal/internal/portaltest"
)

// TestUpgrade holds that a client which asks for another protocol gets the answer at once that there is none, and one
// that can do without is served.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	entrance.Serve("chat.example", 443, portaltest.Echo)
	for _, test := range []struct {
		name    string
		fields  []string
		refused string
	}{
		{"WebSocket", []string{"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
			"Sec-WebSocket-Key: x"}, "websocket"},
		{"in another case", []string{"Connection: keep-alive, uPGRADE", "Upgrade: WebSocket"}, "WebSocket"},
		{"another protocol", []string{"Connection: Upgrade", "Upgrade: IRC/6.9"}, "IRC/6.9"},
		{"one of several", []string{"Connection: Upgrade", "Upgrade: h2c,,", "Upgrade: TLS/1.0"}, "TLS/1.0"},
		{"a long one", []string{"Connection: Upgrade", "Upgrade: " + strings.Repeat("x", 1000)}, strings.Repeat("x", 40)},
		{"h2c", []string{"Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"}, ""},
		{"without Connection", []string{"Connection: close", "Upgrade: websocket"}, ""},
		{"Connection alone", []string{"Connection: Upgrade, close"}, ""},
		{"empty", []string{"Connection: Upgrade", "Upgrade: , "}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			fields := strings.Join(append(test.fields, "Host: door.example"), "\r\n")
			got := entrance.Send("GET /chat.example/x HTTP/1.1\r\n"+fields+"\r\n\r\n", http.MethodGet)
			if test.refused == "" {
				header := got.Echoed(t).Header
				assert.Empty(t, header["Upgrade"])
				assert.Empty(t, header["Http2-Settings"], "it is hop-by-hop")
				return
			}
			assert.Equal(t, http.StatusNotImplemented, got.StatusCode)
			assert.Equal(t, "application/problem+json", got.Header.Get("Content-Type"))
			assert.Equal(t, `the bus carries requests and responses, and no "`+test.refused+
				`": use server-sent events, or a server of your own beside the ingress`,
				got.Problem(t).Detail)
		})
	}
}

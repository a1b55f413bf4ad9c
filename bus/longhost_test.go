package bus_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestLongestHost holds that whoever has the longest hostname that there can be is called like anybody else: one instance of
// it, in parts, and told that its caller has left.
func TestLongestHost(t *testing.T) {
	t.Parallel()
	host := strings.Repeat("h.", 126) + "h"
	inBubble(t, func(t *testing.T, b *bubble) {
		conn, caller := b.connect(host), b.connect("caller.example")
		ends := serveWaiting(t, conn)
		count := func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Length", strconv.FormatInt(r.ContentLength, 10))
		}
		if err := conn.Handle("POST", "/count", http.HandlerFunc(count)); err != nil {
			t.Fatal(err)
		}
		for _, called := range []string{host, conn.ID() + "." + host} {
			for _, size := range []int{1, 2 << 20} {
				response, _ := do(t, caller, "POST", "https://"+called+"/count", "text/plain", strings.Repeat("x", size))
				if response.StatusCode != 200 || response.Header.Get("Length") != strconv.Itoa(size) {
					t.Errorf("%s…, %d bytes: %s, %v", called[:12], size, response.Status, response.Header)
				}
			}
			ctx, leave := context.WithCancel(t.Context())
			time.AfterFunc(300*time.Millisecond, leave)
			wantFailed(t, called, caller.Call(ctx, "GET https://"+called+"/wait", nil, nil), 503, context.Canceled)
			wantCancelled(t, called, ends, 300*time.Millisecond)
		}
	})
}

package portal_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/portal"
)

// TestBodiesAroundTheBrokersLimit sends bodies there and back that the broker carries in one message, just so, not quite
// and by far not.
func TestBodiesAroundTheBrokersLimit(t *testing.T) {
	t.Parallel()
	const limit = 16 << 10
	b := bustest.New(t, broker.MaxPayload(limit))
	ingress, err := portal.NewIngress(b.Connect("ingress", bus.WithoutShortCircuit()))
	if err != nil {
		t.Fatal(err)
	}
	mirror := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	if err := b.Connect("mirror.example").Handle("*", "/", mirror); err != nil {
		t.Fatal(err)
	}
	sizes := []int{0, 1, limit - 1, limit, limit + 1, 10 * limit}
	for size := limit - 1000; size < limit; size += 37 { // somewhere here the head does not fit any more
		sizes = append(sizes, size)
	}
	for _, size := range sizes {
		body := strings.Repeat("0123456789abcdef!", size/17+1)[:size]
		w := httptest.NewRecorder()
		ingress.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/mirror.example/", strings.NewReader(body)))
		if w.Code != http.StatusOK || w.Body.String() != body {
			t.Errorf("%d bytes came back as %d with status %d: %.200s", size, w.Body.Len(), w.Code, w.Body)
		}
	}
}

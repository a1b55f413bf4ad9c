package documents_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
)

// TestVersions_NotServed holds that the answer to a call that no instance serves does not depend on which of two
// versions is asked.
func TestVersions_NotServed(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		for _, method := range []string{"GET", "POST"} { // two versions
			require.NoError(t, w.Connect("shelf.example").Handle(method, "/books", http.NotFoundHandler()))
		}
		caller := w.Connect("caller.example")
		for range 20 {
			err := caller.Call(t.Context(), "DELETE https://shelf.example/books", nil, nil)
			kit.CheckError(t, err, 405, bus.ExecutedNo)
			response, _ := kit.Do(t, caller, "DELETE", "https://shelf.example/books", "", "")
			require.Equal(t, "GET, HEAD, POST", response.Header.Get("Allow"))
			err = caller.Call(t.Context(), "DELETE https://shelf.example/shelves", nil, nil)
			kit.CheckError(t, err, 404, bus.ExecutedNo)
		}
	})
}

// TestVersions_AreLogged has an instance that comes with other documents be found by the others, once for all that it
// registers, until it leaves.
func TestVersions_AreLogged(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		log := new(kit.Lines)
		connect := func(version string) *bus.Conn {
			return b.Connect(kit.CalculatorHost, bus.WithVersion(version), bus.WithLogger(zerolog.New(log)))
		}
		first, same := connect("1"), connect("1")
		for _, conn := range []*bus.Conn{first, same} {
			kit.Serve(t, conn, kit.Calculator{})
		}
		time.Sleep(2 * time.Second)
		hellos := b.Listen(b.Plane() + ".888.all.|.POST.hello")
		second := connect("2")
		for _, path := range []string{"/a", "/b", "/c"} {
			require.NoError(t, second.Handle("GET", path, http.NotFoundHandler()))
		}
		time.Sleep(2 * time.Second)
		require.Len(t, hellos, 5, "when it comes, for each path, and for all documents")
		synctest.Wait()
		for _, conn := range []*bus.Conn{first, same} {
			assert.Equal(t, []string{second.ID() + " (version 2)"}, conn.DifferingInstances())
			assert.Equal(t, 1, log.Count(`"id":"`+conn.ID()+`","instances":["`+second.ID()+` (version 2)"]`), log)
		}
		assert.Empty(t, second.DifferingInstances(), "no one answers")
		assert.NoError(t, second.Close(t.Context()))
		synctest.Wait()
		assert.Empty(t, first.DifferingInstances())
	})
}

package bus_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
)

// TestVersions_NotServed holds that the answer to a call that no instance serves does not depend on which of two versions is asked.
func TestVersions_NotServed(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *testBus) {
		for _, method := range []string{"GET", "POST"} { // two versions
			require.NoError(t, w.connect("shelf.example").Handle(method, "/books", http.NotFoundHandler()))
		}
		caller := w.connect("caller.example")
		for range 20 {
			err := caller.Call(t.Context(), "DELETE https://shelf.example/books", nil, nil)
			checkError(t, err, 405, bus.ExecutedNo)
			response, _ := do(t, caller, "DELETE", "https://shelf.example/books", "", "")
			require.Equal(t, "GET, HEAD, POST", response.Header.Get("Allow"))
			err = caller.Call(t.Context(), "DELETE https://shelf.example/shelves", nil, nil)
			checkError(t, err, 404, bus.ExecutedNo)
		}
	})
}

// TestVersions_AreLogged has an instance that comes find others with other documents, once for all that it registers, until they leave.
func TestVersions_AreLogged(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		log := new(lines)
		connect := func(version string) *bus.Conn {
			return b.connect(calculatorHost, bus.WithVersion(version), bus.WithLogger(zerolog.New(log)))
		}
		pings := b.listen(b.Plane() + ".888.example.calculator.|.GET.ping")
		first := connect("1")
		serve(t, first, calculator{})
		time.Sleep(2 * time.Second)
		same := connect("1")
		serve(t, same, calculator{})
		time.Sleep(2 * time.Second)
		require.Len(t, pings, 2)
		assert.Empty(t, log.String())
		second := connect("2")
		for _, path := range []string{"/a", "/b", "/c"} {
			require.NoError(t, second.Handle("GET", path, http.NotFoundHandler()))
		}
		time.Sleep(2 * time.Second)
		bus.FlushLog(second)
		require.Len(t, pings, 3, "one for each instance")
		want := slices.Sorted(slices.Values([]string{first.ID() + " (version 1)", same.ID() + " (version 1)"}))
		assert.Equal(t, want, second.DifferingInstances())
		assert.Equal(t, 1, log.count("other instances of this host have other documents"), log)
		assert.Contains(t, log.String(), `"id":"`+second.ID()+`","instances":["`+strings.Join(want, `","`)+`"]`)
		for _, conn := range []*bus.Conn{first, same} {
			assert.NoError(t, conn.Close(t.Context()))
		}
		synctest.Wait()
		assert.Empty(t, second.DifferingInstances())
	})
}

// TestDigest_TellsDocumentsApart holds what changes the digest of a ping.
func TestDigest_TellsDocumentsApart(t *testing.T) {
	t.Parallel()
	b := newBus(t)
	digest := func(serve func(*bus.Conn), options ...bus.ConnectOption) string {
		conn := b.Connect(calculatorHost, options...)
		serve(conn)
		var told struct{ Digest string }
		require.NoError(t, conn.Call(t.Context(), "GET https://"+conn.ID()+"."+calculatorHost+":888/ping", nil, &told))
		return told.Digest
	}
	sums := func(conn *bus.Conn) { require.NoError(t, bus.Serve(conn, calculator{})) }
	first := digest(sums)
	assert.Regexp(t, "^[0-9a-f]{16}$", first)
	assert.Empty(t, digest(func(*bus.Conn) {}), "nothing is served")
	for _, test := range []struct {
		name  string
		other string
		same  bool
	}{
		{"another instance", digest(sums), true},
		{"another version of the same", digest(sums, bus.WithVersion("2")), true},
		{"another address", digest(sums, bus.WithBaseURL("https://api.example.com")), true},
		{"one more endpoint", digest(func(conn *bus.Conn) {
			sums(conn)
			_ = bus.DigestOf(conn) // it is not kept
			require.NoError(t, conn.Handle("GET", "/more", http.NotFoundHandler()))
		}), false},
		{"claims", digest(func(conn *bus.Conn) { require.NoError(t, bus.Serve(conn, calculator{}, bus.RequireClaims("true"))) }), false},
		{"another port", digest(func(conn *bus.Conn) { require.NoError(t, bus.Serve(conn, calculator{}, bus.Port(444))) }), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.same, test.other == first)
		})
	}
}

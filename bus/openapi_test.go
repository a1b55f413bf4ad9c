package bus_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
)

func TestDiscovery(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		caller, callee := kit.NewCalculator(t, w)
		ids := kit.MulticastIDs(t, caller, "https://all:888/ping")
		if len(ids) != 2 {
			t.Errorf("ping answered by %v", ids)
		}
		_, body := kit.Do(t, caller, "GET", "https://calculator.example:888/ping", "", "")
		if want := `{"host":"calculator.example","id":"` + callee.ID() + `","version":"","ports":[443],"digest":"` +
			bus.DigestOf(callee) + `"}`; body != want {
			t.Errorf("ping: %s, want %s", body, want)
		}
		_, body = kit.Do(t, caller, "GET", "https://calculator.example:888/allow?port=443&path=/add", "", "")
		if body != `{"methods":["GET","HEAD","POST"]}` {
			t.Errorf("allow: %s", body)
		}
		for _, path := range []string{"/nothing", "/metrics"} { // the latter is not asked of all
			err := caller.Call(t.Context(), "GET https://all:888"+path, nil, nil)
			kit.CheckError(t, err, 404, bus.ExecutedNo)
			if ids := kit.MulticastIDs(t, caller, "https://all:888"+path); len(ids) != 2 {
				t.Errorf("all:888%s is answered by %v", path, ids)
			}
		}
	})
}

// TestDocument_ComparesFewEndpoints holds that registering an endpoint does not take longer the more others there are.
func TestDocument_ComparesFewEndpoints(t *testing.T) {
	t.Parallel()
	conn := kit.NewBus(t).Connect("files.example")
	for _, path := range []string{"/a", "/b", "/a/{x}", "/a/{y+}", "/a/{x}/c", "/{x}/b"} {
		require.NoError(t, conn.Handle("GET", path, http.NotFoundHandler()))
	}
	for path, others := range map[string]int{"/a": 1, "/c": 0, "/a/{z}": 2, "/{z}/b": 1} {
		if compared := bus.BesideInDocuments(conn, 443, path); compared != others {
			t.Errorf("%s is compared with %d others, want %d", path, compared, others)
		}
	}
}

// TestDigest_TellsDocumentsApart holds what changes the digest of a ping.
func TestDigest_TellsDocumentsApart(t *testing.T) {
	t.Parallel()
	b := kit.NewBus(t)
	digest := func(serve func(*bus.Conn), options ...bus.ConnectOption) string {
		conn := b.Connect(kit.CalculatorHost, options...)
		serve(conn)
		var told struct{ Digest string }
		require.NoError(t, conn.Call(t.Context(), "GET https://"+conn.ID()+"."+kit.CalculatorHost+":888/ping", nil, &told))
		return told.Digest
	}
	sums := func(conn *bus.Conn) { require.NoError(t, bus.Serve(conn, kit.Calculator{})) }
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
		{"claims",
			digest(func(conn *bus.Conn) { require.NoError(t, bus.Serve(conn, kit.Calculator{}, bus.RequireClaims("true"))) }),
			false},
		{"another port", digest(func(conn *bus.Conn) {
			require.NoError(t, bus.Serve(conn, kit.Calculator{}, bus.Port(444)))
		}), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.same, test.other == first)
		})
	}
}

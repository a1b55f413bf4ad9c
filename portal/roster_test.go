package portal_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/portal"
	"github.com/busline/busline/portal/internal/portaltest"
)

// fetch requests a path of the portal over the bus.
func (w *watched) fetch(path string, into any) {
	w.t.Helper()
	require.NoError(w.t, w.viewer.Call(w.t.Context(), "GET https://portal"+path, nil, into))
}

// TestRoster_InventedInstances: one that answers for thousands does not displace the instances that the portal knows.
func TestRoster_InventedInstances(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		serveCounter(t, b.Connect("counter.example"))
		w := watch(t, b)
		w.look("") // the portal gets to know the counter
		portaltest.AnswerAsMany(t, b, "ping", 6000)
		time.Sleep(time.Minute) // then the whole plane is asked
		got := w.look("")
		assert.Equal(t, "counter.example", got.names())
		assert.Len(t, got.Services["counter.example"].Instances, 1)
		var listed struct{ Hosts map[string]json.RawMessage }
		w.fetch("/instances.json", &listed)
		require.Len(t, listed.Hosts, 1)
		assert.NotNil(t, listed.Hosts["counter.example"])
		var document struct{ Paths map[string]json.RawMessage }
		w.fetch("/openapi.json", &document)
		if document.Paths["/counter.example:443/slow"] == nil {
			t.Error("the document has lost the counter")
		}
		time.Sleep(time.Second) // the invented instances go on answering
	})
}

// TestRoster_TooMany: the map says that instances are left out.
func TestRoster_TooMany(t *testing.T) {
	t.Parallel()
	if got := portal.NotesOfCrowd(6000); !slices.Equal(got,
		[]string{"Some instances are left out: there are too many, or they report too much."}) {
		t.Errorf("the map says %q", got)
	}
}

// TestRoster_PingOfAnother: an instance announces no other one.
func TestRoster_PingOfAnother(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"host": `{"host":"other.example","id":"s1aaaaaaaa","version":"1","ports":[443]}`,
		"id":   `{"host":"foreign.example","id":"other","version":"1","ports":[443]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
				portaltest.NewForeignInstance(t, b, "foreign.example").Tells("/ping", body)
				w := watch(t, b)
				var listed struct{ Hosts map[string]json.RawMessage }
				w.fetch("/instances.json", &listed)
				if len(listed.Hosts) != 0 {
					t.Errorf("listed: %v", listed.Hosts)
				}
			})
		})
	}
}

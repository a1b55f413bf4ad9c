package portal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/portal"
)

// answerAsMany answers questions at a path of port 888 of "all" as so many invented instances would. It needs a bubble.
func answerAsMany(t *testing.T, b *bustest.Bus, path string, count int) {
	t.Helper()
	raw, err := nats.Connect("", nats.InProcessServer(b.Broker()))
	require.NoError(t, err)
	t.Cleanup(raw.Close)
	answer := func(message *nats.Msg) {
		var request wire.Request
		if wire.ParseRequest(message.Data, &request) != nil {
			return
		}
		to := subject.Response(b.Plane(), request.FromHost, request.FromID)
		for at := range count {
			from := fmt.Sprintf("a%d.example", at)
			response := &wire.Response{
				Status: 200, OpCode: wire.OpRes, FromHost: from, FromID: "i1aaaaaaaa", MsgID: request.MsgID,
				Header: wire.Header{{Name: "Content-Type", Value: "application/json"}},
				Body:   []byte(`{"host":"` + from + `","id":"i1aaaaaaaa","version":"1","ports":[443]}`),
			}
			_ = raw.Publish(to, wire.AppendResponse(nil, response))
			if at%1000 == 999 {
				time.Sleep(time.Microsecond) // or the broker slows the sender down, by a clock that costs no time
			}
		}
	}
	_, err = raw.Subscribe(subject.Subscription(b.Plane(), "888", "all", "GET", path), answer)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, raw.FlushWithContext(ctx))
}

// fetch requests a path of the portal over the bus.
func (w *watched) fetch(path string, into any) {
	w.t.Helper()
	require.NoError(w.t, w.viewer.Call(w.t.Context(), "GET https://portal"+path, nil, into))
}

// TestRoster_Admit holds that the instances that are known longest come first, that the number is bounded, and that an instance may
// miss some looks.
func TestRoster_Admit(t *testing.T) {
	t.Parallel()
	var roster portal.RosterHook
	roster.Look("counter.example")
	var invented []string
	for at := range 6000 {
		invented = append(invented, fmt.Sprintf("a%d.example", at))
	}
	for range 8 {
		admitted, leftOut := roster.Look(invented...)
		require.Len(t, admitted, 4096)
		require.Equal(t, 1904, leftOut)
	}
	admitted, leftOut := roster.Look(append(invented, "counter.example")...)
	require.Len(t, admitted, 4096)
	assert.Equal(t, "counter.example", admitted[0])
	assert.Equal(t, 1905, leftOut)
}

// TestRoster_InventedInstances: one that answers for thousands does not displace the instances that the portal knows.
func TestRoster_InventedInstances(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		serveCounter(t, b.Connect("counter.example"))
		w := watch(t, b)
		w.look("") // the portal gets to know the counter
		answerAsMany(t, b, "ping", 6000)
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
	if got := portal.NotesOfCrowd(6000); !slices.Equal(got, []string{"Some instances are left out: there are too many, or they report too much."}) {
		t.Errorf("the map says %q", got)
	}
}

// TestRoster_Scrape: the instances that an ingress knows stay in its metrics of all.
func TestRoster_Scrape(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		counter := b.Connect("counter.example")
		ingress, err := portal.NewIngress(b.Connect("ingress"))
		require.NoError(t, err)
		own := `busline_connected{host="counter.example",id="` + counter.ID() + `"`
		for _, invented := range []int{0, 6000} {
			answerAsMany(t, b, "ping", invented)
			time.Sleep(2 * time.Second)
			if got := metricsOfAll(t, ingress); !strings.Contains(got, own) {
				t.Errorf("with %d invented ones: %.3000s", invented, got)
			}
		}
		time.Sleep(time.Second) // the invented instances go on answering
	})
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
				newForeignInstance(t, b, "foreign.example").tells("/ping", body)
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

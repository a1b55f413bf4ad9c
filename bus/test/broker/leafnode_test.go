package broker_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/test/kit"
)

// leafGreeter is served on a leaf node.
type leafGreeter struct{}

func (leafGreeter) Greet(_ context.Context, name string) (greeting string) { return "Hello, " + name }

// TestLeafNode calls a service on a leaf node from the hub. Instances there are found, unless the leaf node keeps
// announcements at home: then they can still be called.
func TestLeafNode(t *testing.T) {
	t.Parallel()
	for deny, wantFound := range map[string]bool{"": true,
		`, deny_imports: "*.888.all.>", deny_exports: "*.888.all.>"`: false} {
		t.Run(fmt.Sprint("found: ", wantFound), func(t *testing.T) {
			t.Parallel()
			address := kit.FreeAddress(t)
			hub := kit.NewBus(t, broker.Config(fmt.Sprintf("leafnodes { listen: %q }", address)))
			leaf := kit.NewBus(t, broker.Config(fmt.Sprintf("leafnodes { remotes: [{ url: %q%s }] }", "nats://"+address, deny)))
			plane := bus.WithPlane("leaves")
			require.NoError(t, bus.Serve(leaf.Connect("greeter.example", plane), leafGreeter{},
				bus.ParamNames("Greet", "name", "greeting")))
			caller := hub.Connect("caller.example", plane)
			var out struct{ Greeting string }
			require.EventuallyWithT(t, func(c *assert.CollectT) { // until the leaf node is connected
				assert.NoError(c, caller.Call(t.Context(), "https://greeter.example/greet", bus.Args{"name": "Ada"}, &out))
			}, 20*time.Second, 10*time.Millisecond)
			assert.Equal(t, "Hello, Ada", out.Greeting)
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://all:888/ping", http.NoBody)
			require.NoError(t, err)
			found := false
			for response, err := range caller.Multicast(request) {
				require.NoError(t, err)
				found = found || response.Header.Get("Bus-From-Host") == "greeter.example"
			}
			assert.Equal(t, wantFound, found)
		})
	}
}

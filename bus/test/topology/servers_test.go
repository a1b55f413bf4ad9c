package topology_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/test/kit"
)

// startServer runs a server with a configuration in the language of nats-server until the test ends. It may wait for
// others before clients can connect.
func startServer(t *testing.T, name string, config ...string) *server.Server {
	t.Helper()
	options := new(server.Options)
	config = append(config, `listen: "127.0.0.1:-1"`, fmt.Sprintf("server_name: %q", name))
	require.NoError(t, options.ProcessConfigString(strings.Join(config, "\n")))
	options.NoSigs, options.NoLog = true, true
	if options.JetStream {
		options.StoreDir = t.TempDir()
	}
	// a server in lame duck mode closes no connection itself while the test runs
	options.LameDuckDuration, options.LameDuckGracePeriod = 2*time.Minute, time.Minute
	started, err := server.NewServer(options)
	require.NoError(t, err)
	started.Start()
	t.Cleanup(func() {
		started.Shutdown()
		started.WaitForShutdown()
	})
	return started
}

// startMember runs a server of a cluster, at an address for the others.
func startMember(t *testing.T, cluster, name, config, address string, others ...string) *server.Server {
	t.Helper()
	return startServer(t, name, config, fmt.Sprintf(`cluster { name: %q, listen: %q, routes: [%s] }`, cluster, address,
		`"nats://`+strings.Join(others, `", "nats://`)+`"`))
}

// awaitReady returns when clients can connect to each server.
func awaitReady(t *testing.T, servers ...*server.Server) {
	t.Helper()
	for _, each := range servers {
		require.True(t, each.ReadyForConnections(20*time.Second), each.Name())
	}
}

// awaitRoutes returns when each server of a cluster has a route to all others.
func awaitRoutes(t *testing.T, members ...*server.Server) {
	t.Helper()
	awaitReady(t, members...)
	for _, member := range members {
		kit.Eventually(t, func() bool { return member.NumRemotes() == len(members)-1 })
	}
}

// startCluster runs servers with a route to each other, each with a configuration.
func startCluster(t *testing.T, cluster string, configs ...string) (members []*server.Server) {
	t.Helper()
	var addresses []string
	for range configs {
		addresses = append(addresses, kit.FreeAddress(t))
	}
	for i, config := range configs {
		others := slices.Delete(slices.Clone(addresses), i, i+1)
		members = append(members, startMember(t, cluster, fmt.Sprint(cluster, i), config, addresses[i], others...))
	}
	awaitRoutes(t, members...)
	return members
}

// startLeafNode runs a server, and another one as a leaf node of it.
func startLeafNode(t *testing.T, remote, leafConfig, hubConfig string) (leaf, hub *server.Server) {
	t.Helper()
	address := kit.FreeAddress(t)
	hub = startServer(t, "hub", fmt.Sprintf("leafnodes { listen: %q }", address), hubConfig)
	leaf = startServer(t, "leaf", fmt.Sprintf(`leafnodes { remotes: [{ url: "nats://%s", %s }] }`, address, remote),
		leafConfig)
	awaitReady(t, hub, leaf)
	kit.Eventually(t, func() bool { return leaf.NumLeafNodes() == 1 && hub.NumLeafNodes() == 1 })
	return leaf, hub
}

// startGateways runs two clusters of two servers each, with gateways to each other, and returns a server of each.
func startGateways(t *testing.T, config string) (east, west *server.Server) {
	t.Helper()
	var configs []string
	gateways := make([]string, 4)
	for i := range gateways {
		gateways[i] = kit.FreeAddress(t)
	}
	for i, own := range gateways {
		name := []string{"east", "west"}[i/2]
		configs = append(configs, fmt.Sprintf(`%s
			gateway { name: %q, listen: %q, gateways: [
				{ name: "east", urls: ["nats://%s", "nats://%s"] }, { name: "west", urls: ["nats://%s", "nats://%s"] }
			] }`, config, name, own, gateways[0], gateways[1], gateways[2], gateways[3]))
	}
	all := slices.Concat(startCluster(t, "east", configs[:2]...), startCluster(t, "west", configs[2:]...))
	for _, each := range all {
		kit.Eventually(t, func() bool { return each.NumOutboundGateways() == 1 })
	}
	return all[0], all[2]
}

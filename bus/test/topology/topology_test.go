// Package topology_test has callers and services on different servers of NATS: of a cluster, on both sides of a leaf
// node, and in two clusters that gateways connect. All servers run in the process.
package topology_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
)

// topology is two servers whose clients reach each other.
type topology struct {
	a, b *server.Server
	aJS  string // the JetStream domain that clients of a use; "": that of the server

	hasJetStream bool // for clients of both servers
	copies       int  // how often a service with an instance on each side handles a stored event; 0: once
	keepsToSite  bool // whether a call runs at the caller's side if the service is there, too
	isSilent     bool // whether announcements of one side stay there
}

// topologies are started by the test that runs the checks on them.
func topologies() map[string]func(t *testing.T) topology {
	const stores, hubStores = `jetstream {}`, `jetstream { domain: hub }`
	return map[string]func(t *testing.T) topology{
		"cluster": func(t *testing.T) topology {
			members := startCluster(t, "three", stores, stores, stores)
			return topology{a: members[0], b: members[1], hasJetStream: true}
		},
		"leaf node": func(t *testing.T) topology {
			leaf, hub := startLeafNode(t, "", "", "")
			return topology{a: leaf, b: hub, keepsToSite: true}
		},
		"leaf node without JetStream": func(t *testing.T) topology {
			leaf, hub := startLeafNode(t, "", "", hubStores)
			return topology{a: leaf, b: hub, aJS: "hub", hasJetStream: true, keepsToSite: true}
		},
		"leaf node with JetStream": func(t *testing.T) topology {
			leaf, hub := startLeafNode(t, "", `jetstream { domain: leaf }`, hubStores)
			return topology{a: leaf, b: hub, hasJetStream: true, copies: 2, keepsToSite: true}
		},
		"leaf node with JetStream, for events that of the hub": func(t *testing.T) topology {
			leaf, hub := startLeafNode(t, "", `jetstream { domain: leaf }, default_js_domain { "$G": hub }`, hubStores)
			return topology{a: leaf, b: hub, hasJetStream: true, keepsToSite: true}
		},
		"leaf node that keeps announcements at home": func(t *testing.T) topology {
			leaf, hub := startLeafNode(t, `deny_imports: "*.888.all.>", deny_exports: "*.888.all.>"`, "", "")
			return topology{a: leaf, b: hub, keepsToSite: true, isSilent: true}
		},
		"gateways": func(t *testing.T) topology {
			a, b := startGateways(t, stores)
			return topology{a: a, b: b, hasJetStream: true, keepsToSite: true}
		},
	}
}

// TestTopology runs each check on each topology, with the caller on either side.
func TestTopology(t *testing.T) {
	t.Parallel()
	for name, start := range topologies() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			running := start(t)
			for to, b := range map[string]bool{"there": false, "back": true} {
				for i, check := range checks {
					t.Run(check.name+"/"+to, func(t *testing.T) {
						t.Parallel()
						check.run(t, &link{topology: running, fromB: b, plane: fmt.Sprint(to, i)})
					})
				}
			}
		})
	}
}

// link is two sides of a topology, with a plane of its own.
type link struct {
	topology
	fromB bool // whether the caller's side is b
	plane string
}

// near connects on the caller's side.
func (l *link) near(t *testing.T, host string) *bus.Conn { return l.connect(t, host, l.fromB) }

// far connects on the other side.
func (l *link) far(t *testing.T, host string) *bus.Conn { return l.connect(t, host, !l.fromB) }

func (l *link) connect(t *testing.T, host string, isB bool) *bus.Conn {
	t.Helper()
	options := []bus.ConnectOption{bus.WithPlane(l.plane)}
	if !isB && l.aJS != "" {
		options = append(options, bus.WithJetStreamDomain(l.aJS))
	}
	if isB {
		return connectTo(t, l.b, host, options...)
	}
	return connectTo(t, l.a, host, options...)
}

// connectTo connects to a server, and calls nothing directly.
func connectTo(t *testing.T, to *server.Server, host string, options ...bus.ConnectOption) *bus.Conn {
	t.Helper()
	conn, err := bus.Connect(t.Context(), host,
		append(options, bus.WithURL(to.ClientURL()), bus.WithoutSharing(), bus.WithAckWait(5*time.Second), kit.Quiet())...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kit.CloseConn(t, conn) })
	return conn
}

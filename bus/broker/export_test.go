package broker

import (
	"fmt"
	"net"
	"syscall"

	"github.com/nats-io/nats-server/v2/server"
)

// BoundTo returns the address that the broker listens on.
func BoundTo(b *Broker) net.Addr { return b.server.Addr() }

// FillDisk logs what the server logs when a disk is full.
func FillDisk(b *Broker) {
	b.log.Errorf("JetStream failed to store a msg on stream %q: %v", "KV_kept", fmt.Errorf("write: %w", syscall.ENOSPC))
}

// Streams returns the number of streams, 0 if JetStream does not run.
func Streams(b *Broker) int {
	state, err := b.server.Jsz(&server.JSzOptions{})
	if err != nil {
		return 0
	}
	return state.Streams
}

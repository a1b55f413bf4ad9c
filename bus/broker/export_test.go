package broker

import (
	"fmt"
	"net"
	"syscall"

	"github.com/nats-io/nats-server/v2/server"
)

// BoundTo returns the address that the broker listens on.
func BoundTo(b *Broker) net.Addr { return b.server.Addr() }

// FillDisk has the server log what it logs when a disk is full.
func FillDisk(b *Broker) {
	b.errs.Errorf("JetStream failed to store a msg on stream %q: %v", "KV_kept", fmt.Errorf("write: %w", syscall.ENOSPC))
}

// Streams returns how many streams JetStream has, 0 if it does not run.
func Streams(b *Broker) int {
	state, err := b.server.Jsz(&server.JSzOptions{})
	if err != nil {
		return 0
	}
	return state.Streams
}

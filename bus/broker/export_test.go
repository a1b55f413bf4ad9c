package broker

import "net"

// BoundTo returns the address that the broker listens on.
func BoundTo(b *Broker) net.Addr { return b.server.Addr() }

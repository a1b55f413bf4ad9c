package bus

import (
	"crypto/tls"
	"net/netip"
	"strings"

	"github.com/busline/busline/bus/wire"
)

// fromIngress returns a header field in which an ingress says where a request from outside came from, "" if the request does not come
// directly from one: calls that a service makes to serve it have the same fields.
func fromIngress(message *wire.Request, name string) string {
	if message.CallDepth > 1 {
		return ""
	}
	return message.Header.Get(name)
}

// remoteAddr returns the peer of a request, with port 0, because the bus has none: the address from which the ingress was called, which is
// the last one in X-Forwarded-For, else the calling instance.
func remoteAddr(message *wire.Request) string {
	if clients := fromIngress(message, "X-Forwarded-For"); clients != "" {
		last := clients[strings.LastIndexByte(clients, ',')+1:]
		if client, err := netip.ParseAddr(strings.TrimSpace(last)); err == nil {
			return netip.AddrPortFrom(client, 0).String()
		}
	}
	return message.FromID + "." + message.FromHost + ":0"
}

// tlsOf returns the state of TLS of a request: nil if it came to the ingress by plain HTTP. Addresses on the bus are https, so there is one
// for a call from there. As with net/http, requests share it.
func (s *shared) tlsOf(message *wire.Request) *tls.ConnectionState {
	if fromIngress(message, "X-Forwarded-Proto") == "http" {
		return nil
	}
	return &s.tlsState
}

// Package proof proves to a service who calls it: a caller signs a short-lived token for each host that it calls, and
// callees verify it.
//
//	k3xq27abcd.orders.example                                  stock.example
//	    Prover.For("stock.example", 443) ── Bus-Caller-Proof ──▶ Verifier.Verify
//	    a key of orders.example                                the public keys of services
//
// docs/reference/wire.md describes the proof.
package proof

import (
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/busline/busline/bus/internal/signing"
	"github.com/busline/busline/bus/subject"
)

// How long a proof is valid, and when the next one is made.
const (
	life  = 2 * time.Minute
	renew = time.Minute
)

// Prover proves to callees who an instance is. Each callee gets a proof of its own, so that it can prove nothing to
// others. It is safe for concurrent use.
type Prover struct {
	key         *signing.Key
	self, plane string // "k3xq27abcd.orders.example"

	mu    sync.Mutex                       // held to replace known
	known atomic.Pointer[map[callee]shown] // a map does not change once it is here
}

// callee is a host and its port. A proof is good for one port, so that a subscriber, which reads those of the events of
// a publisher on port 417, can call that publisher on no other.
type callee struct {
	host string
	port int
}

// String returns the callee as the proof says it, without the port if that is 443.
func (c callee) String() string {
	if c.port == subject.PublicPort {
		return c.host
	}
	return c.host + ":" + strconv.Itoa(c.port)
}

// shown is what is shown to one callee.
type shown struct {
	text  string
	renew time.Time
}

// maxShown limits the cache. Hosts of single instances come and go.
const maxShown = 1024

// NewProver returns the prover of an instance, with the last of the keys that a file has for its host.
func NewProver(path, host, id, plane string) (*Prover, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("service key (BUS_SERVICE_KEY or bus.WithServiceKey): %w; make one with: busline key %s", err,
			host)
	}
	keys, err := signing.ParseAll(text)
	if err != nil {
		return nil, fmt.Errorf("service key %s: %w; make one with: busline key %s", path, err, host)
	}
	p := &Prover{self: id + "." + host, plane: plane}
	for _, each := range keys {
		if hostOf(each.ID()) == host {
			p.key = each
		}
	}
	if p.key == nil {
		return nil, fmt.Errorf("service key %s: no key in it is for %s: its ID (kid) has to be %[2]q, or begin with %q; "+
			"make one with: busline key %[2]s", path, host, host+"/")
	}
	if err := signing.CheckName(p.key.ID()); err != nil {
		return nil, fmt.Errorf("service key %s: %w", path, err)
	}
	p.known.Store(&map[callee]shown{})
	return p, nil
}

// hostOf returns the host that a key proves, from its ID: "orders.example", or "orders.example/2026-11".
func hostOf(keyID string) string {
	host, _, _ := strings.Cut(keyID, "/")
	return host
}

// For returns what proves the instance to a port of a host, as the host is called.
func (p *Prover) For(host string, port int, now time.Time) (string, error) {
	to := callee{host, port}
	if known, found := (*p.known.Load())[to]; found && now.Before(known.renew) {
		return known.text, nil
	}
	return p.sign(to, now)
}

func (p *Prover) sign(to callee, now time.Time) (string, error) {
	text, err := p.key.Sign(map[string]any{
		"sub": p.self, "aud": to.String(), "plane": p.plane, "iat": now.Unix(), "exp": now.Add(life).Unix(),
	})
	if err != nil {
		return "", err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	others := maps.Clone(*p.known.Load())
	maps.DeleteFunc(others, func(_ callee, of shown) bool { return !now.Before(of.renew) })
	if len(others) >= maxShown {
		clear(others)
	}
	others[to] = shown{text, now.Add(renew)}
	p.known.Store(&others)
	return text, nil
}

package portal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
)

// maxVersion is how long the version of an instance may be, in bytes, to be shown.
const maxVersion = 100

// place is one port of a host.
type place struct {
	host string
	port int
}

// String returns "calculator.example:443".
func (p place) String() string { return p.host + ":" + strconv.Itoa(p.port) }

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.host, q.host), cmp.Compare(p.port, q.port))
}

// instance is one that runs.
type instance struct {
	ID      string `json:"id"`
	Version string `json:"version,omitempty"`
	Ports   []int  `json:"ports"` // those that are public
}

// presence is what runs on the plane and is public.
type presence struct {
	places    []place               // sorted
	instances map[string][]instance // by host, sorted by ID
}

// discover asks every instance on the plane where it serves something, and returns what is public. An instance that
// gives no answer is missing: another one of its host answers, or it is not there for anybody. When not even the portal
// itself answers, the broker is away.
func (c *catalog) discover(ctx context.Context) (*presence, error) {
	ctx, cancel := context.WithTimeout(ctx, c.patience.discovery)
	defer cancel()
	found := &presence{instances: make(map[string][]instance)}
	err := askAll(ctx, c.conn, "/ping", func(from peer, body []byte, err error) {
		if err == nil {
			c.welcome(found, from, body)
		}
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found.places, place.compare)
	found.places = slices.Compact(found.places)
	for _, of := range found.instances {
		slices.SortFunc(of, func(a, b instance) int { return cmp.Compare(a.ID, b.ID) })
	}
	return found, nil
}

// welcome reads the answer of one instance. The portal does not describe itself.
func (c *catalog) welcome(found *presence, from peer, body []byte) {
	var answer struct {
		Version string `json:"version"`
		Ports   []int  `json:"ports"`
	}
	if json.NewDecoder(bytes.NewReader(body)).Decode(&answer) != nil || from.host == c.conn.Host() {
		return
	}
	public := instance{ID: from.id}
	if len(answer.Version) <= maxVersion {
		public.Version = answer.Version
	}
	for _, port := range answer.Ports {
		if slices.Contains(c.ports, port) {
			found.places = append(found.places, place{from.host, port})
			public.Ports = append(public.Ports, port)
		}
	}
	if len(public.Ports) > 0 {
		found.instances[from.host] = append(found.instances[from.host], public)
	}
}

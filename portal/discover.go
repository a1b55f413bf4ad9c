package portal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
)

// maxVersion is the largest length in bytes of an instance's version that is shown.
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

// instance is a running instance of a service.
type instance struct {
	ID      string `json:"id"`
	Version string `json:"version,omitempty"`
	Ports   []int  `json:"ports"` // the public ones
}

// presence is what runs on the plane and is public.
type presence struct {
	places    []place               // those of instances that are known longest come first
	instances map[string][]instance // by host, sorted by ID
	leftOut   int                   // instances that exceed maxPeers
}

// discover asks every instance on the plane which hosts and ports it serves, and returns the public ones. An instance
// that does not answer is left out: another one of its host answers, or nobody could use it. If not even the portal's
// own instance answers, the broker cannot be reached.
func (c *catalog) discover(ctx context.Context) (*presence, error) {
	ctx, cancel := context.WithTimeout(ctx, c.patience.discovery)
	defer cancel()
	answering, public := c.roster.gather(), make(map[peer]instance)
	err := askAll(ctx, c.conn, "/ping", func(from peer, body []byte, err error) {
		if err == nil && isOwnPing(from, body) && answering.add(from) {
			public[from] = c.publicPart(from, body)
		}
	})
	if err != nil {
		return nil, err
	}
	admitted, leftOut := answering.admit()
	found := &presence{instances: make(map[string][]instance), leftOut: leftOut}
	listed := make(map[place]bool)
	for _, from := range admitted {
		ports := public[from].Ports
		if len(ports) > 0 {
			found.instances[from.host] = append(found.instances[from.host], public[from])
		}
		for _, port := range ports {
			if at := (place{from.host, port}); !listed[at] {
				listed[at] = true
				found.places = append(found.places, at)
			}
		}
	}
	for _, of := range found.instances {
		slices.SortFunc(of, func(a, b instance) int { return cmp.Compare(a.ID, b.ID) })
	}
	return found, nil
}

// publicPart reads the answer of one instance. The portal's own answers have no public part.
func (c *catalog) publicPart(from peer, body []byte) (public instance) {
	var answer struct {
		Version string `json:"version"`
		Ports   []int  `json:"ports"`
	}
	if json.NewDecoder(bytes.NewReader(body)).Decode(&answer) != nil || from.host == c.conn.Host() {
		return instance{}
	}
	public.ID = from.id
	if len(answer.Version) <= maxVersion {
		public.Version = answer.Version
	}
	for _, port := range answer.Ports {
		if slices.Contains(c.ports, port) {
			public.Ports = append(public.Ports, port)
		}
	}
	return public
}

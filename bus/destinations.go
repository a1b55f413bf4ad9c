package bus

import (
	"reflect"
	"sync"
)

// destinations are the addresses that a connection has called, taken apart.
type destinations struct {
	conn *Conn

	mu    sync.RWMutex // protects known
	known map[string]*destination
}

// maxDestinations bounds what is remembered. Who calls more addresses, such as those with an id in their text, has them
// taken apart again.
const maxDestinations = 1024

func newDestinations(c *Conn) *destinations {
	return &destinations{conn: c, known: make(map[string]*destination)}
}

// destinationOf returns the destination of an address, or what is wrong with it or with the arguments.
func (c *Conn) destinationOf(address string, arguments any) (*destination, error) {
	if err := c.untagged.get(reflect.TypeOf(arguments), untagged); err != nil {
		return nil, err
	}
	return c.destinations.find(address)
}

// find returns the destination of an address, or what is wrong with the address.
func (d *destinations) find(address string) (*destination, error) {
	d.mu.RLock()
	to := d.known[address]
	d.mu.RUnlock()
	if to != nil {
		return to, nil
	}
	to, err := parseDestination(address)
	if err == nil {
		err = to.settle(d.conn)
	}
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for other := range d.known {
		if len(d.known) < maxDestinations {
			break
		}
		delete(d.known, other)
	}
	d.known[address] = to
	return to, nil
}

package bus

import (
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/restmap"
)

// Table is a router for tests: routes in, the one that answers out.
type Table struct{ router *router }

// NewTable returns an empty table.
func NewTable() *Table { return &Table{newRouter()} }

// Add takes in a route on port 443.
func (t *Table) Add(method, path string) error {
	mapped, err := restmap.Handler(method, path)
	if err != nil {
		return err
	}
	return t.router.add([]*endpoint{{endpointConfig: newEndpointConfig(), mapped: mapped}})
}

// Find returns the name of the route for an address, "" for none, and the values of its parameters.
func (t *Table) Find(method, path string) (name string, values []string) {
	found := t.router.find(subject.Address{Port: publicPort, Method: method, Path: path})
	if !found.found() {
		return "", nil
	}
	return found.endpoint.name(), found.values
}

// Methods returns what the table answers to "allow".
func (t *Table) Methods(path string) []string { return t.router.methods(publicPort, path) }

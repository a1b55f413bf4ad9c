package feature

import (
	"maps"
	"slices"
	"sync"

	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/restmap/openapi31"
)

// Extensions are those of a connection, by name. The zero value is empty. It is safe for concurrent use.
type Extensions struct {
	mu    sync.Mutex // protects named
	named map[string]Extension
}

// Get returns the extension of a name, which open makes when it is first asked for.
func (e *Extensions) Get(name string, open func() Extension) Extension {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.named == nil {
		e.named = make(map[string]Extension)
	}
	if e.named[name] == nil {
		e.named[name] = open()
	}
	return e.named[name]
}

// All returns the extensions, in any order.
func (e *Extensions) All() []Extension {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Collect(maps.Values(e.named))
}

// Events returns the events that a caller with these claims may see; nil for none. One extension has events.
func (e *Extensions) Events(verified claims.Claims) (*openapi31.Events, error) {
	for _, each := range e.All() {
		if events, err := each.Events(verified); events != nil || err != nil {
			return events, err
		}
	}
	return nil, nil //nolint:nilnil // none is no error
}

package productsvc

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/examples/products/productapi"
)

// memory is a Store for one instance.
type memory struct {
	mu       sync.Mutex // protects all below
	last     int        // the id that was given out last
	products map[int]productapi.Product
	watches  map[*watch]bool
}

// watch has the changes that one watcher has not received yet. The store's mutex protects pending.
type watch struct {
	pending map[int]*productapi.Product // nil for one that was removed
	changed chan struct{}               // has room for one
}

func newMemory() *memory {
	return &memory{products: make(map[int]productapi.Product), watches: make(map[*watch]bool)}
}

// notify notes a change for all watchers. The caller holds the mutex.
func (m *memory) notify(id int, product *productapi.Product) {
	for w := range m.watches {
		w.pending[id] = product
		select {
		case w.changed <- struct{}{}:
		default: // it has not seen the last one yet
		}
	}
}

func (m *memory) Watch(ctx context.Context) productapi.Changes {
	return func(yield func(productapi.Change, error) bool) {
		w := m.watch()
		defer m.unwatch(w)
		for {
			select {
			case <-w.changed:
			case <-bus.Closing(ctx):
				yield(productapi.Change{}, errClosing())
				return
			case <-ctx.Done():
				yield(productapi.Change{}, ctx.Err())
				return
			}
			for _, change := range m.take(w) {
				if !yield(change, nil) {
					return
				}
			}
		}
	}
}

// watch returns a new watch, to which all products are changes.
func (m *memory) watch() *watch {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := &watch{pending: make(map[int]*productapi.Product), changed: make(chan struct{}, 1)}
	for id, product := range m.products {
		w.pending[id] = &product
	}
	w.changed <- struct{}{}
	m.watches[w] = true
	return w
}

func (m *memory) unwatch(w *watch) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.watches, w)
}

// take returns the changes that a watcher has not received yet.
func (m *memory) take(w *watch) (changes []productapi.Change) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(w.pending)) {
		changes = append(changes, productapi.Change{ID: id, Product: w.pending[id]})
	}
	clear(w.pending)
	return changes
}

func (m *memory) Add(_ context.Context, product productapi.Product) (id int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last++
	m.products[m.last] = product
	m.notify(m.last, &product)
	return m.last, nil
}

func (m *memory) Get(_ context.Context, id int) (productapi.Product, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	product, found := m.products[id]
	if !found {
		return productapi.Product{}, ErrNotFound
	}
	return product, nil
}

func (m *memory) Replace(_ context.Context, id int, product productapi.Product) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, found := m.products[id]; !found {
		return ErrNotFound
	}
	m.products[id] = product
	m.notify(id, &product)
	return nil
}

func (m *memory) Remove(_ context.Context, id int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, found := m.products[id]; !found {
		return ErrNotFound
	}
	delete(m.products, id)
	m.notify(id, nil)
	return nil
}

func (m *memory) All(context.Context) ([]productapi.Product, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	products := make([]productapi.Product, 0, len(m.products))
	for _, id := range slices.Sorted(maps.Keys(m.products)) {
		products = append(products, m.products[id])
	}
	return products, nil
}

func (m *memory) String() string { return "in memory" }

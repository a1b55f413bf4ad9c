package productsvc

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/busline/busline/examples/products/productapi"
)

// memory is a Store for one instance.
type memory struct {
	mu       sync.Mutex // protects all below
	last     int        // the id that was given out last
	products map[int]productapi.Product
}

func newMemory() *memory { return &memory{products: make(map[int]productapi.Product)} }

func (m *memory) Add(_ context.Context, product productapi.Product) (id int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last++
	m.products[m.last] = product
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
	return nil
}

func (m *memory) Remove(_ context.Context, id int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, found := m.products[id]; !found {
		return ErrNotFound
	}
	delete(m.products, id)
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

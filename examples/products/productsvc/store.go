package productsvc

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/examples/products/productapi"
)

// Store keeps products. Its methods may be called from many goroutines at once.
type Store interface {
	// Add keeps a product under a new id, from 1 up. No id is used twice.
	Add(ctx context.Context, product productapi.Product) (id int, err error)
	// Get returns a product, or ErrNotFound.
	Get(ctx context.Context, id int) (productapi.Product, error)
	// Replace keeps another product under an id that is in use, or returns ErrNotFound.
	Replace(ctx context.Context, id int, product productapi.Product) error
	// Remove forgets a product, or returns ErrNotFound. Of several at once, one finds it.
	Remove(ctx context.Context, id int) error
	// All returns every product, in the order of their ids. The slice is the caller's.
	All(ctx context.Context) ([]productapi.Product, error)
	// Watch streams every product, and then the changes until ctx ends: of several of one product, at least the last.
	Watch(ctx context.Context) productapi.Changes
	// String says where the products are kept, "in memory".
	String() string
}

// ErrNotFound says that no product has the id.
var ErrNotFound = errors.New("not found")

// OpenStore opens the best store that the broker of a connection offers: one in JetStream, which all instances of
// the plane share and which survives them, or else one in memory, which is this instance's alone. The context
// bounds the opening.
func OpenStore(ctx context.Context, conn *bus.Conn) (Store, error) {
	manager, err := jetstream.New(conn.NATS())
	if err != nil {
		return nil, fmt.Errorf("open products: %w", err)
	}
	_, err = manager.AccountInfo(ctx)
	if errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
		return newMemory(), nil
	}
	if err != nil {
		return nil, fmt.Errorf("open products: does the broker have JetStream? %w", err)
	}
	return openBucket(ctx, manager, conn.Plane())
}

package productsvc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/examples/products/productapi"
)

// bucket is a Store in a JetStream key-value bucket, shared by all instances on the plane. Whatever depends on
// what is there now names the revision that it has seen; when another instance was faster, it looks again.
type bucket struct {
	keys jetstream.KeyValue
}

const (
	lastKey       = "last"     // the id that was given out last
	productPrefix = "product." // and the id: one product
)

func openBucket(ctx context.Context, manager jetstream.JetStream, plane string) (*bucket, error) {
	keys, err := manager.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: plane + "_products"})
	if err != nil {
		return nil, fmt.Errorf("open products: bucket %s_products: %w", plane, err)
	}
	return &bucket{keys}, nil
}

func (b *bucket) Add(ctx context.Context, product productapi.Product) (id int, err error) {
	value, err := json.Marshal(product)
	if err != nil {
		return 0, err
	}
	id, err = b.nextID(ctx)
	if err != nil {
		return 0, err
	}
	_, err = b.keys.Create(ctx, productKey(id), value)
	return id, err
}

// nextID counts on.
func (b *bucket) nextID(ctx context.Context) (id int, err error) {
	err = untilFirst(func() error {
		last, err := b.keys.Get(ctx, lastKey)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			id = 1
			_, err = b.keys.Create(ctx, lastKey, []byte("1"))
			return err
		}
		if err != nil {
			return err
		}
		if id, err = strconv.Atoi(string(last.Value())); err != nil {
			return err
		}
		id++
		_, err = b.keys.Update(ctx, lastKey, []byte(strconv.Itoa(id)), last.Revision())
		return err
	})
	return id, err
}

func (b *bucket) Get(ctx context.Context, id int) (product productapi.Product, err error) {
	entry, err := b.find(ctx, id)
	if err != nil {
		return product, err
	}
	err = json.Unmarshal(entry.Value(), &product)
	return product, err
}

func (b *bucket) Replace(ctx context.Context, id int, product productapi.Product) error {
	value, err := json.Marshal(product)
	if err != nil {
		return err
	}
	return untilFirst(func() error {
		entry, err := b.find(ctx, id)
		if err != nil {
			return err
		}
		_, err = b.keys.Update(ctx, productKey(id), value, entry.Revision())
		return err
	})
}

func (b *bucket) Remove(ctx context.Context, id int) error {
	return untilFirst(func() error {
		entry, err := b.find(ctx, id)
		if err != nil {
			return err
		}
		return b.keys.Delete(ctx, productKey(id), jetstream.LastRevision(entry.Revision()))
	})
}

func (b *bucket) All(ctx context.Context) ([]productapi.Product, error) {
	watcher, err := b.keys.Watch(ctx, productPrefix+"*", jetstream.IgnoreDeletes())
	if err != nil {
		return nil, err
	}
	defer stopWatcher(watcher)
	products := make(map[int]productapi.Product)
	for {
		change, err := nextChange(ctx, watcher)
		switch {
		case err != nil:
			return nil, err
		case change.ID == 0: // that was all
			return inOrder(products), nil
		}
		products[change.ID] = *change.Product
	}
}

func (b *bucket) Watch(ctx context.Context) productapi.Changes {
	return func(yield func(productapi.Change, error) bool) {
		watcher, err := b.keys.Watch(ctx, productPrefix+"*")
		if err != nil {
			yield(productapi.Change{}, err)
			return
		}
		defer stopWatcher(watcher)
		for early := true; ; {
			change, err := nextChange(ctx, watcher)
			switch {
			case err != nil:
				yield(change, err)
				return
			case change.ID == 0: // from now on there are changes
				early = false
			case early && change.Product == nil: // it was deleted before
			case !yield(change, nil):
				return
			}
		}
	}
}

// nextChange waits for the next entry. It returns a change without an ID after all that were there before.
func nextChange(ctx context.Context, watcher jetstream.KeyWatcher) (productapi.Change, error) {
	select {
	case entry, open := <-watcher.Updates():
		switch {
		case !open:
			return productapi.Change{}, cmp.Or(ctx.Err(), errors.New("the connection to the broker was closed"))
		case entry == nil:
			return productapi.Change{}, nil
		}
		return changeOf(entry)
	case <-bus.Closing(ctx):
		return productapi.Change{}, errClosing()
	case <-ctx.Done():
		return productapi.Change{}, ctx.Err()
	}
}

func (b *bucket) String() string { return "in the JetStream bucket " + b.keys.Bucket() }

func (b *bucket) find(ctx context.Context, id int) (jetstream.KeyValueEntry, error) {
	entry, err := b.keys.Get(ctx, productKey(id))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, ErrNotFound
	}
	return entry, err
}

// stopWatcher waits until the watcher has ended: it may be about to hand over another entry.
func stopWatcher(watcher jetstream.KeyWatcher) {
	_ = watcher.Stop() // it fails when the connection is closed, and the watcher with it
	for range watcher.Updates() {
		continue
	}
}

// untilFirst repeats a change until no other change was faster.
func untilFirst(change func() error) error {
	for {
		err := change()
		if !errors.Is(err, jetstream.ErrKeyRevisionMismatch) && !errors.Is(err, jetstream.ErrKeyExists) {
			return err
		}
	}
}

func productKey(id int) string { return productPrefix + strconv.Itoa(id) }

func changeOf(entry jetstream.KeyValueEntry) (change productapi.Change, err error) {
	change.ID, err = strconv.Atoi(strings.TrimPrefix(entry.Key(), productPrefix))
	if err == nil && entry.Operation() == jetstream.KeyValuePut {
		err = json.Unmarshal(entry.Value(), &change.Product)
	}
	if err != nil {
		return change, fmt.Errorf("key %s: %w", entry.Key(), err)
	}
	return change, nil
}

func inOrder(products map[int]productapi.Product) []productapi.Product {
	ordered := make([]productapi.Product, 0, len(products))
	for _, id := range slices.Sorted(maps.Keys(products)) {
		ordered = append(ordered, products[id])
	}
	return ordered
}

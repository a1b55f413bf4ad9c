package productsvc_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/products/productapi"
	"github.com/busline/busline/examples/products/productsvc"
)

// openStore opens the store of a new instance.
func openStore(t *testing.T, b *bustest.Bus) productsvc.Store {
	t.Helper()
	store, err := productsvc.OpenStore(t.Context(), b.Connect(productapi.Host))
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// TestWatch makes each change after the one before has been seen.
func TestWatch(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, b *bustest.Bus) {
		store := openStore(t, b)
		tea, cup, mug := productapi.Product{Name: "Tea"}, productapi.Product{Name: "Cup"}, productapi.Product{Name: "Mug"}
		add := func(product productapi.Product) {
			if _, err := store.Add(t.Context(), product); err != nil {
				t.Error(err)
			}
		}
		add(cup)
		add(tea)
		if err := store.Remove(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		next := []func() error{
			func() error { return store.Replace(t.Context(), 2, mug) },
			func() error { return store.Remove(t.Context(), 2) },
			func() error { add(cup); return nil },
			func() error { cancel(); return nil },
		}
		var seen []productapi.Change
		var ended error
		for change, err := range store.Watch(ctx) {
			if err != nil {
				ended = err
				continue
			}
			seen = append(seen, change)
			if err := next[len(seen)-1](); err != nil {
				t.Error(err)
			}
		}
		if want := []productapi.Change{{ID: 2, Product: &tea}, {ID: 2, Product: &mug}, {ID: 2},
			{ID: 3, Product: &cup}}; !reflect.DeepEqual(seen, want) {
			t.Errorf("seen %v, want %v", seen, want)
		}
		if !errors.Is(ended, context.Canceled) {
			t.Errorf("it ended with %v", ended)
		}
	})
}

// TestWatch_Left leaves a stream, and then another one sees what is there.
func TestWatch_Left(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, b *bustest.Bus) {
		store := openStore(t, b)
		for id := 1; id <= 2; id++ {
			if _, err := store.Add(t.Context(), productapi.Product{Name: "Tea"}); err != nil {
				t.Fatal(err)
			}
			var last int
			for change, err := range store.Watch(t.Context()) {
				if last = change.ID; err != nil || last == id {
					break
				}
			}
			if last != id {
				t.Errorf("the last id is %d, want %d", last, id)
			}
		}
	})
}

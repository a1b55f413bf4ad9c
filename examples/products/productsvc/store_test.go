package productsvc_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/golang/mock/gomock"
	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/products/productapi"
	"github.com/busline/busline/examples/products/productsvc"
	"github.com/busline/busline/mocks"
)

// TestStoreFails has a store that is out of order: that is nothing which callers could mend.
func TestStoreFails(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	store := mocks.NewMockStore(gomock.NewController(bustest.Reporter(t)))
	tea, broken := productapi.Product{Name: "Tea", Price: 4.5, Tags: []string{}}, errors.New("disk full")
	store.EXPECT().Add(gomock.Any(), tea).Return(0, broken)
	store.EXPECT().Get(gomock.Any(), 1).Return(productapi.Product{}, broken)
	store.EXPECT().Replace(gomock.Any(), 1, tea).Return(broken)
	store.EXPECT().Remove(gomock.Any(), 1).Return(broken)
	store.EXPECT().All(gomock.Any()).Return(nil, broken)
	if err := productsvc.Serve(b.Connect(productapi.Host, bus.WithLogger(zerolog.Nop())), store); err != nil {
		t.Fatal(err)
	}
	products := productapi.NewClient(b.Connect("caller.example"))
	_, _, create := products.Create(t.Context(), tea)
	_, read := products.Read(t.Context(), 1)
	update := products.Update(t.Context(), 1, tea)
	remove := products.Delete(t.Context(), 1)
	_, list := products.ListAll(t.Context(), "", 0, 0)
	for i, err := range []error{create, read, update, remove, list} {
		if bus.StatusOf(err) != http.StatusInternalServerError || !strings.Contains(err.Error(), "disk full") {
			t.Errorf("call %d: %v", i, err)
		}
	}
}

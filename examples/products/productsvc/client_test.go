package productsvc_test

import (
	"errors"
	"net/http"
	"reflect"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/products/productapi"
)

func TestClient(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	b.CheckShortCircuit()
	start(t, b)
	products := productapi.NewClient(b.Connect("caller.example"))
	tea, cup := productapi.Product{Name: "Tea", Price: 4.5, Tags: []string{"new"}}, productapi.Product{Name: "Cup",
		Price: 7, Tags: []string{}}
	for i, product := range []productapi.Product{tea, cup} {
		if id, status, err := products.Create(t.Context(), product); err != nil || id != i+1 || status != http.StatusCreated {
			t.Errorf("Create: id %d, status %d, %v", id, status, err)
		}
	}
	if got, err := products.Read(t.Context(), 2); err != nil || !reflect.DeepEqual(got, cup) {
		t.Errorf("Read: %+v, %v", got, err)
	}
	tea.Price = 5
	if err := products.Update(t.Context(), 1, tea); err != nil {
		t.Errorf("Update: %v", err)
	}
	if got, err := products.ListAll(t.Context(), "-price", 0, 1); err != nil ||
		!reflect.DeepEqual(got, []productapi.Product{tea}) {
		t.Errorf("ListAll: %+v, %v", got, err)
	}
	if err := products.Delete(t.Context(), 1); err != nil {
		t.Errorf("Delete: %v", err)
	}
}

func TestClient_Errors(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	start(t, b)
	products := productapi.NewClient(b.Connect("caller.example"))
	_, err := products.Read(t.Context(), 7)
	failed, ok := errors.AsType[*bus.Error](err)
	if !ok || failed.Status != http.StatusNotFound || failed.Detail != "no product has the id 7: not found" ||
		failed.Host != productapi.Host {
		t.Errorf("Read: %+v", err)
	}
	if err := products.Update(t.Context(), 7, productapi.Product{}); bus.StatusOf(err) != http.StatusUnprocessableEntity {
		t.Errorf("Update: %v", err)
	}
	if err := products.Delete(t.Context(), 7); bus.StatusOf(err) != http.StatusNotFound {
		t.Errorf("Delete: %v", err)
	}
	if id, _, err := products.Create(t.Context(),
		productapi.Product{}); bus.StatusOf(err) != http.StatusUnprocessableEntity || id != 0 {
		t.Errorf("Create: id %d, %v", id, err)
	}
	if _, err := products.ListAll(t.Context(), "colour", 0, 0); bus.StatusOf(err) != http.StatusBadRequest {
		t.Errorf("ListAll: %v", err)
	}
}

// TestClient_OfAnInstance creates with one instance and reads with another.
func TestClient_OfAnInstance(t *testing.T) {
	t.Parallel()
	b := bustest.New(t, broker.JetStream(t.TempDir()))
	one, other := start(t, b), start(t, b)
	products := productapi.NewClient(b.Connect("caller.example"))
	id, _, err := products.ForInstance(one.ID()).Create(t.Context(), productapi.Product{Name: "Tea", Price: 4.5})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := products.ForInstance(other.ID()).Read(t.Context(), id); err != nil || got.Name != "Tea" {
		t.Errorf("%+v, %v", got, err)
	}
	answers := 0
	for response, err := range products.Multicast().Read(t.Context(), id) {
		if err != nil || response.Results.Name != "Tea" || response.Status != http.StatusOK {
			t.Errorf("%+v, %v", response, err)
		}
		answers++
	}
	if answers != 1 {
		t.Errorf("%d answers, want that of one instance: they share a queue", answers)
	}
}

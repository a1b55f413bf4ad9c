package calculatorsvc_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/calculator/calculatorapi"
	"github.com/busline/busline/examples/calculator/calculatorsvc"
)

// serveTwice puts two instances on the bus, and returns their IDs and a client.
func serveTwice(t *testing.T, options ...bus.ServeOption) (ids []string, calculator *calculatorapi.Client) {
	t.Helper()
	b := bustest.New(t)
	b.CheckShortCircuit()
	for range 2 {
		conn := b.Connect(calculatorapi.Host)
		if err := bus.Serve[calculatorapi.Calculator](conn, calculatorsvc.Calculator{}, options...); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, conn.ID())
	}
	slices.Sort(ids)
	return ids, calculatorapi.NewClient(b.Connect("caller.example"))
}

func TestClient(t *testing.T) {
	t.Parallel()
	_, calculator := serveTwice(t)
	if sum, err := calculator.Add(t.Context(), 5, 6); err != nil || sum != 11 {
		t.Errorf("Add: %d, %v", sum, err)
	}
	if result, err := calculator.Arithmetic(t.Context(), 5, "*", 6); err != nil || result != 30 {
		t.Errorf("Arithmetic: %d, %v", result, err)
	}
	if d, err := calculator.Distance(t.Context(), calculatorapi.Point{X: 3}, calculatorapi.Point{Y: 4}); err != nil ||
		d != 5 {
		t.Errorf("Distance: %v, %v", d, err)
	}
}

func TestClient_Errors(t *testing.T) {
	t.Parallel()
	ids, calculator := serveTwice(t)
	_, err := calculator.Arithmetic(t.Context(), 7, "/", 0)
	failed, ok := errors.AsType[*bus.Error](err)
	if !ok || failed.Status != http.StatusBadRequest || failed.Detail != "7 cannot be divided by zero" ||
		failed.Host != calculatorapi.Host || !slices.Contains(ids, failed.ID) || failed.Executed != bus.ExecutedYes {
		t.Errorf("the service's error: %+v", err)
	}
	if _, err := calculator.ForHost("nobody.example").Add(t.Context(), 5, 6); !errors.Is(err, bus.ErrNoResponder) {
		t.Errorf("no instance there: %v", err)
	}
}

// TestClient_OfAnInstance calls each instance in turn.
func TestClient_OfAnInstance(t *testing.T) {
	t.Parallel()
	ids, calculator := serveTwice(t)
	for _, id := range ids {
		_, err := calculator.ForInstance(id).Arithmetic(t.Context(), 7, "%", 2)
		if failed, ok := errors.AsType[*bus.Error](err); !ok || failed.ID != id {
			t.Errorf("%v; want an error of %s", err, id)
		}
	}
	if _, err := calculator.ForInstance("nobody").Add(t.Context(), 5, 6); !errors.Is(err, bus.ErrNoResponder) {
		t.Errorf("no instance there: %v", err)
	}
}

// TestClient_OfAll calls all instances at once, which are served without a queue, so that all of them answer.
func TestClient_OfAll(t *testing.T) {
	t.Parallel()
	ids, calculator := serveTwice(t, bus.NoQueue())
	var answered, refused []string
	for response, err := range calculator.Multicast().Add(t.Context(), 5, 6) {
		if err != nil || response.Results.Sum != 11 {
			t.Errorf("%+v, %v", response, err)
		}
		answered = append(answered, response.ID)
	}
	for response, err := range calculator.Multicast().Arithmetic(t.Context(), 7, "/", 0) {
		if bus.StatusOf(err) != http.StatusBadRequest || response.Status != http.StatusBadRequest {
			t.Errorf("%+v, %v", response, err)
		}
		refused = append(refused, response.ID)
	}
	slices.Sort(answered)
	slices.Sort(refused)
	if !slices.Equal(answered, ids) || !slices.Equal(refused, ids) {
		t.Errorf("answered by %v and refused by %v, want %v", answered, refused, ids)
	}
}

package bustest_test

import (
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
)

// Calculator is the service under test.
type Calculator struct{}

// Add returns the sum of x and y.
func (Calculator) Add(x, y int) (sum int) { return x + y }

func TestAdd(t *testing.T) {
	t.Parallel()
	b := bustest.New(t) // a broker in the process, a plane of its own, closed with the test
	server, client := b.Connect("calculator.example"), b.Connect("client.example")
	if err := bus.Serve(server, Calculator{}); err != nil {
		t.Fatal(err)
	}
	var out struct{ Sum int }
	if err := client.Call(t.Context(), "https://calculator.example/add", bus.Args{"x": 5, "y": 6}, &out); err != nil ||
		out.Sum != 11 {
		t.Errorf("%v, %v", out, err)
	}
}

// TestExampleNew runs what ExampleNew shows, which go test only compiles.
func TestExampleNew(t *testing.T) {
	t.Parallel()
	testTotal(t)
}

// TestExampleVirtual runs what ExampleVirtual shows.
func TestExampleVirtual(t *testing.T) {
	t.Parallel()
	testTimeout(t)
}

func TestNew_SeparateBuses(t *testing.T) {
	t.Parallel()
	one, other := bustest.New(t), bustest.New(t)
	if err := bus.Serve(one.Connect("calculator.example"), Calculator{}); err != nil {
		t.Fatal(err)
	}
	err := other.Connect("client.example").Call(t.Context(), "https://calculator.example/add", nil, nil)
	if bus.StatusOf(err) != 503 || one.Plane() == other.Plane() || one.Broker() == other.Broker() {
		t.Errorf("got %v", err)
	}
}

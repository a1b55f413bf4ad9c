package calculatorsvc_test

import (
	"net/http"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/calculator/calculatorapi"
	"github.com/busline/busline/examples/calculator/calculatorsvc"
)

// TestThreeCalls makes the calls that the README shows.
func TestThreeCalls(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	if err := calculatorsvc.Serve(b.Connect(calculatorapi.Host)); err != nil {
		t.Fatal(err)
	}
	ctx, conn := t.Context(), b.Connect("caller.example")

	sum, err := calculatorapi.NewClient(conn).Add(ctx, 5, 6) // typed
	if err != nil || sum != 11 {
		t.Error(sum, err)
	}

	var out struct{ Sum int }
	err = conn.Call(ctx, "https://calculator.example/add", bus.Args{"x": 5, "y": 6}, &out) // without its package
	if err != nil || out.Sum != 11 {
		t.Error(out, err)
	}

	client := http.Client{Transport: conn} // by any HTTP client
	response, err := client.Get("https://calculator.example/add?x=5&y=6")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Error(response.Status)
	}
}

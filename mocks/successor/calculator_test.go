package successor_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/mock/gomock"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/calculator/calculatorapi"
	"github.com/busline/busline/mocks/successor"
)

// serve puts a mock on a bus, and returns it and a client that calls it.
func serve(t *testing.T, controller *gomock.Controller) (*successor.MockCalculator, calculatorapi.Calculator) {
	t.Helper()
	b, mock := bustest.New(t), successor.NewMockCalculator(controller)
	if err := bus.Serve[calculatorapi.Calculator](b.Connect(calculatorapi.Host), mock); err != nil {
		t.Fatal(err)
	}
	return mock, calculatorapi.NewClient(b.Connect("caller.example"))
}

func TestServed(t *testing.T) {
	t.Parallel()
	mock, calculator := serve(t, gomock.NewController(bustest.Reporter(t)))
	mock.EXPECT().Add(gomock.Any(), 5, 6).Return(11, nil)
	if sum, err := calculator.Add(t.Context(), 5, 6); err != nil || sum != 11 {
		t.Errorf("%d, %v; want 11", sum, err)
	}
}

// TestUnexpectedCall holds that the test fails at once, with the message of the mock, and that the caller gets an
// answer.
func TestUnexpectedCall(t *testing.T) {
	t.Parallel()
	failing := &recorder{TB: t}
	_, calculator := serve(t, gomock.NewController(bustest.Reporter(failing)))
	if _, err := calculator.Add(t.Context(), 5, 6); bus.StatusOf(err) != http.StatusInternalServerError {
		t.Errorf("got %v, want 500", err)
	}
	if text, _ := failing.text.Load().(string); !strings.Contains(text,
		"Unexpected call to *successor.MockCalculator.Add") {
		t.Errorf("the test was told %q", text)
	}
}

// recorder is a test that does not fail, but keeps the reason for which it should.
type recorder struct {
	testing.TB

	text atomic.Value // a string
}

func (r *recorder) Error(reason ...any) { r.text.Store(fmt.Sprint(reason...)) }

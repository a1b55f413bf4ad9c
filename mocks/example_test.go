package mocks_test

import (
	"io"
	"testing"

	"github.com/golang/mock/gomock"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/calculator/calculatorapi"
	"github.com/busline/busline/examples/checkout/checkoutapi"
	"github.com/busline/busline/examples/payroll/payrollapi"
	"github.com/busline/busline/examples/products/productapi"
	"github.com/busline/busline/examples/trouble/troubleapi"
	"github.com/busline/busline/mocks"
)

// addTwice is what is tested here: it only needs some calculator.
func addTwice(t *testing.T, calculator calculatorapi.Calculator) (sum int) {
	t.Helper()
	once, err := calculator.Add(t.Context(), 5, 6)
	require.NoError(t, err)
	twice, err := calculator.Add(t.Context(), once, 6)
	require.NoError(t, err)
	return twice
}

func expect(calculator *mocks.MockCalculator) {
	calculator.EXPECT().Add(gomock.Any(), 5, 6).Return(11, nil)
	calculator.EXPECT().Add(gomock.Any(), 11, 6).Return(17, nil)
}

// TestInPlace hands the mock over in place of a client.
func TestInPlace(t *testing.T) {
	t.Parallel()
	calculator := mocks.NewMockCalculator(gomock.NewController(t))
	expect(calculator)
	if sum := addTwice(t, calculator); sum != 17 {
		t.Errorf("the sum is %d, want 17", sum)
	}
}

// TestServed serves the mock and hands over a client.
func TestServed(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	calculator := mocks.NewMockCalculator(gomock.NewController(bustest.Reporter(t)))
	expect(calculator)
	require.NoError(t, bus.Serve[calculatorapi.Calculator](b.Connect(calculatorapi.Host), calculator))
	if sum := addTwice(t, calculatorapi.NewClient(b.Connect("caller.example"))); sum != 17 {
		t.Errorf("the sum is %d, want 17", sum)
	}
}

// TestNames holds that every mock can be served: a mock has no names for its results, so the interface has to have
// them.
func TestNames(t *testing.T) {
	t.Parallel()
	bustest.CheckNames[calculatorapi.Calculator](t, mocks.NewMockCalculator(nil))
	bustest.CheckNames[checkoutapi.Checkout](t, mocks.NewMockCheckout(nil))
	bustest.CheckNames[payrollapi.Payroll](t, mocks.NewMockPayroll(nil))
	bustest.CheckNames[productapi.Products](t, mocks.NewMockProducts(nil))
	bustest.CheckNames[troubleapi.Trouble](t, mocks.NewMockTrouble(nil))
}

// TestStream gives the mock's stream its type: gomock takes a plain function for none at all.
func TestStream(t *testing.T) {
	t.Parallel()
	trouble := mocks.NewMockTrouble(gomock.NewController(t))
	trouble.EXPECT().Count(gomock.Any(), 2, 0).Return(troubleapi.Numbers(func(yield func(int, error) bool) {
		_ = yield(1, nil) && yield(0, io.ErrUnexpectedEOF)
	}))
	var numbers []int
	for n, err := range trouble.Count(t.Context(), 2, 0) {
		if err != nil {
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			break
		}
		numbers = append(numbers, n)
	}
	require.Equal(t, []int{1}, numbers)
}

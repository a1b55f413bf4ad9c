package bustest_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/claims"
)

// Salaries returns the salary of the caller.
type Salaries map[string]int

// Salary is the code under test.
func (s Salaries) Salary(ctx context.Context, employee string) (amount int, err error) {
	said, _ := bus.ClaimsOf(ctx)
	if said["sub"] != employee {
		return 0, bus.Errorf(http.StatusForbidden, "only %s may see this", employee)
	}
	return s[employee], nil
}

// testSalary is func TestSalary(t *testing.T) of a test file. There is no bus: the method is called like any other.
func testSalary(t *testing.T) {
	issuer, salaries := bustest.NewIssuer(t), Salaries{"ada": 5200}
	ada := issuer.WithActor(t.Context(), claims.Claims{"sub": "ada"})
	if amount, err := salaries.Salary(ada, "ada"); err != nil || amount != 5200 {
		t.Errorf("got %d, %v", amount, err)
	}
	if _, err := salaries.Salary(t.Context(), "ada"); bus.StatusOf(err) != http.StatusForbidden {
		t.Errorf("without a token: %v", err)
	}
}

// A test of a method that asks who calls it.
func ExampleIssuer_WithActor() {
	var t *testing.T // go test hands one over
	testSalary(t)
}

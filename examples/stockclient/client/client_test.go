//go:build generated

package client_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/busline/busline/examples/stockclient/client"
	"github.com/busline/busline/examples/stockclient/internal/servicestest"
)

// start returns a client of the services, and what puts a token with every role on its requests.
func start(t *testing.T) (caller *client.ClientWithResponses, asHead client.RequestEditorFn) {
	t.Helper()
	server, token := servicestest.Open(t)
	caller, err := client.NewClientWithResponses(server.URL, client.WithHTTPClient(server.Client()))
	if err != nil {
		t.Fatal(err)
	}
	return caller, func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	}
}

func TestRPC(t *testing.T) {
	t.Parallel()
	caller, _ := start(t)
	sum, err := caller.CalculatorExample443AddWithResponse(t.Context(),
		client.CalculatorExample443AddIn{X: new(int64(5)), Y: new(int64(6))})
	if err != nil || sum.JSON200 == nil || sum.JSON200.Sum != 11 {
		t.Fatalf("%v, %s", err, sum.Body)
	}
	far, err := caller.CalculatorExample443DistanceWithResponse(t.Context(), client.CalculatorExample443DistanceIn{
		P1: &client.CalculatorExample443Point{X: new(3.0)}, P2: &client.CalculatorExample443Point{Y: new(4.0)},
	})
	if err != nil || far.JSON200 == nil || far.JSON200.D != 5 {
		t.Fatalf("%v, %s", err, far.Body)
	}
}

func TestREST(t *testing.T) {
	t.Parallel()
	caller, _ := start(t)
	tea := client.ProductsExample443Product{Name: "Tea", Price: new(4.5)}
	created, err := caller.ProductsExample443CreateWithResponse(t.Context(), tea)
	if err != nil || created.JSON201 == nil {
		t.Fatalf("%v, %s", err, created.Body)
	}
	id := created.JSON201.Id
	read, err := caller.ProductsExample443ReadWithResponse(t.Context(), id)
	if err != nil || read.JSON200 == nil || read.JSON200.Name != "Tea" || read.JSON200.Price != 4.5 {
		t.Fatalf("%v, %s", err, read.Body)
	}
	tea.Price = new(5.0)
	if updated, err := caller.ProductsExample443UpdateWithResponse(t.Context(), id, tea); err != nil ||
		updated.StatusCode() != 200 {
		t.Fatalf("%v, %s", err, updated.Body)
	}
	all, err := caller.ProductsExample443ListAllWithResponse(t.Context(),
		&client.ProductsExample443ListAllParams{SortBy: new("-price"), Limit: new(int64(10))})
	if err != nil || all.JSON200 == nil || len(*all.JSON200) != 1 || (*all.JSON200)[0].Price != 5 {
		t.Fatalf("%v, %s", err, all.Body)
	}
	if deleted, err := caller.ProductsExample443DeleteWithResponse(t.Context(), id); err != nil ||
		deleted.StatusCode() != 200 {
		t.Fatalf("%v, %s", err, deleted.Body)
	}
	gone, err := caller.ProductsExample443ReadWithResponse(t.Context(), id)
	if err != nil || gone.StatusCode() != 404 || gone.ApplicationproblemJSONDefault == nil ||
		gone.ApplicationproblemJSONDefault.Status != 404 {
		t.Fatalf("%v, %s", err, gone.Body)
	}
}

// TestError reads an error as what the document says it is, problem+json.
func TestError(t *testing.T) {
	t.Parallel()
	caller, _ := start(t)
	answer, err := caller.CalculatorExample443ArithmeticWithResponse(t.Context(),
		client.CalculatorExample443ArithmeticIn{X: new(int64(7)), Op: new("/")})
	if err != nil || answer.JSON200 != nil || answer.ApplicationproblemJSONDefault == nil {
		t.Fatalf("%v, %s", err, answer.Body)
	}
	problem := answer.ApplicationproblemJSONDefault
	if problem.Status != 400 || *problem.Detail != "7 cannot be divided by zero" || *problem.Host != "calculator.example" {
		t.Errorf("%s", answer.Body)
	}
}

// TestConstraints is refused with all that is wrong, in a form that a program can read.
func TestConstraints(t *testing.T) {
	t.Parallel()
	caller, _ := start(t)
	answer, err := caller.ProductsExample443CreateWithResponse(t.Context(), client.ProductsExample443Product{
		Name: " ", Price: new(-1.0), Tags: &[]string{"green", strings.Repeat("x", 201)},
	})
	if err != nil || answer.StatusCode() != 422 || answer.ApplicationproblemJSONDefault == nil {
		t.Fatalf("%v, %s", err, answer.Body)
	}
	var wrong []string
	for _, argument := range *answer.ApplicationproblemJSONDefault.Errors {
		wrong = append(wrong, argument.Name)
	}
	if want := []string{"name", "price", "tags[1]"}; !slices.Equal(wrong, want) {
		t.Errorf("wrong are %q, want %q", wrong, want)
	}
}

// TestClaims calls what asks for claims, without a token and with one.
func TestClaims(t *testing.T) {
	t.Parallel()
	caller, asHead := start(t)
	ada := client.PayrollExample443SalaryIn{Employee: new("ada")}
	refused, err := caller.PayrollExample443SalaryWithResponse(t.Context(), ada)
	if err != nil || refused.StatusCode() != 401 || refused.ApplicationproblemJSONDefault == nil {
		t.Fatalf("%v, %s", err, refused.Body)
	}
	salary, err := caller.PayrollExample443SalaryWithResponse(t.Context(), ada, asHead)
	if err != nil || salary.JSON200 == nil || salary.JSON200.Amount != 5200 {
		t.Fatalf("%v, %s", err, salary.Body)
	}
}

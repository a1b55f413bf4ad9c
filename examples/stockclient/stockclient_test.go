package stockclient_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/stockclient/generated"
	"github.com/busline/busline/examples/stockclient/internal/services"
	"github.com/busline/busline/portal/ingress"
)

// open puts the services on a bus and the ingress in front, and returns its address and a token of a client who may do
// everything.
func open(t *testing.T) (server *httptest.Server, token string) {
	t.Helper()
	identity, err := services.NewIdentity(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(identity.Close)
	b := bustest.New(t)
	connect := func(host string) (*bus.Conn, error) {
		return b.Connect(host, bus.WithVerifier(identity.Verifier)), nil
	}
	if err := services.Start(t.Context(), connect); err != nil {
		t.Fatal(err)
	}
	handler, err := ingress.New(b.Connect("ingress", bus.WithVerifier(identity.Verifier)))
	if err != nil {
		t.Fatal(err)
	}
	server = httptest.NewServer(handler)
	t.Cleanup(server.Close)
	if token, err = identity.Head(); err != nil {
		t.Fatal(err)
	}
	return server, token
}

// start returns a client of the services, and what puts a token with every role on its requests.
func start(t *testing.T) (client *generated.ClientWithResponses, asHead generated.RequestEditorFn) {
	t.Helper()
	server, token := open(t)
	client, err := generated.NewClientWithResponses(server.URL, generated.WithHTTPClient(server.Client()))
	if err != nil {
		t.Fatal(err)
	}
	return client, func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+token)
		return nil
	}
}

// documents returns what asks a service for its document, as a client who may do everything.
func documents(t *testing.T) func(host string) []byte {
	t.Helper()
	server, token := open(t)
	return func(host string) []byte {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/"+host+"/openapi.json", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		response, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%v, %s: %s", err, response.Status, body)
		}
		return body
	}
}

func TestRPC(t *testing.T) {
	t.Parallel()
	client, _ := start(t)
	sum, err := client.CalculatorExample443AddWithResponse(t.Context(), generated.CalculatorExample443AddIn{X: new(int64(5)), Y: new(int64(6))})
	if err != nil || sum.JSON200 == nil || sum.JSON200.Sum != 11 {
		t.Fatalf("%v, %s", err, sum.Body)
	}
	far, err := client.CalculatorExample443DistanceWithResponse(t.Context(), generated.CalculatorExample443DistanceIn{
		P1: &generated.CalculatorExample443Point{X: new(3.0)}, P2: &generated.CalculatorExample443Point{Y: new(4.0)},
	})
	if err != nil || far.JSON200 == nil || far.JSON200.D != 5 {
		t.Fatalf("%v, %s", err, far.Body)
	}
}

func TestREST(t *testing.T) {
	t.Parallel()
	client, _ := start(t)
	tea := generated.ProductsExample443Product{Name: "Tea", Price: new(4.5)}
	created, err := client.ProductsExample443CreateWithResponse(t.Context(), tea)
	if err != nil || created.JSON201 == nil {
		t.Fatalf("%v, %s", err, created.Body)
	}
	id := created.JSON201.Id
	read, err := client.ProductsExample443ReadWithResponse(t.Context(), id)
	if err != nil || read.JSON200 == nil || read.JSON200.Name != "Tea" || read.JSON200.Price != 4.5 {
		t.Fatalf("%v, %s", err, read.Body)
	}
	tea.Price = new(5.0)
	if updated, err := client.ProductsExample443UpdateWithResponse(t.Context(), id, tea); err != nil || updated.StatusCode() != 200 {
		t.Fatalf("%v, %s", err, updated.Body)
	}
	all, err := client.ProductsExample443ListAllWithResponse(t.Context(), &generated.ProductsExample443ListAllParams{SortBy: new("-price"), Limit: new(int64(10))})
	if err != nil || all.JSON200 == nil || len(*all.JSON200) != 1 || (*all.JSON200)[0].Price != 5 {
		t.Fatalf("%v, %s", err, all.Body)
	}
	if deleted, err := client.ProductsExample443DeleteWithResponse(t.Context(), id); err != nil || deleted.StatusCode() != 200 {
		t.Fatalf("%v, %s", err, deleted.Body)
	}
	gone, err := client.ProductsExample443ReadWithResponse(t.Context(), id)
	if err != nil || gone.StatusCode() != 404 || gone.ApplicationproblemJSONDefault == nil || gone.ApplicationproblemJSONDefault.Status != 404 {
		t.Fatalf("%v, %s", err, gone.Body)
	}
}

// TestError reads an error as what the document says it is, problem+json.
func TestError(t *testing.T) {
	t.Parallel()
	client, _ := start(t)
	answer, err := client.CalculatorExample443ArithmeticWithResponse(t.Context(), generated.CalculatorExample443ArithmeticIn{X: new(int64(7)), Op: new("/")})
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
	client, _ := start(t)
	answer, err := client.ProductsExample443CreateWithResponse(t.Context(), generated.ProductsExample443Product{
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
	client, asHead := start(t)
	ada := generated.PayrollExample443SalaryIn{Employee: new("ada")}
	refused, err := client.PayrollExample443SalaryWithResponse(t.Context(), ada)
	if err != nil || refused.StatusCode() != 401 || refused.ApplicationproblemJSONDefault == nil {
		t.Fatalf("%v, %s", err, refused.Body)
	}
	salary, err := client.PayrollExample443SalaryWithResponse(t.Context(), ada, asHead)
	if err != nil || salary.JSON200 == nil || salary.JSON200.Amount != 5200 {
		t.Fatalf("%v, %s", err, salary.Body)
	}
}

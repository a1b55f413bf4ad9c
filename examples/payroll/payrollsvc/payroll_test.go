package payrollsvc_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/examples/internal/exampletest"
	"github.com/busline/busline/examples/payroll/payrollapi"
	"github.com/busline/busline/examples/payroll/payrollsvc"
)

// office is a bus with a payroll on it, and with whom to ask for tokens.
type office struct {
	*bustest.Bus
	t      *testing.T
	issuer *bustest.Issuer
}

func open(t *testing.T) *office {
	t.Helper()
	issuer := bustest.NewIssuer(t)
	b := bustest.New(t)
	b.CheckShortCircuit()
	if err := payrollsvc.Serve(b.Connect(payrollapi.Host, issuer.Trust())); err != nil {
		t.Fatal(err)
	}
	return &office{b, t, issuer}
}

// as returns a context whose calls are made for a client with these claims.
func (o *office) as(said claims.Claims) context.Context {
	return o.issuer.WithActor(o.t.Context(), said)
}

func (o *office) head() context.Context {
	return o.as(claims.Claims{"roles": []string{"hr"}, "level": 3})
}

func TestExplore_ClaimsOfOperations(t *testing.T) {
	t.Parallel()
	o := open(t)
	payroll := payrollapi.NewClient(o.Connect("caller.example"))
	for name, test := range map[string]struct {
		ctx           context.Context
		salary, raise int
	}{
		"nobody":       {t.Context(), 401, 401},
		"a bad token":  {bus.WithActor(t.Context(), "x"), 401, 401},
		"a cook":       {o.as(claims.Claims{"roles": []string{"kitchen"}, "level": 9}), 403, 403},
		"a clerk":      {o.as(claims.Claims{"roles": []string{"hr", "it"}, "level": 2}), 200, 403},
		"no level":     {o.as(claims.Claims{"roles": []string{"hr"}}), 200, 403},
		"the head":     {o.head(), 200, 200},
		"not quite hr": {o.as(claims.Claims{"roles": "hr", "level": 3}), 403, 403},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := payroll.Salary(test.ctx, "ada"); bus.StatusOf(err) != test.salary {
				t.Errorf("%s, salary: %v, want %d", name, err, test.salary)
			}
			if _, err := payroll.Raise(test.ctx, "ada", 0); bus.StatusOf(err) != test.raise {
				t.Errorf("%s, raise: %v, want %d", name, err, test.raise)
			}
			want := map[bool]int{false: 200, true: 401}[name == "a bad token"]
			if count, err := payroll.Headcount(test.ctx); bus.StatusOf(err) != want || err == nil && count != 2 {
				t.Errorf("%s, headcount: %d, %v, want %d", name, count, err, want)
			}
		})
	}
}

func TestPayroll(t *testing.T) {
	t.Parallel()
	o := open(t)
	payroll := payrollapi.NewClient(o.Connect("caller.example"))
	for employee, want := range map[string]int{"ada": 5200, "grace": 6100} {
		if amount, err := payroll.Salary(o.head(), employee); err != nil || amount != want {
			t.Errorf("%s: %d, %v", employee, amount, err)
		}
	}
	for _, want := range []int{5408, 5624} {
		if amount, err := payroll.Raise(o.head(), "ada", 4); err != nil || amount != want {
			t.Errorf("%d, %v, want %d", amount, err, want)
		}
	}
	if amount, err := payroll.Salary(o.head(), "ada"); err != nil || amount != 5624 {
		t.Errorf("%d, %v", amount, err)
	}
	for employee, percent := range map[string]int{"ada": -1, "grace": 101} {
		if _, err := payroll.Raise(o.head(), employee, percent); bus.StatusOf(err) != 400 {
			t.Errorf("%d percent: %v", percent, err)
		}
	}
	for _, employee := range []string{"", "eve"} {
		_, err := payroll.Salary(o.head(), employee)
		failed, ok := errors.AsType[*bus.Error](err)
		if !ok || failed.Status != 404 || !strings.HasPrefix(failed.Detail, "nobody called ") {
			t.Errorf("%q: %v", employee, err)
		}
		if _, err := payroll.Raise(o.head(), employee, 4); bus.StatusOf(err) != 404 {
			t.Errorf("%q: %v", employee, err)
		}
	}
}

// TestDocument reads the document as every caller sees it, and what answers has to fit.
func TestDocument(t *testing.T) {
	t.Parallel()
	o := open(t)
	payroll := exampletest.Open(t, o.Connect("caller.example"), "https://"+payrollapi.Host)
	payroll.Check("POST /headcount", `{}`, 200, `{"count":2}`)
	_, document := payroll.Send("GET", "/openapi.json", "")
	for _, hidden := range []string{"alary", "aise", "percent", "bearer"} {
		if strings.Contains(document, hidden) {
			t.Errorf("every client reads %q in %s", hidden, document)
		}
	}
}

// by is the way of a client's calls.
type by struct {
	conn  *bus.Conn
	token string
}

func (b by) RoundTrip(r *http.Request) (*http.Response, error) {
	return b.conn.RoundTrip(r.WithContext(bus.WithActor(r.Context(), b.token)))
}

// TestDocument_OfTheHead reads it as a client sees it who may do everything.
func TestDocument_OfTheHead(t *testing.T) {
	t.Parallel()
	o := open(t)
	payroll := exampletest.Open(t, by{o.Connect("caller.example"), bus.ActorOf(o.head())}, "https://"+payrollapi.Host)
	payroll.Check("POST /headcount", `{}`, 200, `{"count":2}`)
	payroll.Check("POST /salary", `{"employee":"ada"}`, 200, `{"amount":5200}`)
	payroll.Check("POST /salary", `{"employee":"eve"}`, 404, `nobody called "eve"`)
	payroll.Check("POST /raise", `{"employee":"ada","percent":4}`, 200, `{"amount":5408}`)
	payroll.Check("POST /raise", `{"employee":"ada","percent":400}`, 400, "choose from 0 to 100")
	payroll.Check("POST /raise", `{"employee":"ada","percent":"much"}`, 400, "percent")
}

func TestNames(t *testing.T) {
	t.Parallel()
	bustest.CheckNames[payrollapi.Payroll](t, payrollsvc.New())
}

func TestAPI(t *testing.T) {
	t.Parallel()
	conn := bustest.New(t).Connect(payrollapi.Host)
	if err := payrollsvc.Serve(conn); err != nil {
		t.Fatal(err)
	}
	bustest.LockConn(t, "testdata/payroll.api.json", conn)
}

package payrollsvc_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/claims/claimstest"
	"github.com/busline/busline/examples/internal/exampletest"
	"github.com/busline/busline/examples/payroll/payrollapi"
	"github.com/busline/busline/examples/payroll/payrollsvc"
)

// office is a payroll on a bus, and who signs tokens for it.
type office struct {
	*bustest.Bus
	t   *testing.T
	key *claimstest.Key
}

func open(t *testing.T) *office {
	t.Helper()
	key, err := claimstest.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	keys := filepath.Join(t.TempDir(), "keys.json")
	if err := claimstest.WriteKeySet(keys, key); err != nil {
		t.Fatal(err)
	}
	verifier, err := claims.Open(t.Context(), claims.Config{KeySet: keys})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(verifier.Close)
	o := &office{bustest.New(t), t, key}
	if err := payrollsvc.Serve(o.Connect(payrollapi.Host, bus.WithVerifier(verifier))); err != nil {
		t.Fatal(err)
	}
	return o
}

// token returns one with these roles and this level.
func (o *office) token(level any, roles ...string) string {
	o.t.Helper()
	token, err := o.key.Sign(claims.Claims{"roles": roles, "level": level, "exp": time.Now().Add(time.Hour).Unix()})
	if err != nil {
		o.t.Fatal(err)
	}
	return token
}

func TestPayroll(t *testing.T) {
	t.Parallel()
	o := open(t)
	payroll := payrollapi.NewClient(o.Connect("caller.example"))
	for name, test := range map[string]struct {
		token         string
		salary, raise int // status
	}{
		"nobody":        {"", 401, 401},
		"a bad token":   {"a.b.c", 401, 401},
		"no role":       {o.token(5), 403, 403},
		"another role":  {o.token(5, "hrm"), 403, 403},
		"hr":            {o.token(2, "hr"), 200, 403},
		"a text level":  {o.token("9", "hr"), 200, 403},
		"hr of level 3": {o.token(3, "it", "hr"), 200, 200},
	} {
		ctx := bus.ActAs(t.Context(), test.token)
		amount, err := payroll.Salary(ctx, "grace")
		if bus.StatusOf(err) != test.salary || err == nil && amount < 6100 {
			t.Errorf("%s: Salary: %d, %v; want %d", name, amount, err, test.salary)
		}
		if _, err := payroll.Raise(ctx, "grace", 0); bus.StatusOf(err) != test.raise {
			t.Errorf("%s: Raise: %v; want %d", name, err, test.raise)
		}
	}
	ctx := bus.ActAs(t.Context(), o.token(3, "hr"))
	if amount, err := payroll.Raise(ctx, "ada", 10); err != nil || amount != 5720 {
		t.Errorf("Raise: %d, %v", amount, err)
	}
	if amount, err := payroll.Salary(ctx, "ada"); err != nil || amount != 5720 {
		t.Errorf("Salary after it: %d, %v", amount, err)
	}
	if count, err := payroll.Headcount(t.Context()); err != nil || count != 2 {
		t.Errorf("Headcount: %d, %v", count, err)
	}
	if _, err := payroll.Salary(ctx, "alan"); bus.StatusOf(err) != 404 {
		t.Errorf("a stranger: %v", err)
	}
	if _, err := payroll.Raise(ctx, "ada", 101); bus.StatusOf(err) != 400 {
		t.Errorf("too much: %v", err)
	}
	if _, err := payroll.Salary(t.Context(), "ada"); !isUnauthorized(err) {
		t.Errorf("without a token: %v", err)
	}
}

func isUnauthorized(err error) bool {
	failed, ok := errors.AsType[*bus.Error](err)
	return ok && failed.Status == 401 && failed.Executed == bus.NotExecuted
}

// TestDocument has nobody learn of what only some may call.
func TestDocument(t *testing.T) {
	t.Parallel()
	o := open(t)
	payroll := exampletest.Open(t, o.Connect("caller.example"), "https://"+payrollapi.Host)
	_, document := payroll.Send("GET", "/openapi.json", "")
	for _, hidden := range []string{"salary", "Salary", "raise", "percent", "bearer"} {
		if strings.Contains(strings.ReplaceAll(document, "what people earn", ""), hidden) {
			t.Errorf("%s is told to everybody: %s", hidden, document)
		}
	}
	payroll.Check("POST /headcount", "{}", 200, `{"count":2}`)
}

func TestNames(t *testing.T) {
	t.Parallel()
	bustest.CheckNames[payrollapi.Payroll](t, payrollsvc.New())
}

package cli_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/cmd/busline/internal/cli"
	"github.com/busline/busline/examples/calculator/calculatorsvc"
)

func TestPermissions(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	all := e.busline(0, "permissions").stdout
	for _, want := range []string{`"` + e.bus.Plane() + `.443.>" `, `"` + e.bus.Plane() + `.888.>" `, `"` + e.bus.Plane() + `.r.busline-cli.*" `} {
		if !strings.Contains(all, want) {
			t.Errorf("the permissions do not have %s:\n%s", want, all)
		}
	}
	one := e.busline(0, "permissions", "products.example").stdout
	if strings.Contains(one, ".443.>") || !strings.Contains(one, ".443.example.products.|.>") || !strings.Contains(one, ".888.all.|.GET.ping") {
		t.Errorf("the permissions to call one host are\n%s", one)
	}
	if got := e.busline(0, "permissions", "--json").stdout; !strings.HasPrefix(got, `{"pub":{"allow":[`) {
		t.Errorf("as JSON: %s", got)
	}
}

// TestPermitted has a broker enforce what the command says that it needs.
func TestPermitted(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	strict, err := broker.Start(broker.Listen("127.0.0.1:0"), broker.Config(fmt.Sprintf(
		"authorization { users: [ { user: operator, password: secret }, { user: cli, password: secret\n%s}, { user: narrow, password: secret\n%s}, { user: one, password: secret\n%s} ] }",
		e.busline(0, "permissions").stdout, e.busline(0, "permissions", "products.example").stdout, e.busline(0, "permissions", "calculator.example").stdout)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(strict.Close)
	as := func(user string) string { return strings.Replace(strict.URL(), "://", "://"+user+":secret@", 1) }
	options := []bus.ConnectOption{bus.WithPlane(e.bus.Plane()), bus.WithLogger(zerolog.Nop()), bus.WithAckWait(10 * time.Second)}
	conn, err := bus.Connect(t.Context(), "calculator.example", append(options, bus.WithURL(as("operator")))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	if err := calculatorsvc.Serve(conn); err != nil {
		t.Fatal(err)
	}
	run := func(user string, arguments ...string) result {
		there := func(environment *cli.Environment) { environment.Connect = options }
		return e.run(t.Context(), there, append([]string{"--url", as(user)}, arguments...)...)
	}
	for _, arguments := range [][]string{{"ls"}, {"describe", "calculator.example"}, {"docs"}, {"call", "calculator.example/add", "x=1"}, {"call", "--instance", conn.ID(), "calculator.example/add"}} {
		if got := run("cli", arguments...); got.status != 0 || got.stderr != "" {
			t.Errorf("busline %v: %+v", arguments, got)
		}
	}
	for _, arguments := range [][]string{{"ls"}, {"describe", "calculator.example"}, {"docs", "calculator.example"}, {"call", "--instance", conn.ID(), "calculator.example/add"}} {
		if got := run("one", arguments...); got.stderr != "" {
			t.Errorf("busline %v of one host: %+v", arguments, got)
		}
	}
	if got := run("narrow", "call", "calculator.example/add"); got.status != 1 || !strings.Contains(got.stderr, `403 Forbidden: the broker does not let user "narrow" publish to `) {
		t.Errorf("who may not call: %+v", got)
	}
	if got := run("nobody", "ls", "--timeout", "1s"); got.status != 5 || !strings.Contains(got.stderr, "Authorization Violation") || strings.Contains(got.stderr, "secret") {
		t.Errorf("who is not let in: %+v", got)
	}
}

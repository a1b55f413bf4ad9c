package cli_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/cmd/busline/internal/cli"
	"github.com/busline/busline/examples/calculator/calculatorsvc"
	"github.com/busline/busline/examples/payroll/payrollsvc"
	"github.com/busline/busline/examples/products/productsvc"
	"github.com/busline/busline/examples/trouble/troublesvc"
	"github.com/busline/busline/msgsvc"
	"github.com/busline/busline/portal"
)

var update = flag.Bool("update", false, "write golden files, and the sessions in docs/command.md")

// terminal is a bus on which to run the command.
type terminal struct {
	t   *testing.T
	bus *bustest.Bus
	env map[string]string
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	return &terminal{t, bustest.New(t), make(map[string]string)}
}

// result is the result of a command line.
type result struct {
	status         int
	stdout, stderr string
}

// environment returns an environment whose output goes to buffers.
func (e *terminal) environment(stdout, stderr *bytes.Buffer) cli.Environment {
	return cli.Environment{
		Stdin: strings.NewReader(""), Stdout: stdout, Stderr: stderr,
		Getenv:  func(name string) string { return e.env[name] },
		Connect: e.bus.Options(),
	}
}

// run runs a command line; change may modify its environment.
func (e *terminal) run(ctx context.Context, change func(*cli.Environment), arguments ...string) result {
	var stdout, stderr bytes.Buffer
	environment := e.environment(&stdout, &stderr)
	if change != nil {
		change(&environment)
	}
	status := cli.Run(ctx, environment, arguments)
	return result{status, stdout.String(), stderr.String()}
}

// busline runs a command line, and fails the test unless it ends with the given status.
func (e *terminal) busline(status int, arguments ...string) result {
	e.t.Helper()
	got := e.run(e.t.Context(), nil, arguments...)
	if got.status != status {
		e.t.Errorf("busline %s: exit status %d, want %d\n%s%s", strings.Join(arguments, " "), got.status, status, got.stdout, got.stderr)
	}
	return got
}

// says runs a command line, and fails the test unless it succeeds and prints exactly this.
func (e *terminal) says(want string, arguments ...string) {
	e.t.Helper()
	if got := e.busline(0, arguments...); got.stdout != want || got.stderr != "" {
		e.t.Errorf("busline %s prints\n%s%s\nwant\n%s", strings.Join(arguments, " "), got.stdout, got.stderr, want)
	}
}

// refuses runs a command line, and fails the test unless it fails with exactly this on standard error.
func (e *terminal) refuses(status int, want string, arguments ...string) {
	e.t.Helper()
	got := e.busline(status, arguments...)
	if !strings.Contains(got.stderr, want) || got.stdout != "" {
		e.t.Errorf("busline %s says\n%s%s\nwant\n%s", strings.Join(arguments, " "), got.stdout, got.stderr, want)
	}
}

// serve connects a host and serves something on it.
func (e *terminal) serve(host string, serve func(*bus.Conn) error, options ...bus.ConnectOption) *bus.Conn {
	e.t.Helper()
	conn := e.bus.Connect(host, append([]bus.ConnectOption{bus.WithVersion("1")}, options...)...)
	if err := serve(conn); err != nil {
		e.t.Fatal(err)
	}
	return conn
}

func (e *terminal) serveCalculator() *bus.Conn {
	return e.serve("calculator.example", calculatorsvc.Serve)
}

func (e *terminal) serveTrouble() *bus.Conn { return e.serve("trouble.example", troublesvc.Serve) }

func (e *terminal) serveProducts() *bus.Conn {
	return e.serve("products.example", func(conn *bus.Conn) error {
		store, err := productsvc.OpenStore(e.t.Context(), conn)
		if err != nil {
			return err
		}
		return productsvc.Serve(conn, store)
	})
}

func (e *terminal) servePortal() *bus.Conn {
	return e.serve("portal", func(conn *bus.Conn) error { return portal.Register(conn) })
}

func (e *terminal) serveMessaging() *bus.Conn {
	return e.serve("messaging.example", func(conn *bus.Conn) error {
		service, err := msgsvc.New(e.t.Context(), conn)
		if err == nil {
			e.t.Cleanup(func() { _ = service.Close(context.Background()) })
		}
		return err
	})
}

// servePayroll serves a payroll that trusts the key set in a directory, where busline token creates it.
func (e *terminal) servePayroll() (conn *bus.Conn, keys string) {
	e.t.Helper()
	keys = e.t.TempDir()
	e.token(keys, "{}")
	verifier, err := claims.Open(e.t.Context(), claims.Config{KeySet: filepath.Join(keys, "dev.jwks")})
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(verifier.Close)
	return e.serve("payroll.example", payrollsvc.Serve, bus.WithVerifier(verifier)), keys
}

// token returns a token signed with the key in a directory.
func (e *terminal) token(keys, said string) string {
	e.t.Helper()
	made := e.busline(0, "token", "--claims", said, "--key", filepath.Join(keys, "dev.key"), "--jwks", filepath.Join(keys, "dev.jwks"))
	return strings.TrimSpace(made.stdout)
}

// golden compares a text with a file, or writes that with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is\n%s\nwant\n%s\ngo test -update writes it anew", path, got, want)
	}
}

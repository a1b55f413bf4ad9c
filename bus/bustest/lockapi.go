package bustest

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/restmap/openapi"
	"github.com/busline/busline/restmap/openapi/compare"
)

// LockAPI compares the API of a service with a committed file, by convention testdata/<name>.api.json. A change that
// would break callers fails the test, with a sentence that says what breaks for whom: an operation that is gone, an
// argument that is now required, a type that accepts less, a result that is gone, a stricter constraint, other claims,
// another path, an HTTP method less. A mere addition to the API passes, and is logged.
//
//	func TestAPI(t *testing.T) {
//		bustest.LockAPI[calculatorapi.Calculator](t, "testdata/calculator.api.json", calculatorsvc.Calculator{})
//	}
//
// It takes what [bus.Serve] takes, and needs no bus. The file is the document of [bus.DocumentOf], of all ports and with
// the claims. What is not in it is not locked: hidden endpoints, and what [bus.NoQueue], [bus.BodyLimit],
// [bus.TimeBudget] and [bus.Intercept] change. It is written with BUSLINE_UPDATE=1 in the environment, and with go test
// -update if the test binary has such a flag.
func LockAPI[T any](t testing.TB, path string, impl T, options ...bus.ServeOption) {
	t.Helper()
	document, err := bus.DocumentOf("service", impl, options...)
	if err != nil {
		t.Errorf("bustest: %v", err)
		return
	}
	LockDocument(t, path, document)
}

// LockConn is [LockAPI] for everything that a connection serves at the moment, with the options that it was really
// given, and with plain handlers.
func LockConn(t testing.TB, path string, conn *bus.Conn) {
	t.Helper()
	document, err := conn.Document()
	if err != nil {
		t.Errorf("bustest: %v", err)
		return
	}
	LockDocument(t, path, document)
}

// LockDocument is [LockAPI] for an OpenAPI document, of a service or of the portal, that the test already has.
func LockDocument(t testing.TB, path string, document []byte) {
	t.Helper()
	now, err := openapi.ParseOwn(document)
	if err != nil {
		t.Errorf("bustest: %v", err)
		return
	}
	now.Servers = nil // the address is not part of the API
	text, err := lockText(now)
	if err != nil {
		t.Errorf("bustest: %v", err)
		return
	}
	if updates() {
		if err := writeLock(path, text); err != nil {
			t.Errorf("bustest: %v", err)
		}
		return
	}
	locked, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.Errorf("bustest: the lock %s does not exist yet; %s, and commit it", path, refresh(t))
	case err != nil:
		t.Errorf("bustest: %v", err)
	case !bytes.Equal(locked, text):
		compareLock(t, path, locked, now)
	}
}

// compareLock returns what has changed since a lock was written.
func compareLock(t testing.TB, path string, locked []byte, now *openapi.Document) {
	t.Helper()
	before, err := openapi.ParseOwn(locked)
	if err != nil {
		t.Errorf("bustest: %s is not a lock file: %v; %s", path, err, refresh(t))
		return
	}
	var breaking, added []string
	for _, change := range compare.Documents(before, now) {
		if change.Breaks {
			breaking = append(breaking, change.Text)
		} else {
			added = append(added, change.Text)
		}
	}
	if len(breaking) > 0 {
		t.Errorf("bustest: the API breaks callers of the version in %s:\n  %s\nfix it, or, if no caller is affected, %s",
			path, strings.Join(breaking, "\n  "), refresh(t))
		return
	}
	if len(added) == 0 {
		added = []string{"only descriptions, names or examples have changed, or requirements were removed"}
	}
	t.Logf("bustest: %s is older than the API, but no caller breaks:\n  %s\n%s, and commit it", path, strings.Join(added, "\n  "), refresh(t))
}

// refresh says how to rewrite a lock.
func refresh(t testing.TB) string {
	t.Helper()
	how := "run BUSLINE_UPDATE=1 go test -run '^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$'"
	if flag.Lookup("update") != nil {
		how += ", or go test -update,"
	}
	return how + " to write it"
}

// updates says whether locks are to be written. The flag belongs to the test binary, if it has one.
func updates() bool {
	if os.Getenv("BUSLINE_UPDATE") == "1" {
		return true
	}
	found := flag.Lookup("update")
	return found != nil && found.Value.String() == "true"
}

// lockText formats a document for a lock: one member per line, and the same text for the same API.
func lockText(document *openapi.Document) ([]byte, error) {
	data, err := document.JSON()
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := json.Indent(&text, data, "", "  "); err != nil {
		return nil, err
	}
	text.WriteByte('\n')
	return text.Bytes(), nil
}

func writeLock(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

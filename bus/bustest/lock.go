package bustest

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/busline/busline/restmap/openapi"
	"github.com/busline/busline/restmap/openapi/compare"
)

// lock is a committed document, and the rules by which changes of it break callers or subscribers.
type lock struct {
	path    string
	breaks  string // "API breaks"
	who     string // "caller"
	changes func(before, after *openapi.Document) []compare.Change
}

// check compares a document with the lock, or writes it.
func (l lock) check(t testing.TB, document []byte) {
	t.Helper()
	now, err := openapi.ParseWithExtensions(document)
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
		if err := writeLock(l.path, text); err != nil {
			t.Errorf("bustest: %v", err)
		}
		return
	}
	locked, err := os.ReadFile(l.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.Errorf("bustest: the lock %s does not exist yet; %s, and commit it", l.path, refresh(t))
	case err != nil:
		t.Errorf("bustest: %v", err)
	case !bytes.Equal(locked, text):
		l.compare(t, locked, now)
	}
}

// compare reports the changes since the lock was written.
func (l lock) compare(t testing.TB, locked []byte, now *openapi.Document) {
	t.Helper()
	before, err := openapi.ParseWithExtensions(locked)
	if err != nil {
		t.Errorf("bustest: %s is not a lock file: %v; %s", l.path, err, refresh(t))
		return
	}
	var breaking, added []string
	for _, change := range l.changes(before, now) {
		if change.Breaks {
			breaking = append(breaking, change.Text)
		} else {
			added = append(added, change.Text)
		}
	}
	if len(breaking) > 0 {
		t.Errorf("bustest: the %s %ss of the version in %s:\n  %s\nfix it, or, if no %s is affected, %s",
			l.breaks, l.who, l.path, strings.Join(breaking, "\n  "), l.who, refresh(t))
		return
	}
	if len(added) == 0 {
		added = []string{"only descriptions, names or examples have changed, or requirements were removed"}
	}
	t.Logf("bustest: %s is older than the code, but no %s breaks:\n  %s\n%s, and commit it", l.path, l.who,
		strings.Join(added, "\n  "), refresh(t))
}

// refresh returns the instruction for rewriting a lock.
func refresh(t testing.TB) string {
	t.Helper()
	how := "run BUSLINE_UPDATE=1 go test -run '^" + strings.ReplaceAll(regexp.QuoteMeta(t.Name()), "/", "$/^") + "$'"
	if flag.Lookup("update") != nil {
		how += ", or go test -update,"
	}
	return how + " to write it"
}

// updates reports whether locks are to be written. A test binary may define the flag -update.
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

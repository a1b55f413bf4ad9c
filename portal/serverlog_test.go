package portal_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"github.com/busline/busline/portal"
)

// writtenLines are what a logger has written.
type writtenLines struct {
	mu   sync.Mutex // protects text
	text bytes.Buffer
}

func (l *writtenLines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *writtenLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestFaultsAreLogged has a handler panic, which net/http reports.
func TestFaultsAreLogged(t *testing.T) {
	t.Parallel()
	var toZerolog, toSlog, unused writtenLines
	for _, test := range []struct {
		options []portal.ServerOption
		written *writtenLines
		want    []string
	}{
		{[]portal.ServerOption{portal.WithLogger(zerolog.New(&toZerolog))}, &toZerolog, []string{`{"message":"http: panic serving`, "not again"}},
		{
			[]portal.ServerOption{portal.WithLogger(zerolog.New(&unused)), portal.WithSlog(slog.New(slog.NewTextHandler(&toSlog, nil)))}, &toSlog,
			[]string{"level=ERROR", `msg="http: panic serving`, "not again"},
		},
	} {
		server, stop := listen(t, func(http.ResponseWriter, *http.Request) { panic("not again") }, test.options...)
		if text, err := fetch(t, server.BaseURL()+"/"); err == nil {
			t.Errorf("got %q", text)
		}
		if err := stop(); err != nil { // when it has returned, it has been logged
			t.Error(err)
		}
		for _, want := range test.want {
			if got := test.written.String(); !strings.Contains(got, want) {
				t.Errorf("got %q, want %s", got, want)
			}
		}
	}
	if got := unused.String(); got != "" {
		t.Errorf("%q went to the logger that was replaced", got)
	}
}

package bus_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
)

// store was a struct of a program before it was a service.
type store struct{}

func (*store) Load(key string) (value string)                 { return key }
func (*store) Close() error                                   { return nil }
func (*store) Shutdown(context.Context) error                 { return nil }
func (*store) String() string                                 { return "store" }
func (*store) ServeHTTP(http.ResponseWriter, *http.Request)   {}
func (*store) MarshalText() (text []byte, err error)          { return nil, nil }
func (*store) Error(ctx context.Context, of int) (err string) { return "" }

// shelfAPI is what callers are offered.
type shelfAPI interface {
	Load(key string) (value string)
	Close() error
}

// TestServe_WarnsOfWhatIsNotMeant serves methods that are a program's own business.
func TestServe_WarnsOfWhatIsNotMeant(t *testing.T) {
	t.Parallel()
	all := []string{"Close", "MarshalText", "ServeHTTP", "Shutdown", "String"}
	b := bustest.New(t)
	for name, test := range map[string]struct {
		serve func(*bus.Conn) error
		want  []string
	}{
		"a struct": {func(c *bus.Conn) error { return bus.Serve(c, new(store)) }, all},
		"some of its methods": {func(c *bus.Conn) error {
			return bus.Serve(c, new(store), bus.ExcludeMethods("Close", "String", "MarshalText"), bus.Method("Shutdown"), bus.Method("ServeHTTP", bus.Port(444)))
		}, nil},
		"an interface": {func(c *bus.Conn) error { return bus.Serve[shelfAPI](c, new(store)) }, nil},
	} {
		logged := new(lines)
		if err := test.serve(b.Connect("store.example", bus.WithLogger(zerolog.New(logged).Level(zerolog.WarnLevel)))); err != nil {
			t.Fatal(err)
		}
		for _, method := range test.want {
			line := fmt.Sprintf("method %s is served to callers: leave it out with bus.ExcludeMethods(", method)
			if logged.count(line) != 1 {
				t.Errorf("%s: no warning of %s in %s", name, method, logged)
			}
		}
		if lines := logged.count("\n"); lines != len(test.want) {
			t.Errorf("%s: %d warnings, want %d: %s", name, lines, len(test.want), logged)
		}
	}
}

// TestServe_RefusesHandlers serves what Conn.Handle is for.
func TestServe_RefusesHandlers(t *testing.T) {
	t.Parallel()
	conn := bustest.New(t).Connect("web.example")
	for _, err := range []error{bus.Serve(conn, http.NotFoundHandler()), bus.Serve(conn, http.NewServeMux())} {
		if err == nil || !strings.HasSuffix(err.Error(), " on web.example: an http.Handler is no service, and would be at /serve-http alone: use Conn.Handle") {
			t.Error(err)
		}
	}
}

// draft has a tag that nothing reads.
type draft struct {
	Text string `json:"text" jsonSchema:"minLength=1"`
}

type drafts struct{}

func (drafts) Write(of draft) error                      { return nil }
func (drafts) OnWrite(_ context.Context, of draft) error { return nil }

// TestWarningsOfTags logs them on both sides.
func TestWarningsOfTags(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	for name, try := range map[string]func(*bus.Conn) error{
		"Serve": func(c *bus.Conn) error { return bus.Serve(c, drafts{}) },
		"Subscribe": func(c *bus.Conn) error {
			return bus.Subscribe(c, "source.example", drafts{}, bus.ExcludeMethods("Write"))
		},
	} {
		logged := new(lines)
		if err := try(b.Connect("drafts.example", bus.WithLogger(zerolog.New(logged).Level(zerolog.WarnLevel)))); err != nil {
			t.Fatal(err)
		}
		if logged.count("field bus_test.draft.Text: the tag jsonSchema is ignored: write jsonschema") != 1 || logged.count("\n") != 1 {
			t.Errorf("%s: %s", name, logged)
		}
	}
}

// TestHandleWarnsOfWhatIsNotMeant serves an application under a path that is not all that it serves.
func TestHandleWarnsOfWhatIsNotMeant(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	for _, test := range []struct {
		method, path string
		handler      http.Handler
		warns        bool
	}{
		{"*", "/old/", http.NotFoundHandler(), true},
		{"", "/", http.NotFoundHandler(), true},
		{"GET", "/old/", http.NewServeMux(), true},
		{"GET", "/", http.NotFoundHandler(), false},
		{"*", "/old/{path+}", http.NewServeMux(), false},
	} {
		logged := new(lines)
		conn := b.Connect("old.example", bus.WithLogger(zerolog.New(logged).Level(zerolog.WarnLevel)))
		if err := conn.Handle(test.method, test.path, test.handler); err != nil {
			t.Fatal(err)
		}
		want := "only " + test.path + " itself is served, and nothing below it: write " + test.path + "{path+} for that"
		if warns := logged.count(want) == 1; warns != test.warns || !warns && logged.String() != "" {
			t.Errorf("%s %s: %s", test.method, test.path, logged)
		}
	}
}

package main_test

import (
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// TestGlobals holds that Busline leaves alone what a process has but once.
func TestGlobals(t *testing.T) {
	t.Parallel()
	logger, writer, transport, level := slog.Default(), log.Writer(), http.DefaultTransport, zerolog.GlobalLevel()
	l := open(t)
	l.calculate()
	l.get("/bus/calculator.example/add?x=5&y=6")
	if slog.Default() != logger || log.Writer() != writer || zerolog.GlobalLevel() != level {
		t.Error("a logger of the process is another one")
	}
	if http.DefaultTransport != transport || http.DefaultClient.Transport != nil {
		t.Error("the HTTP client of the process is another one")
	}
	for _, path := range []string{"/", "/bus/", "/portal/"} {
		if _, pattern := http.DefaultServeMux.Handler(httptest.NewRequest(http.MethodGet, path, http.NoBody)); pattern != "" {
			t.Errorf("the mux of the process serves %s", pattern)
		}
	}
}

// TestImports holds that what an app imports cannot parse flags, puts nothing on the mux of the process, and catches no
// signal but in bus.Run, which an app with a main of its own does not call. (The broker of this example, nats-server,
// does: expvar and pprof. It is for tests, and not for an app that serves that mux.)
func TestImports(t *testing.T) {
	t.Parallel()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "../../bus", "../../portal", "../../portal/ingress")
	output, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(output))
	for _, meddling := range []string{"flag", "expvar", "net/http/pprof"} {
		if slices.Contains(packages, meddling) {
			t.Errorf("an app with Busline has %s", meddling)
		}
	}
	catching, err := exec.CommandContext(t.Context(), "grep", "-rl", "--include=*.go", "--exclude=*_test.go",
		`"os/signal"`, "../../bus", "../../portal").Output()
	if err != nil {
		t.Fatal(err)
	}
	for file := range strings.FieldsSeq(string(catching)) {
		if file != "../../bus/run.go" && file != "../../bus/bustest/bubble.go" &&
			!strings.HasPrefix(file, "../../bus/cmd/") && !strings.HasPrefix(file, "../../portal/browsertest/") {
			t.Errorf("%s catches signals", file)
		}
	}
	if !slices.Contains(packages, "github.com/nats-io/nats.go") {
		t.Errorf("this is no list of what is imported: %s", output)
	}
}

// TestLogger has Busline say something, which comes out of the app's logger, beside the app's own lines.
func TestLogger(t *testing.T) {
	t.Parallel()
	l := open(t)
	if err := l.NATS().Publish("bus.443.example.library.|.GET.book", []byte("not HTTP")); err != nil {
		t.Fatal(err)
	}
	line := l.log.await(t, "message dropped")
	for _, part := range []string{"level=WARN", "host=library.example", "id=",
		"subject=bus.443.example.library.|.GET.book", "error="} {
		if !strings.Contains(line, part) {
			t.Errorf("no %q in %s", part, line)
		}
	}
}

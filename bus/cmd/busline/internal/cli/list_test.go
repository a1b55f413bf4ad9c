package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/cmd/busline/internal/cli"
	"github.com/busline/busline/examples/calculator/calculatorsvc"
)

func TestList(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.refuses(3, "busline ls: no instance is on plane "+e.bus.Plane(), "ls")
	if got := e.busline(3, "ls", "--json"); got.stdout != "[]\n" {
		t.Errorf("an empty list as JSON: %s", got.stdout)
	}
	calculator := e.serveCalculator()
	messaging := e.serveMessaging()
	caller := e.bus.Connect("caller.example")
	e.says(fmt.Sprintf(`HOST                INSTANCE    VERSION  PORTS
calculator.example  %s  1        443
caller.example      %s  -        -
messaging.example   %s  1        443 444
`, calculator.ID(), caller.ID(), messaging.ID()), "ls")
	e.says(fmt.Sprintf("HOST                INSTANCE    VERSION  PORTS\ncalculator.example  %s  1        443\n",
		calculator.ID()), "ls", "calc*", "x", "--timeout", "10m")
	e.refuses(3, "no host matches x or y on plane "+e.bus.Plane(), "ls", "x", "y")
	e.refuses(3, "; did you mean calculator.example?\n", "ls", "calculatr.example")
	var listed []struct {
		Host, ID, Version string
		Ports             []int
	}
	err := json.Unmarshal([]byte(e.busline(0, "--json", "ls").stdout), &listed)
	require.NoError(t, err, "as JSON")
	require.Len(t, listed, 3, "as JSON")
	assert.Equal(t, 444, listed[2].Ports[1], "as JSON")
}

// TestList_NamesDifferences names the instances of a host with different documents.
func TestList_NamesDifferences(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	first := e.serveCalculator()
	second := e.serveCalculator()
	assert.NotContains(t, e.busline(0, "ls").stdout, "different")
	other := e.bus.Connect("calculator.example")
	require.NoError(t, other.Handle("GET", "/other", http.NotFoundHandler()))
	same := slices.Sorted(slices.Values([]string{first.ID(), second.ID()}))
	groups := slices.Sorted(slices.Values([]string{strings.Join(same, ", "), other.ID()}))
	want := "\ninstances of calculator.example have different documents: " + strings.Join(groups, " | ") + "\n"
	assert.True(t, strings.HasSuffix(e.busline(0, "ls").stdout, want), want)
}

// TestList_NotReady names an instance that has left its queues.
func TestList_NotReady(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	conn := e.bus.Connect("calculator.example", bus.WithReadiness(func(context.Context) error {
		return errors.New("the database is away")
	}))
	want := "\n" + conn.ID() + ".calculator.example is not ready: the database is away\n"
	assert.True(t, strings.HasSuffix(e.busline(0, "ls").stdout, want), want)
}

// TestList_OfForeignInstances lists instances whose answers to a ping are not quite as they should be.
func TestList_OfForeignInstances(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"version":"7","ports":[443]}`:         "7        443",
		`{"version":1,"ports":[443]}`:           "-        443",
		`{"version":"7","ports":["443",444]}`:   "7        444",
		`{"version":"7","ports":443,"host":{}}`: "7        -",
		`{"ports":[]}`:                          "-        -",
		`[]`:                                    "-        -",
		`{"version":`:                           "",
	} {
		e := newTerminal(t)
		e.serveCalculator() // an empty list is an error
		answerForeign(t, e.bus, "ping", "200 OK", body)
		_, listed, _ := strings.Cut(e.busline(0, "ls", "foreign.example", "calculator.example").stdout, "foreign.example")
		line, _, _ := strings.Cut(listed, "\n")
		if want != "" {
			want = "     f1aaaaaaaa  " + want
		}
		if line != want {
			t.Errorf("%s is listed as %q, want %q", body, line, want)
		}
	}
}

// answerForeign is foreign.example, instance f1aaaaaaaa, as far as GET of a path on port 888 is concerned.
func answerForeign(t *testing.T, b *bustest.Bus, path, status, body string) {
	t.Helper()
	conn := b.Connect("helper.example").NATS()
	for _, host := range []string{"all", "example.foreign", "example.foreign.f1aaaaaaaa"} {
		_, err := conn.Subscribe(b.Plane()+".888."+host+".|.GET."+path, func(asked *nats.Msg) {
			request, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(asked.Data)))
			if err != nil {
				return // without an answer, which fails the test
			}
			id := request.Header.Get("Bus-Msg-Id")
			to, _ := strings.CutSuffix(asked.Reply, "."+id)
			body := strings.ReplaceAll(body, "{caller}", request.Header.Get("Bus-From-Id"))
			_ = conn.Publish(to, fmt.Appendf(nil, "HTTP/1.1 %s\r\nContent-Length: %d\r\nBus-From-Host: foreign.example\r\n"+
				"Bus-From-Id: f1aaaaaaaa\r\nBus-Msg-Id: %s\r\nBus-Op-Code: Res\r\n\r\n%s", status, len(body), id, body))
		})
		require.NoError(t, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, conn.FlushWithContext(ctx))
}

// TestList_WatchOnSmallTerminal lists more than a terminal shows.
func TestList_WatchOnSmallTerminal(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		e := &terminal{t, b, map[string]string{"NO_COLOR": "1"}}
		for i := range 7 {
			b.Connect(fmt.Sprintf("caller%d.example", i))
		}
		for height, want := range map[int]string{
			0:  "7 instances; Ctrl-C ends",
			11: "7 instances; Ctrl-C ends",
			10: "7 instances, the first 6 shown: name hosts to see others; Ctrl-C ends",
			6:  "7 instances, the first 2 shown: name hosts to see others; Ctrl-C ends",
			1:  "7 instances, the first 0 shown: name hosts to see others; Ctrl-C ends",
		} {
			ctx, interrupt := context.WithCancel(t.Context())
			time.AfterFunc(5*time.Second, interrupt)
			got := e.run(ctx, func(environment *cli.Environment) {
				environment.StdoutTerminal, environment.Height = true, func() int { return height }
			}, "ls", "--watch", "--every", "10s")
			lines := strings.Split(got.stdout, "\x1b[K\n")
			assert.Contains(t, lines[0], "HOST", "%d, %d", height, len(lines))
			assert.Equal(t, want, lines[len(lines)-2], "%d, %d", height, len(lines))
			if height > 2 && len(lines) > height {
				t.Errorf("a terminal of %d lines shows %d\n%s", height, len(lines), got.stdout)
			}
		}
	})
}

func TestWatch(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		e := &terminal{t, b, map[string]string{}}
		require.NoError(t, calculatorsvc.Serve(b.Connect("calculator.example")))
		for _, onTerminal := range []bool{false, true} {
			ctx, interrupt := context.WithCancel(t.Context())
			var stdout, stderr bytes.Buffer
			environment := e.environment(&stdout, &stderr)
			environment.StdoutTerminal = onTerminal
			ended := make(chan int)
			go func() { ended <- cli.Run(ctx, environment, []string{"ls", "--watch", "--every", "10s"}) }()
			time.Sleep(25 * time.Second)
			assert.NoError(t, calculatorsvc.Serve(b.Connect("newcomer.example")))
			time.Sleep(10 * time.Second)
			synctest.Wait()
			interrupt()
			status := <-ended
			assert.Equal(t, 130, status, stderr.String())
			assert.LessOrEqual(t, stderr.Len(), 0, stderr.String())
			lists := map[bool]int{false: 2, true: 4}[onTerminal] // in a pipe only what is new
			got := strings.Count(stdout.String(), "HOST")
			assert.Equal(t, lists, got, onTerminal)
			assert.Contains(t, stdout.String(), "newcomer.example", onTerminal)
		}
	})
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serveCalculator()
	e.serveProducts()
	onTerminal := func(environment *cli.Environment) {
		environment.StdoutTerminal, environment.StderrTerminal = true, true
	}
	see := func(arguments ...string) result { return e.run(t.Context(), onTerminal, arguments...) }
	if got := see("call", "calculator.example/add", "x=5"); got.stdout != "{\n  \"sum\": 5\n}\n" {
		t.Errorf("JSON: %q", got.stdout)
	}
	if got := see("--json", "call", "calculator.example/add", "x=5"); got.stdout != "{\"sum\":5}\n" {
		t.Errorf("JSON for programs: %q", got.stdout)
	}
	if got := see("docs", "calculator.example"); !strings.HasPrefix(got.stdout, "{\n  \"openapi\": \"3.0.0\",\n") {
		t.Errorf("a document: %.60q", got.stdout)
	}
	for _, plain := range []map[string]string{{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}} {
		e.env = plain
		all := see("ls").stdout + see("describe", "calculator.example").stdout + see("call",
			"products.example/products/7").stderr + see("lss").stderr
		if coloured := strings.Count(all, "\x1b["); (coloured > 0) != (len(plain) == 0) {
			t.Errorf("with %v there are %d colours: %q", plain, coloured, all)
		}
	}
}

// Wily writes what steers a terminal.
type Wily struct{}

// Steer fails.
func (Wily) Steer() error {
	return &bus.Error{Status: 400, Type: "urn:\x1b[2Jx", Detail: "\x1b[2Jgone\u009b2J"}
}

// Text is no JSON.
func (Wily) Text(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("\x1b[2J\xff\n")) }

func TestClean(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serve("wily.example", func(conn *bus.Conn) error { return bus.Serve(conn, Wily{}) },
		bus.WithVersion("1\x1b[2J"), bus.WithDescription("\x1b]0;owned\a"))
	e.env["NO_COLOR"] = "1"
	all := e.busline(0, "ls").stdout + e.busline(0, "describe", "wily.example").stdout + e.busline(1, "call",
		"wily.example/steer").stderr +
		e.busline(1, "call", "--all", "wily.example/steer").stdout
	if !strings.Contains(all, "\n  type     urn:") {
		t.Errorf("the type is not shown: %q", all)
	}
	onTerminal := func(environment *cli.Environment) { environment.StdoutTerminal = true }
	all += e.run(t.Context(), onTerminal, "call", "wily.example/text").stdout
	if strings.ContainsAny(all, "\x1b\a\u009b") {
		t.Errorf("control characters reach the terminal: %q", all)
	}
	for _, unchanged := range []result{e.busline(0, "call", "wily.example/text"),
		e.run(t.Context(), onTerminal, "call", "--raw", "wily.example/text")} {
		if unchanged.stdout != "\x1b[2J\xff\n" {
			t.Errorf("the text of a service is %q", unchanged.stdout)
		}
	}
}

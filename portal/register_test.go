package portal_test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/portal"
	"github.com/busline/busline/portal/ingress"
	"github.com/busline/busline/portal/internal/portaltest"
)

// calculator is a service like any other.
type calculator struct{}

// Point is a place in the plane.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// Distance is how far two points are apart.
func (calculator) Distance(p1, p2 Point) (d float64) { return p1.X - p2.X + p1.Y - p2.Y }

// longTimeouts returns options that keep tests independent of how busy the machine is.
func longTimeouts() []portal.RegisterOption {
	return []portal.RegisterOption{portal.WithTimeouts(time.Minute)}
}

// awaitAnnouncements waits until the portal has received all announcements so far: one that connects waits for them.
func (d *testIngress) awaitAnnouncements() { d.Bus.Connect("last.example") }

// register serves the portal behind the ingress.
func (d *testIngress) register(options ...portal.RegisterOption) {
	d.T.Helper()
	require.NoError(d.T, portal.Register(d.Bus.Connect("portal"), append(longTimeouts(), options...)...))
}

// calculate serves a calculator on a host.
func (d *testIngress) calculate(host string, options ...bus.ServeOption) {
	d.T.Helper()
	require.NoError(d.T, bus.Serve(d.Bus.Connect(host), calculator{}, options...))
}

// publish serves a hand-written document.
func (d *testIngress) publish(host string, document http.HandlerFunc) {
	d.T.Helper()
	require.NoError(d.T, d.Bus.Connect(host).Handle("GET", "/openapi.json", document, bus.Undocumented()))
}

// document requests the aggregated document, which has to be valid.
func (d *testIngress) document(headers ...string) *openapi3.T {
	d.T.Helper()
	got := d.Get("/portal/openapi.json", headers...)
	kind := got.Header.Get("Content-Type")
	require.Equal(d.T, http.StatusOK, got.StatusCode, got.Text)
	require.Equal(d.T, "application/json", kind, got.Text)
	if kept := got.Header.Get("Cache-Control"); kept != "private, no-cache" {
		d.T.Errorf("Cache-Control is %q", kept)
	}
	document, err := openapi3.NewLoader().LoadFromData([]byte(got.Text))
	if err == nil {
		err = document.Validate(d.T.Context())
	}
	if err != nil {
		d.T.Fatalf("%v\n%s", err, got.Text)
	}
	return document
}

// paths returns the paths of a document, sorted.
func paths(document *openapi3.T) string {
	return strings.Join(slices.Sorted(func(yield func(string) bool) {
		for path := range document.Paths.Map() {
			if !yield(path) {
				return
			}
		}
	}), " ")
}

func TestDocument(t *testing.T) {
	t.Parallel()
	entrance := open(t)
	entrance.register()
	entrance.calculate("calculator.example")
	entrance.calculate("calculator.example") // a second instance
	entrance.calculate("abacus.example", bus.Port(80))
	entrance.calculate("internal.example", bus.Port(444))
	entrance.calculate("hidden.example", bus.Undocumented())
	entrance.Serve("web.example", 443, portaltest.Echo)
	got := entrance.document()
	want := "/abacus.example:80/distance /calculator.example:443/distance /web.example:443/{rest}"
	if all := paths(got); all != want {
		t.Errorf("the document has %s, want %s", all, want)
	}
	assert.Equal(t, "3.0.0", got.OpenAPI)
	assert.NotEmpty(t, got.Info.Title)
	assert.NotEmpty(t, got.Info.Version)
	assert.Equal(t, "The endpoints that the caller may call.", got.Info.Description)
	for _, name := range []string{"abacus.example_80_Point", "calculator.example_443_Point"} {
		if got.Components.Schemas[name] == nil {
			t.Errorf("there is no schema %s", name)
		}
	}
	summary := got.Paths.Value("/calculator.example:443/distance").Post.Summary
	if summary != "Distance(p1 Point, p2 Point) (d float64)" {
		t.Errorf("summary %q", summary)
	}
}

func TestPorts(t *testing.T) {
	t.Parallel()
	entrance := open(t, ingress.WithPorts(443, 444))
	entrance.register(portal.WithPorts(444))
	entrance.calculate("calculator.example")
	entrance.calculate("internal.example", bus.Port(444))
	if all := paths(entrance.document()); all != "/internal.example:444/distance" {
		t.Errorf("the document has %s", all)
	}
}

func TestBrokenMembers(t *testing.T) {
	t.Parallel()
	const whole = `{"openapi":"3.0.0","info":{"title":"a","version":"1"},"paths":{"/%s:443/x":{"get":{"responses":{"200":{"description":"OK"}}}}}}`
	text := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
	}
	entrance := open(t)
	entrance.register(portal.WithTimeouts(3 * time.Second))
	entrance.publish("whole.example", text(fmt.Sprintf(whole, "whole.example")))
	entrance.publish("garbage.example", text(`<script>alert(1)</script>`))
	entrance.publish("liar.example", text(fmt.Sprintf(whole, "calculator.example")))
	entrance.publish("climber.example", text(fmt.Sprintf(whole, "climber.example:443/%2e./calculator.example")))
	for host, path := range map[string]string{
		"backslash.example": `/\\..\\..\\victim.example`, "tab.example": `/.\u0009./victim.example`, "query.example": `/?`,
		"fragment.example": `/#`, "delete.example": `/\u007f`,
	} {
		entrance.publish(host, text(fmt.Sprintf(whole, host+":443"+path)))
	}
	entrance.publish("large.example", text(strings.Repeat(" ", 4<<20)+"{}"))
	entrance.publish("endless.example", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = w.Write(make([]byte, 1<<20))
		}
	})
	entrance.publish("failing.example", func(http.ResponseWriter, *http.Request) { panic("the password is secret") })
	release := make(chan struct{})
	entrance.publish("slow.example", func(http.ResponseWriter, *http.Request) { <-release })
	entrance.publish("none.example", http.NotFound)
	got := entrance.document()
	close(release)
	if all := paths(got); all != "/whole.example:443/x" {
		t.Errorf("the document has %s", all)
	}
	lines := strings.Split(got.Info.Description, "\n")
	want := []string{
		`backslash.example:443 is left out: its document contains "/backslash.example:443/\\..\\..\\victim.example:443/x", which a browser reads as another path.`,
		`climber.example:443 is left out: its document contains "/climber.example:443/%2e./calculator.example:443/x", which is not its own.`,
		`delete.example:443 is left out: its document contains "/delete.example:443/\x7f:443/x", which a browser reads as another path.`,
		"endless.example:443 is left out: the body has more than 4194304 bytes.",
		"failing.example:443 is left out: it answers the request for its document with status 500.",
		`fragment.example:443 is left out: its document contains "/fragment.example:443/#:443/x", which a browser reads as another path.`,
		"garbage.example:443 is left out: its document cannot be read: ",
		"large.example:443 is left out: ", // as too large for the portal, or for the broker
		`liar.example:443 is left out: its document contains "/calculator.example:443/x", which is not its own.`,
		`query.example:443 is left out: its document contains "/query.example:443/?:443/x", which a browser reads as another path.`,
		"slow.example:443 is left out: it did not answer within 3s.",
		`tab.example:443 is left out: its document contains "/tab.example:443/.\t./victim.example:443/x", which a browser reads as another path.`,
	}
	if len(lines) != len(want) {
		t.Fatalf("the description is %q", lines)
	}
	for i := range want {
		assert.True(t, strings.HasPrefix(lines[i], want[i]), lines[i])
		assert.NotContains(t, lines[i], "secret", want[i])
		assert.NotContains(t, lines[i], "script", want[i])
	}
}

// TestFlood has many readers at once, and later, make one look at the bus.
func TestFlood(t *testing.T) {
	t.Parallel()
	entrance := open(t)
	var asked atomic.Int64
	looking, release := make(chan struct{}), make(chan struct{})
	entrance.publish("watched.example", func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			close(looking)
		}
		<-release
		http.NotFound(w, r)
	})
	var mu sync.Mutex
	now := time.Now()
	entrance.register(portal.WithClock(func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}))
	advance := func(by time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(by)
	}
	var reading sync.WaitGroup
	for reader := range 50 {
		reading.Go(func() { entrance.document() })
		if reader == 0 {
			<-looking
		}
	}
	close(release)
	reading.Wait()
	advance(1999 * time.Millisecond)
	entrance.document()
	if got := asked.Load(); got != 1 {
		t.Errorf("51 readers within 2 s had a service asked %d times", got)
	}
	entrance.calculate("calculator.example")
	entrance.awaitAnnouncements()
	advance(time.Millisecond)
	all := paths(entrance.document())
	assert.Equal(t, "/calculator.example:443/distance", all)
	assert.Equal(t, int64(1), asked.Load(), "that it has no document is known")
	advance(time.Minute)
	entrance.document()
	assert.Equal(t, int64(2), asked.Load(), "but not for long")
}

func TestRegister_BaseURLOfTheDocument(t *testing.T) {
	t.Parallel()
	server := func(document *openapi3.T) string { return document.Servers[0].URL }
	entrance := open(t, ingress.WithTrustedProxies("127.0.0.0/8"))
	entrance.register()
	if got := server(entrance.document()); got != "http://door.example" {
		t.Errorf("reached directly: %s", got)
	}
	behind := []string{"X-Forwarded-Proto: https", "X-Forwarded-Host: api.example.com", "X-Forwarded-Prefix: /bus/"}
	if got := server(entrance.document(behind...)); got != "https://api.example.com/bus" {
		t.Errorf("reached through a proxy: %s", got)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://portal/openapi.json", http.NoBody)
	require.NoError(t, err)
	response, err := entrance.Bus.Connect("caller.example").Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	document, err := openapi3.NewLoader().LoadFromIoReader(response.Body)
	require.NoError(t, err, document.Servers)
	assert.Equal(t, "http://127.0.0.1:8080", server(document), document.Servers)
	configured := open(t)
	require.NoError(t, portal.Register(configured.Bus.Connect("portal", bus.WithBaseURL("https://api.example.com/"))))
	if got := server(configured.document()); got != "https://api.example.com" {
		t.Errorf("configured: %s", got)
	}
}

func TestWithoutBroker(t *testing.T) {
	t.Parallel()
	entrance := open(t)
	entrance.register()
	entrance.Bus.Broker().Close()
	got := entrance.Get("/portal/openapi.json")
	problem := got.Problem(t)
	assert.Equal(t, http.StatusServiceUnavailable, problem.Status)
	assert.Contains(t, problem.Detail, "broker")
}

func TestRegisterErrors(t *testing.T) {
	t.Parallel()
	entrance := open(t)
	conn := entrance.Bus.Connect("portal")
	require.NoError(t, conn.Handle("GET", "/{file}", http.HandlerFunc(portaltest.Echo)))
	tests := []struct {
		conn   *bus.Conn
		option portal.RegisterOption
		want   string
	}{
		{entrance.Bus.Connect("page.example"), portal.WithPorts(443),
			`portal on page.example: connect as "portal", the host that / redirects to`},
		{entrance.Bus.Connect("portal"), portal.WithPorts(888), "port 888 is for requests of the framework itself"},
		{conn, portal.WithPorts(443), "/openapi.json"},
	}
	for _, test := range tests {
		err := portal.Register(test.conn, test.option)
		assert.ErrorContains(t, err, test.want)
	}
}

// files returns the content of the page's files by name.
func files(t *testing.T) map[string]string {
	t.Helper()
	read := make(map[string]string)
	entries, err := fs.ReadDir(portal.PageFiles, "page")
	require.NoError(t, err)
	for _, entry := range entries {
		content, err := fs.ReadFile(portal.PageFiles, "page/"+entry.Name())
		require.NoError(t, err)
		read[entry.Name()] = string(content)
	}
	return read
}

func TestPage(t *testing.T) {
	t.Parallel()
	entrance := open(t)
	entrance.register()
	types := map[string]string{
		".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
		".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
	}
	for name, content := range files(t) {
		path := "/portal/" + name
		if name == "index.html" {
			path = "/portal/"
		}
		got := entrance.Get(path)
		assert.Equal(t, http.StatusOK, got.StatusCode, path)
		assert.Equal(t, content, got.Text, path)
		if kind := got.Header.Get("Content-Type"); kind != types[name[strings.LastIndexByte(name, '.'):]] {
			t.Errorf("%s: Content-Type %q", path, kind)
		}
		again := entrance.Get(path, "If-None-Match: "+got.Header.Get("ETag"))
		assert.Equal(t, http.StatusNotModified, again.StatusCode, path)
		assert.Empty(t, again.Text, path)
		checkSecurity(t, path, got.Header)
	}
	if got := entrance.Get("/portal/main.js", "Accept-Encoding: gzip"); got.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("main.js is sent as %v", got.Header)
	}
	checkSecurity(t, "openapi.json", entrance.Get("/portal/openapi.json").Header)
}

func checkSecurity(t *testing.T, path string, header http.Header) {
	t.Helper()
	policy := header.Get("Content-Security-Policy")
	assert.True(t, strings.HasPrefix(policy, "default-src 'self';"), policy)
	assert.NotContains(t, policy, "unsafe", path)
	if got := header.Get("X-Content-Type-Options"); got != "nosniff" {
		t.Errorf("%s: X-Content-Type-Options %q", path, got)
	}
}

func TestRegister_PathsBesideThePage(t *testing.T) {
	t.Parallel()
	entrance := open(t)
	entrance.register()
	for _, path := range []string{
		"/portal/index.html", "/portal/page/main.js", "/portal/../main.js", "/portal/..%2fmain.js",
		"/portal/%2e%2e%5cmain.js",
		"/portal/%00", "/portal//etc/passwd", "/portal/main.js/", "/portal/page.go",
	} {
		if got := entrance.Get(path); got.StatusCode != http.StatusNotFound {
			t.Errorf("%s: status %d: %.80s", path, got.StatusCode, got.Text)
		}
	}
	got := entrance.Send("POST /portal/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", "POST")
	assert.Equal(t, http.StatusMethodNotAllowed, got.StatusCode, "POST")
	assert.Equal(t, "GET, HEAD", got.Header.Get("Allow"), "POST")
}

func TestPage_UnderPrefix(t *testing.T) {
	t.Parallel()
	entrance := open(t)
	entrance.register()
	w := httptest.NewRecorder()
	http.StripPrefix("/bus", entrance.Handler).ServeHTTP(w,
		httptest.NewRequest(http.MethodGet, "/bus/portal/", http.NoBody))
	assert.Equal(t, http.StatusOK, w.Code)
	assert.Equal(t, files(t)["index.html"], w.Body.String())
}

// TestRegister_LoadsNothingFromElsewhere holds that the page works without any other host, under any prefix, and that
// nothing which a service says can become part of it.
func TestRegister_LoadsNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	const namespace = "http://www.w3.org/2000/svg"
	forbidden := map[string]*regexp.Regexp{
		"another host":       regexp.MustCompile(`(?i)(https?:)?//[a-z0-9.-]+\.[a-z]|\b(?-i:url)\(|@import`),
		"an absolute link":   regexp.MustCompile(`(?i)(src|href)="/`),
		"text taken as code": regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|srcdoc`),
		"inline code":        regexp.MustCompile(`(?i)<script>|<style|\sstyle="|\son[a-z]+="|javascript:`),
	}
	for name, content := range files(t) {
		content = strings.ReplaceAll(content, namespace, "")
		for what, pattern := range forbidden {
			if found := pattern.FindString(content); found != "" {
				t.Errorf("%s has %s: %s", name, what, found)
			}
		}
	}
}

// TestProblem_HidesReasonsOfLeftOutServices makes the portal itself fail to fetch a document, with a text that is not
// for its readers.
func TestProblem_HidesReasonsOfLeftOutServices(t *testing.T) {
	t.Parallel()
	entrance := open(t)
	conn := entrance.Bus.Connect("portal", bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
		return func(ctx context.Context, x *bus.Exchange) error {
			if x.Side == bus.ClientSide && x.Host == "calculator.example" {
				return fmt.Errorf("dialling postgres://shop:secret@db.internal: %w", io.EOF)
			}
			return next(ctx, x)
		}
	}))
	require.NoError(t, portal.Register(conn, longTimeouts()...))
	entrance.calculate("calculator.example")
	for _, path := range []string{"/portal/openapi.json", "/portal/live.json"} {
		text := entrance.Get(path).Text
		assert.Contains(t, text, "calculator.example:443 is left out: the reason is in the log", path)
		assert.NotContains(t, text, "postgres", path)
	}
}

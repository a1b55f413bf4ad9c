package guesttest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
)

// showRoute answers with the route that chi has found, and its parameters.
func showRoute(w http.ResponseWriter, r *http.Request) {
	route := chi.RouteContext(r.Context())
	_, _ = fmt.Fprintln(w, r.Method, r.URL.Path, route.RoutePattern(), route.URLParams.Keys, route.URLParams.Values)
}

func tellHandler() http.Handler { return http.HandlerFunc(showRoute) }

// chiRouter has routes of each kind, and below /with/<name> each middleware.
func chiRouter() http.Handler {
	chi.RegisterMethod("SEEK")
	router := chi.NewRouter()
	router.Get("/", showRoute)
	router.Get("/ping", showRoute)
	router.Post("/ping", showRoute)
	router.Method("SEEK", "/ping", tellHandler())
	router.Get("/users/{id}", showRoute)
	router.Put("/users/{id}", showRoute)
	router.Get("/users/{id}/posts/{post}", showRoute)
	router.Get("/date/{year:\\d{4}}-{month:\\d\\d}", showRoute)
	router.Get("/files/*", showRoute)
	router.Get("/slash/", showRoute)
	router.Get("/to", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/ping", http.StatusFound) })
	router.Handle("/any", tellHandler())
	router.Route("/routed", func(r chi.Router) {
		r.Get("/", showRoute)
		r.Get("/{a}", showRoute)
		r.NotFound(func(w http.ResponseWriter, r *http.Request) { http.Error(w, "not below routed", http.StatusNotFound) })
		r.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "not so below routed", http.StatusMethodNotAllowed)
		})
	})
	mounted := chi.NewRouter()
	mounted.Get("/", showRoute)
	mounted.Get("/{x}/*", showRoute)
	router.Mount("/mounted/{tenant}", mounted)
	router.Group(func(r chi.Router) {
		r.Use(middleware.SetHeader("X-Group", "yes"))
		r.With(middleware.SetHeader("X-With", "yes")).Get("/group", showRoute)
	})

	with := func(name string, handler http.HandlerFunc, uses ...func(http.Handler) http.Handler) {
		router.Route("/with/"+name, func(r chi.Router) {
			r.Use(uses...)
			r.HandleFunc("/", handler)
			r.HandleFunc("/*", handler)
		})
	}
	with("strip", showRoute, middleware.StripSlashes)
	with("clean", showRoute, middleware.CleanPath)
	with("compress", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, strings.Repeat("text ", 1000))
	}, middleware.Compress(5))
	step := make(stepwise)
	router.Post("/next", step.next)
	with("compress-flushed", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "first\n")
		_ = http.NewResponseController(w).Flush()
		step.wait(r.Context())
		_, _ = io.WriteString(w, "second\n")
	}, middleware.Compress(5))
	with("recover", func(http.ResponseWriter, *http.Request) { panic("a mistake") }, quiet, middleware.Recoverer)
	with("recover-abort", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, middleware.Recoverer)
	with("timeout", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		middleware.Timeout(time.Millisecond))
	with("throttle", showRoute, middleware.Throttle(10))
	entered := make(stepwise)
	router.Post("/with/full/entered", func(w http.ResponseWriter, r *http.Request) { entered.wait(r.Context()) })
	with("full", func(_ http.ResponseWriter, r *http.Request) {
		entered.next(nil, r)
		step.wait(r.Context())
	}, middleware.ThrottleBacklog(1, 0, time.Hour))
	address := func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.RemoteAddr) }
	with("real-ip", address, middleware.RealIP) //nolint:staticcheck // deprecated, and widely used
	with("client-ip", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, middleware.GetClientIP(r.Context()))
	}, middleware.ClientIPFromXFF("127.0.0.0/8"))
	with("remote", func(w http.ResponseWriter, r *http.Request) {
		_, err := netip.ParseAddrPort(r.RemoteAddr)
		_, _ = fmt.Fprint(w, err == nil)
	})
	with("request-id", func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, middleware.GetReqID(r.Context()) != "", r.Header.Get("X-Request-Id"))
	}, middleware.RequestID)
	with("auth", showRoute, middleware.BasicAuth("realm", map[string]string{"user": "password"}))
	with("heartbeat", showRoute, middleware.Heartbeat("/with/heartbeat/alive"))
	with("no-cache", func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, r.Header.Get("If-None-Match"))
	}, middleware.NoCache)
	with("header", showRoute, middleware.SetHeader("X-Set", "yes"))
	with("type", showRoute, middleware.AllowContentType("application/json"))
	with("charset", showRoute, middleware.ContentCharset("utf-8"))
	with("encoding", showRoute, middleware.AllowContentEncoding("gzip"))
	with("size", func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		}
	}, middleware.RequestSize(10))
	with("format", func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, r.Context().Value(middleware.URLFormatCtxKey))
	}, middleware.URLFormat)
	with("rewrite", showRoute, middleware.PathRewrite("/old", "/new"))
	with("profile", showRoute, middleware.Maybe(middleware.SetHeader("X-Maybe", "yes"),
		func(r *http.Request) bool { return r.URL.RawQuery == "maybe" }))
	with("wrapped", func(w http.ResponseWriter, r *http.Request) {
		wrapped := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		_, _ = io.WriteString(wrapped, "text")
		_, isFlusher := wrapped.(http.Flusher)
		_, _ = fmt.Fprint(wrapped, wrapped.Status(), wrapped.BytesWritten(), isFlusher)
	})

	redirected := chi.NewRouter()
	redirected.Use(middleware.RedirectSlashes)
	redirected.Get("/redirected/a", showRoute)
	redirected.Get("/redirected/a/{b}", showRoute)
	heads := chi.NewRouter()
	heads.Use(middleware.GetHead)
	heads.Get("/heads/a", showRoute)
	stripped := chi.NewRouter()
	stripped.Use(middleware.StripSlashes)
	stripped.Get("/stripped/a", showRoute)
	outer := http.NewServeMux()
	outer.Handle("/redirected/", redirected)
	outer.Handle("/heads/", heads)
	outer.Handle("/stripped/", stripped)
	outer.Handle("/", router)
	return outer
}

// quiet keeps the stack of a panic out of the output of the test.
func quiet(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, middleware.WithLogEntry(r, silent{}))
	})
}

// silent logs nothing.
type silent struct{}

func (silent) Write(int, int, http.Header, time.Duration, any) {}
func (silent) Panic(any, []byte)                               {}

// full sends a second request while a first one keeps the only place.
func full(t *testing.T, w *way) []string {
	t.Helper()
	first := make(chan []string, 1)
	go func() { first <- request("GET /with/full/")(t, w) }()
	_ = request("POST /with/full/entered")(t, w)
	lines := request("GET /with/full/")(t, w)
	_ = request("POST /next")(t, w)
	return append(lines, "first "+(<-first)[0])
}

// TestChi has the cases in which chi tests its router and its middlewares.
func TestChi(t *testing.T) {
	t.Parallel()
	const authorized = "Authorization: Basic dXNlcjpwYXNzd29yZA=="
	compare(t, chiRouter, []comparison{
		{"root", request("GET /"), "200", "", ""},
		{"static", request("GET /ping"), "200", "", ""},
		{"static with POST", request("POST /ping"), "200", "", ""},
		{"method of its own", request("SEEK /ping"), "200", "", ""},
		{"any method", request("PATCH /any"), "200", "", ""},
		{"unknown method", request("FOO /any"), "405", "", ""},
		{"405", request("DELETE /ping"), "405", "", ""},
		{"HEAD without GetHead", request("HEAD /ping"), "405", "", ""},
		{"HEAD with GetHead", request("HEAD /heads/a"), "200", "", ""},
		{"OPTIONS", request("OPTIONS /ping"), "405", "", ""},
		{"404", request("GET /none"), "404", "", ""},
		{"parameter", request("GET /users/7"), "200", "", ""},
		{"parameter with another method", request("DELETE /users/7"), "405", "", ""},
		{"parameter with a space", request("GET /users/a%20b"), "200", "", ""},
		{"parameter with a slash", request("GET /users/a%2Fb"), "200", "", ""},
		{"parameter in UTF-8", request("GET /users/%E2%82%AC"), "200", "", ""},
		{"parameter with a colon and a semicolon", request("GET /users/a:b;c=d"), "200", "", ""},
		{"parameter with a plus", request("GET /users/a+b"), "200", "", ""},
		{"empty parameter", request("GET /users/"), "404", "", ""},
		{"two parameters", request("GET /users/7/posts/8"), "200", "", ""},
		{"expression", request("GET /date/2024-06"), "200", "", ""},
		{"expression that does not match", request("GET /date/24-06"), "404", "", ""},
		{"wildcard", request("GET /files/a/b/c"), "200", "", ""},
		{"wildcard of nothing", request("GET /files/"), "200", "", ""},
		{"wildcard with a slash at its end", request("GET /files/a/"), "200", "", ""},
		{"wildcard with two slashes", request("GET /files/a/%2F/b"), "200", "", ""},
		{"slash", request("GET /slash/"), "200", "", ""},
		{"no slash", request("GET /slash"), "404", "", ""},
		{"redirect", request("GET /to"), "302", "", ""},
		{"route", request("GET /routed"), "200", "", ""},
		{"route with a slash", request("GET /routed/"), "200", "", ""},
		{"route with a parameter", request("GET /routed/b"), "200", "", ""},
		{"404 of a route", request("GET /routed/b/c"), "404", "", ""},
		{"405 of a route", request("POST /routed/b"), "405", "", ""},
		{"mount", request("GET /mounted/t"), "200", "", ""},
		{"mount with a slash", request("GET /mounted/t/"), "200", "", ""},
		{"mount with parameters", request("GET /mounted/t/x/y/z"), "200", "", ""},
		{"404 of a mount", request("GET /mounted/t/x"), "404", "", ""},
		{"group", request("GET /group"), "200", "", ""},
		{"StripSlashes", request("GET /stripped/a/"), "200", "", ""},
		{"StripSlashes without one", request("GET /stripped/a"), "200", "", ""},
		{"StripSlashes in a route", request("GET /with/strip/a/"), "200", "", ""},
		{"RedirectSlashes", request("GET /redirected/a/"), "301", "", ""},
		{"RedirectSlashes with a query", request("GET /redirected/a/b/?c=d"), "301", "", ""},
		{"RedirectSlashes without one", request("GET /redirected/a"), "200", "", ""},
		{"RedirectSlashes with backslashes", request("GET /redirected/%5Cevil.example/"), "301", "", ""},
		{"CleanPath", request("GET /with/clean/a/./b"), "307", "", ""},
		{"Compress", request("GET /with/compress/", "Accept-Encoding: gzip"), "200", "", ""},
		{"Compress without gzip", request("GET /with/compress/"), "200", "+Content-Length: 5000",
			"+Content-Length: 5000; +Vary: Accept-Encoding"},
		{"Compress with HEAD", request("HEAD /with/compress/", "Accept-Encoding: gzip"), "200", "", ""},
		{"Compress, flushed", piecewise("/with/compress-flushed/", "first"), "first", "", ""},
		{"Recoverer", request("GET /with/recover/"), "500", "", ""},
		{"Recoverer of an abort", request("GET /with/recover-abort/"), "broken", "500 problem instead of broken",
			"500 problem instead of broken"},
		{"Timeout", request("GET /with/timeout/"), "504", "", ""},
		{"Throttle", request("GET /with/throttle/"), "200", "", ""},
		{"Throttle, full", full, "429", "", ""},
		{"RealIP, forwarded", request("GET /with/real-ip/", "X-Forwarded-For: 192.0.2.1, 192.0.2.2"), "200", "",
			"-body \"192.0.2.1\"; +body \"127.0.0.1\""},
		{"RealIP, X-Real-IP", request("GET /with/real-ip/", "X-Real-IP: 192.0.2.1"), "200", "",
			"-body \"192.0.2.1\"; +body \"127.0.0.1\""},
		{"RealIP, True-Client-IP", request("GET /with/real-ip/", "True-Client-IP: 192.0.2.1"), "200", "", ""},
		{"ClientIP of X-Forwarded-For", request("GET /with/client-ip/", "X-Forwarded-For: 192.0.2.1"), "200", "",
			"-Content-Length: 9; -Content-Type: text/plain; charset=utf-8; -body \"192.0.2.1\"; +Content-Length: 0; +body \"\""},
		{"RemoteAddr", request("GET /with/remote/"), "200",
			"-Content-Length: 4; -body \"true\"; +Content-Length: 5; +body \"false\"", ""},
		{"RequestID", request("GET /with/request-id/"), "200", "", ""},
		{"RequestID of the client", request("GET /with/request-id/", "X-Request-Id: mine"), "200", "", ""},
		{"BasicAuth", request("GET /with/auth/", authorized), "200", "", ""},
		{"BasicAuth without", request("GET /with/auth/"), "401", "", ""},
		{"BasicAuth of another", request("GET /with/auth/", "Authorization: Basic eDp5"), "401", "", ""},
		{"Heartbeat", request("GET /with/heartbeat/alive"), "200", "", ""},
		{"Heartbeat with HEAD", request("HEAD /with/heartbeat/alive"), "200", "", ""},
		{"Heartbeat elsewhere", request("GET /with/heartbeat/a"), "200", "", ""},
		{"NoCache", request("GET /with/no-cache/", `If-None-Match: "a"`), "200", "", ""},
		{"SetHeader", request("GET /with/header/"), "200", "", ""},
		{"AllowContentType", requestWith([]byte("{}"), "POST /with/type/", "Content-Type: application/json"), "200", "", ""},
		{"AllowContentType of another", requestWith([]byte("text"), "POST /with/type/", "Content-Type: text/plain"),
			"415", "", ""},
		{"ContentCharset", requestWith([]byte("text"), "POST /with/charset/", "Content-Type: text/plain; charset=utf-8"),
			"200", "", ""},
		{"ContentCharset of another", requestWith([]byte("text"), "POST /with/charset/",
			"Content-Type: text/plain; charset=latin1"), "415", "", ""},
		{"AllowContentEncoding", requestWith([]byte("text"), "POST /with/encoding/", "Content-Encoding: br"), "415", "", ""},
		{"RequestSize", requestWith([]byte("text"), "POST /with/size/"), "200", "", ""},
		{"RequestSize, too large", requestWith([]byte("a longer text"), "POST /with/size/"), "413", "", ""},
		{"URLFormat", request("GET /with/format/a.json"), "200", "", ""},
		{"PathRewrite", request("GET /with/rewrite/old/a"), "200", "", ""},
		{"Maybe", request("GET /with/profile/?maybe"), "200", "", ""},
		{"WrapResponseWriter", request("GET /with/wrapped/"), "200", "", ""},
	})
}

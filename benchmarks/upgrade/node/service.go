package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/busline/busline/benchmarks/upgrade/check"
	"github.com/busline/busline/bus"
)

// sharedHost has an instance of each version.
const sharedHost = "shared.example"

// calculator has a method that works, and ones that do not.
type calculator struct{}

// Add returns the sum of x and y.
func (calculator) Add(x, y int) (sum int) { return x + y }

// Fail fails.
func (calculator) Fail() error { return bus.Errorf(http.StatusConflict, "no room for it") }

// Wait returns when its caller has left.
func (calculator) Wait(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// number is an element of a stream.
type number struct {
	N int `json:"n"`
}

// greetings are the events that came, by their text.
type greetings struct {
	mu   sync.Mutex // protects all below
	seen map[string]bool
}

// OnGreeted takes an event.
func (g *greetings) OnGreeted(text string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seen[text] = true
	return nil
}

// report reports whether an event came.
func (g *greetings) report(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, _ = fmt.Fprint(w, g.seen[r.URL.Query().Get("text")])
}

// beService runs the service of a version, and an instance of the shared one. The arguments are the broker, the host,
// and the hosts whose events it takes.
func beService(ctx context.Context, arguments []string) (line string, _ func(string) (string, error), err error) {
	url, host, publishers := arguments[0], arguments[1], arguments[2:]
	for _, each := range []string{host, sharedHost} {
		conn, err := connect(ctx, url, each)
		if err != nil {
			return "", nil, err
		}
		if err := serve(conn, publishers); err != nil {
			return "", nil, err
		}
	}
	return host, nil, nil
}

func serve(conn *bus.Conn, publishers []string) error {
	if err := bus.Serve(conn, calculator{}); err != nil {
		return err
	}
	if err := serveNumbers(conn); err != nil {
		return err
	}
	came := &greetings{seen: make(map[string]bool)}
	for _, publisher := range publishers {
		if err := subscribe(conn, publisher, came); err != nil {
			return err
		}
	}
	for route, handler := range map[string]http.HandlerFunc{
		"GET seen": came.report, "POST digest": digest, "GET bytes": sendBytes,
	} {
		method, path, _ := strings.Cut(route, " ")
		if err := conn.Handle(method, "/"+path, handler); err != nil {
			return err
		}
	}
	who := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, conn.ID()) })
	return conn.Handle("GET", "/who", who, bus.NoQueue())
}

// digest answers with the length and the sum of the body.
func digest(w http.ResponseWriter, r *http.Request) {
	text, err := check.Digest(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = io.WriteString(w, text)
}

// sendBytes sends so many bytes, in pieces that are flushed if the caller of the handler wants that.
func sendBytes(w http.ResponseWriter, r *http.Request) {
	size, _ := strconv.ParseInt(r.URL.Query().Get("size"), 10, 64)
	if r.URL.Query().Get("flushed") == "" {
		_, _ = io.Copy(struct{ io.Writer }{w}, check.Body(size))
		return
	}
	body := check.Body(size)
	for {
		n, err := io.CopyN(w, body, 64<<10)
		if flusher, ok := w.(http.Flusher); ok {
			flusher.Flush()
		}
		if n == 0 || err != nil {
			return
		}
	}
}

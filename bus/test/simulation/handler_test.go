package simulation_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/busline/busline/bus"
)

// run is one run of a handler.
type run struct {
	call     *call
	node     *node
	ended    time.Time
	read     int  // bytes of the request
	whole    bool // they were all
	readErr  error
	wrote    int // bytes of the response
	finished bool
}

// serve registers the handler, for one instance and for all.
func (n *node) serve() error {
	if err := n.conn.Handle(http.MethodPost, "/run", http.HandlerFunc(n.handle)); err != nil {
		return err
	}
	return n.conn.Handle(http.MethodPost, "/all", http.HandlerFunc(n.handle), bus.NoQueue())
}

// handle does what the plan of the call says.
func (n *node) handle(out http.ResponseWriter, in *http.Request) {
	ctx := in.Context()
	r := n.world.beginRun(n, in.URL.Query().Get("n"))
	defer n.world.endRun(r)
	c := r.call
	if c.stubborn {
		ctx = context.WithoutCancel(ctx)
	}
	got, whole, err := c.read(ctx, in.Body, c.request)
	n.world.mu.Lock()
	r.read, r.whole, r.readErr = got, whole, err
	n.world.mu.Unlock()
	switch {
	case !whole:
		http.Error(out, fmt.Sprint("the request broke: ", err), http.StatusBadRequest)
	case !sleep(ctx, c.work):
		http.Error(out, "the caller has left", http.StatusServiceUnavailable)
	case c.fails == refuses:
		http.Error(out, "the handler refuses", http.StatusTeapot)
	case c.fails == panics:
		panic("the handler panics")
	default:
		r.respond(ctx, out)
	}
}

// respond writes the response.
func (r *run) respond(ctx context.Context, out http.ResponseWriter) {
	b, w := r.call.response, r.node.world
	if !b.streams {
		out.Header().Set("Content-Length", strconv.Itoa(b.size))
	}
	from, buffer := &source{ctx: ctx, call: r.call, body: b}, make([]byte, piece)
	for {
		n, end := from.Read(buffer)
		_, err := out.Write(buffer[:n])
		if flusher, ok := out.(http.Flusher); ok && b.streams {
			flusher.Flush()
		}
		w.mu.Lock()
		if err == nil {
			r.wrote += n
		}
		r.finished = err == nil && end != nil && from.sent == b.size && !b.breaks
		w.mu.Unlock()
		switch {
		case err != nil, r.finished:
			return
		case end != nil:
			panic(http.ErrAbortHandler)
		}
	}
}

// beginRun notes that a handler runs. What a crashed process does has no effect.
func (w *world) beginRun(n *node, number string) *run {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, err := strconv.Atoi(number)
	if err != nil {
		panic(err)
	}
	r := &run{call: w.plan.calls[at], node: n}
	if !n.crashed {
		r.call.runs = append(r.call.runs, r)
	}
	w.history.addf("%s handles #%d", n.name, at)
	return r
}

func (w *world) endRun(r *run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r.ended = time.Now()
	w.history.addf("%s has handled #%d: read %d, wrote %d", r.node.name, r.call.number, r.read, r.wrote)
}

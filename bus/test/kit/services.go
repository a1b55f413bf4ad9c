package kit

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
)

// Echo answers with what it was sent.
type Echo struct{}

// Echo returns the text.
func (Echo) Echo(text string) (same string) { return text }

// Ended is how a handler's context ended, and when.
type Ended struct {
	id         string
	err, cause error
	derived    error // the cause of a context made of it
	after      time.Duration
}

// ServeWaiting serves GET /wait, which waits for the end of its context, and GET /all, which does so on every instance.
func ServeWaiting(t *testing.T, conn *bus.Conn) <-chan Ended {
	t.Helper()
	ends := make(chan Ended, 16)
	wait := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		derived, cancel := context.WithTimeout(r.Context(), time.Hour)
		defer cancel()
		<-derived.Done()
		ends <- Ended{conn.ID(), r.Context().Err(), context.Cause(r.Context()), context.Cause(derived), time.Since(begun)}
	})
	require.NoError(t, conn.Handle("GET", "/wait", wait))
	require.NoError(t, conn.Handle("GET", "/all", wait, bus.NoQueue()))
	return ends
}

// WantCancelled checks that a handler has ended, because its caller left.
func WantCancelled(t *testing.T, what string, ends <-chan Ended, after time.Duration) {
	t.Helper()
	synctest.Wait()
	select {
	case end := <-ends:
		assert.ErrorIs(t, end.err, context.Canceled, what)
		assert.ErrorIs(t, end.cause, bus.ErrCallerLeft, what)
		assert.ErrorIs(t, end.derived, bus.ErrCallerLeft, what)
		assert.Equal(t, after, end.after, what)
	default:
		t.Errorf("%s: the handler still runs", what)
	}
}

// Wrapper returns errors as applications do.
type Wrapper struct{}

// Wrapped fails with an error of ours in one of its own.
func (Wrapper) Wrapped() error {
	return fmt.Errorf("loading order 7: %w", bus.Errorf(http.StatusNotFound, "no product 7"))
}

// LingualHost is where a Lingual is served.
const LingualHost = "lingual.example"

// Lingual is a service whose methods read and set header fields.
type Lingual struct{ Conn *bus.Conn }

// Hear returns the fields that have come, and sets some.
func (Lingual) Hear(ctx context.Context, x int) (fields string, y int) {
	bus.SetResponseHeader(ctx, "location", "/things/4")
	bus.SetResponseHeader(ctx, "Location", "/things/5")
	bus.SetResponseHeader(ctx, "Link", "</a>", "</b>")
	bus.SetResponseHeader(ctx, "Content-Language", "eo")
	bus.SetResponseHeader(ctx, "X-Gone", "soon")
	bus.SetResponseHeader(ctx, "X-Gone")
	for _, name := range []string{"", "Content-Type", "Content-Encoding", "Content-Length", "Bus-Queue", "Connection",
		"No Token"} {
		bus.SetResponseHeader(ctx, name, "forged")
	}
	return WordsIn(bus.RequestHeader(ctx)), x
}

// Ask has the same service hear what its own request carries, with a field changed.
func (l Lingual) Ask(ctx context.Context, name, value string) (fields string, err error) {
	if name != "" {
		ctx = bus.WithOutgoingHeader(ctx, name, value)
	}
	var out struct{ Fields string }
	err = l.Conn.Call(ctx, "https://lingual.example/hear", bus.Args{"x": 1}, &out)
	return out.Fields, err
}

// Fail sets a field, and fails.
func (Lingual) Fail(ctx context.Context) error {
	bus.SetResponseHeader(ctx, "Location", "/nowhere")
	return bus.Errorf(http.StatusConflict, "no")
}

// ReadRefusal sets a field, and answers with a status instead of an error.
func (Lingual) ReadRefusal(ctx context.Context, id int) (httpStatusCode int) { //nolint:revive // the path has the name
	bus.SetResponseHeader(ctx, "Location", "/elsewhere")
	return http.StatusConflict
}

// Web sets a field, and one in vain.
func (Lingual) Web(w http.ResponseWriter, r *http.Request) {
	bus.SetResponseHeader(r.Context(), "X-One", "1")
	w.Header().Set("X-Two", "2")
	_, _ = fmt.Fprint(w, WordsIn(bus.RequestHeader(r.Context())))
}

// WordsIn writes a header on one line.
func WordsIn(header http.Header) string {
	var fields []string
	for name, values := range header {
		fields = append(fields, name+"="+strings.Join(values, ","))
	}
	slices.Sort(fields)
	return strings.Join(fields, " ")
}

// Notes is what interceptors have seen.
type Notes struct {
	mu    sync.Mutex // protects lines
	lines []string
}

// Addf notes a line.
func (n *Notes) Addf(format string, arguments ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, fmt.Sprintf(format, arguments...))
}

// All returns the lines so far.
func (n *Notes) All() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.lines)
}

// Noting makes an interceptor that notes each call on its way there and back.
func (n *Notes) Noting(name string) bus.Interceptor {
	return func(next bus.CallFunc) bus.CallFunc {
		return func(ctx context.Context, call *bus.Exchange) error {
			n.Addf("%s %s %s>", name, call.Side, call.Path)
			err := next(ctx, call)
			n.Addf("%s %s %s< %d", name, call.Side, call.Path, call.Status(err))
			return err
		}
	}
}

// Keeper remembers the contexts of its calls, and can be slow.
type Keeper struct {
	Kept    chan context.Context
	Entered chan struct{}
	Release chan struct{}
}

// NewKeeper returns a keeper that has kept nothing yet.
func NewKeeper() *Keeper {
	return &Keeper{Kept: make(chan context.Context, 1), Entered: make(chan struct{}), Release: make(chan struct{})}
}

// Keep keeps its context.
func (k *Keeper) Keep(ctx context.Context) { k.Kept <- ctx }

// Double answers at once.
func (k *Keeper) Double(n int) (doubled int) { return 2 * n }

// DoubleSlowly answers when it is released.
func (k *Keeper) DoubleSlowly(n int) (doubled int) {
	k.Entered <- struct{}{}
	<-k.Release
	return 2 * n
}

// KeeperURL is where NewKeeping serves.
const KeeperURL = "https://keeper.example"

type (
	// Single is what a keeper doubles.
	Single struct {
		N int `json:"n"`
	}
	// Doubled is what it answers.
	Doubled struct {
		Doubled int `json:"doubled"`
	}
)

// NewKeeping serves a keeper, for a caller.
func NewKeeping(t *testing.T, w *World) (*Keeper, *bus.Conn) {
	t.Helper()
	k := NewKeeper()
	Serve(t, w.Connect("keeper.example"), k)
	return k, w.Connect("caller.example")
}

// Twins has two methods that can be given one path.
type Twins struct{}

// One is one of them.
func (Twins) One() {}

// Two is the other.
func (Twins) Two() {}

// Happening is a subscriber.
type Happening struct{}

// OnDone takes an event.
func (Happening) OnDone() error { return nil }

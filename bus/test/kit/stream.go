package kit

import (
	"context"
	"crypto/sha256"
	"hash"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
)

// StreamHost serves the handlers of these tests.
const StreamHost = "stream.example"

// Handle serves a handler on a connection of its own.
func (w *World) Handle(t *testing.T, route string, handler http.HandlerFunc, options ...bus.HandleOption) *bus.Conn {
	t.Helper()
	conn := w.Connect(StreamHost)
	method, path, _ := strings.Cut(route, " ")
	require.NoError(t, conn.Handle(method, path, handler, options...))
	return conn
}

// Get begins a request.
func Get(ctx context.Context, conn *bus.Conn, path string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+StreamHost+path, nil)
	if err != nil {
		return nil, err
	}
	return conn.Do(request)
}

// Numbered is a body of so many bytes.
type Numbered struct {
	left int64
	Sum  hash.Hash
	turn byte
}

// NewNumbered returns one that is not read yet.
func NewNumbered(size int64) *Numbered { return &Numbered{left: size, Sum: sha256.New()} }

// Read makes some more, and sums them.
func (e *Numbered) Read(data []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(data)), e.left))
	for i := range n {
		e.turn = e.turn*31 + 7
		data[i] = e.turn
	}
	e.left -= int64(n)
	e.Sum.Write(data[:n])
	return n, nil
}

// Words measures texts.
type Words struct{}

// Length returns how long a text is.
func (Words) Length(text string) (length int) { return len(text) }

// Tick is an item of a stream.
type Tick struct {
	N    int    `json:"n"`
	Text string `json:"text,omitempty"`
}

package serving_test

import (
	"context"
	"iter"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/events"
)

type (
	feed        struct{}
	beside      struct{}
	withoutErrs struct{}
	channels    struct{}
	uploads     struct{}
	likeREST    struct{}
	onStream    struct{}
)

func (feed) Watch(ctx context.Context, category string) iter.Seq2[int, error]   { return nil }
func (feed) All() iter.Seq2[string, error]                                      { return nil }
func (beside) Watch(category string) (changes iter.Seq2[int, error], err error) { return nil, nil }
func (withoutErrs) Watch(category string) iter.Seq[int]                         { return nil }
func (channels) Watch(category string) (changes <-chan int, err error)          { return nil, nil }
func (uploads) Add(numbers iter.Seq[int]) (sum int)                             { return 0 }
func (likeREST) Read(id int) (httpResponseBody string)                          { return "" }
func (likeREST) List() iter.Seq2[string, error]                                 { return nil }
func (onStream) OnOrdered(id int) iter.Seq2[int, error]                         { return nil }

func TestServe_Stream(t *testing.T) {
	t.Parallel()
	conn := bustest.New(t).Connect("feed.example")
	require.NoError(t, bus.Serve(conn, feed{}))
	document, err := bus.OpenAPIOf("feed.example", feed{})
	require.NoError(t, err)
	assert.Contains(t, string(document), `"summary":"Watch(category string) iter.Seq2[int, error]"`)
	assert.Contains(t, string(document), `"application/x-ndjson":{"schema":{"type":"integer","format":"int64"}}`)
}

// TestServe_NoStream reads what is said of methods that nearly stream.
func TestServe_NoStream(t *testing.T) {
	t.Parallel()
	conn := bustest.New(t).Connect("feed.example")
	for _, test := range []struct {
		name string
		err  error
		want string
	}{
		{"an error beside it", bus.Serve(conn, beside{}), "method Watch: result changes is a stream, " +
			"which has to be the only result: yield the error, and put all else into the elements; change it, " +
			"or leave it out with bus.ExcludeMethods(\"Watch\")"},
		{"no errors", bus.Serve(conn, withoutErrs{}), "method Watch: result 1 is an iterator that cannot fail, " +
			"which a stream over the bus can: return an iter.Seq2[int, error]"},
		{"a channel", bus.Serve(conn, channels{}), "method Watch: result changes is a channel, which cannot tell an error: " +
			"for a stream return an iter.Seq2[int, error]"},
		{"an argument", bus.Serve(conn, uploads{}),
			"method Add: argument numbers is an iterator, and callers cannot send a stream: take a slice"},
		{"like REST", bus.Serve(conn, likeREST{}),
			"method List: is named like REST, but streams, which is for RPC style alone: give it another name"},
		{"both styles", bus.Serve(conn, feed{}, bus.Method("Watch", bus.RPCAndREST())),
			"method Watch: streams, which is for RPC style alone: leave out bus.RPCAndREST"},
		{"an event", events.Subscribe(conn, "shop.example", onStream{}),
			"OnOrdered: returns result, which no caller receives: return only an error"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.ErrorContains(t, test.err, test.want)
		})
	}
	require.NoError(t, bus.Serve(conn, likeREST{}, bus.Method("List", bus.RPC())))
}

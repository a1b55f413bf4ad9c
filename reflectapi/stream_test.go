package reflectapi_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi"
)

// Feed streams in each way that there is.
type Feed struct{}

// Points is a name for a stream.
type Points iter.Seq2[*Point, error]

// Count has a context.
func (Feed) Count(_ context.Context, n int) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := range n {
			if !yield(i, nil) {
				return
			}
		}
		yield(0, io.EOF)
	}
}
func (Feed) All() iter.Seq2[Page[Point], error]                       { return nil }
func (Feed) Plain(more ...string) func(yield func(any, error) bool)   { return nil }
func (Feed) Named(since string) (points Points)                       { return nil }
func (Feed) Lists(since string) (lists iter.Seq2[[]Page[int], error]) { return nil }

func TestStream(t *testing.T) {
	t.Parallel()
	service := describe(t, Feed{})
	wantSignatures(t, service,
		"All() iter.Seq2[Page[Point], error]",
		"Count(n int) iter.Seq2[int, error]",
		"Lists(since string) iter.Seq2[[]Page[int], error]",
		"Named(since string) iter.Seq2[*Point, error]",
		"Plain(more ...string) iter.Seq2[any, error]",
	)
	for _, m := range service.Methods {
		assert.True(t, m.Streams, m.Name)
		assert.False(t, m.ReturnsError, m.Name)
	}
	assert.Equal(t, []reflectapi.Value{{Name: "lists", Type: reflect.TypeFor[[]Page[int]]()}},
		method(t, service, "Lists").Results)
	assert.Equal(t, []reflectapi.Value{{Name: "result", Type: reflect.TypeFor[Page[Point]]()}},
		method(t, service, "All").Results)
	assert.False(t, method(t, describe(t, &Calculator{}), "Add").Streams)
}

// A stream without arguments has nothing that callers would name, so that no source is needed.
func TestStream_NeedsNoNames(t *testing.T) {
	t.Parallel()
	_, err := reflectapi.Describe(Feed{}, reflectapi.RequirePortableNames(),
		reflectapi.ExcludeMethods("Count", "Lists", "Named", "Plain"))
	require.NoError(t, err)
	_, err = reflectapi.Describe(Feed{}, reflectapi.RequirePortableNames(),
		reflectapi.ExcludeMethods("All", "Lists", "Named", "Plain"))
	require.ErrorContains(t, err, "method Count: no names for 1 argument (")
}

func TestStream_Call(t *testing.T) {
	t.Parallel()
	count := method(t, describe(t, Feed{}), "Count")
	out, err := count.Call(t.Context(), input(count, 2))
	require.NoError(t, err)
	stream, ok := reflect.TypeAssert[iter.Seq2[int, error]](out)
	require.True(t, ok)
	var numbers []int
	var last error
	for n, err := range stream {
		numbers, last = append(numbers, n), err
	}
	assert.Equal(t, []int{0, 1, 0}, numbers)
	require.ErrorIs(t, last, io.EOF)
}

// writtenIterator writes itself, although it is an iterator.
type writtenIterator func(yield func(int) bool)

func (writtenIterator) MarshalText() ([]byte, error) { return []byte("own"), nil }

func TestStream_OwnEncodingIsNone(t *testing.T) {
	t.Parallel()
	service, err := reflectapi.DescribeSignatures("Feed", "",
		[]reflectapi.Signature{signature("Text", func() writtenIterator { return nil }, "", "text")})
	require.NoError(t, err)
	assert.False(t, service.Methods[0].Streams)
	assert.Equal(t, reflect.TypeFor[writtenIterator](), service.Methods[0].Results[0].Type)
}

func TestStream_Misfits(t *testing.T) {
	t.Parallel()
	const only = "result 1 is a stream, which has to be the only result: yield the error, and put all else into the " +
		"elements"
	for _, test := range []struct {
		name   string
		fn     any
		params string
		names  string
		want   string
	}{
		{"with an error", func() (iter.Seq2[int, error], error) { return nil, errors.ErrUnsupported }, "", "_ _", only},
		{"with a result", func() (iter.Seq2[int, error], int) { return nil, 0 }, "", "_ _", only},
		{"two", func() (a, b iter.Seq2[int, error]) { return nil, nil }, "", "_ _", only + " (also result 2)"},
		{"without errors", func() iter.Seq[int] { return nil }, "", "_",
			"result 1 is an iterator that cannot fail, which a stream over the bus can: return an iter.Seq2[int, error]"},
		{"pairs", func() iter.Seq2[int, string] { return nil }, "", "_",
			"result 1 is an iterator of pairs whose second value is string, not an error: return an iter.Seq2[T, error], " +
				"where T has both values"},
		{"own error", func() iter.Seq2[int, *ownError] { return nil }, "", "_",
			"result 1 is an iterator of pairs whose second value is *reflectapi_test.ownError, not an error: " +
				"return an iter.Seq2[T, error], where T has both values"},
		{"a channel", func() (chan int, error) { return nil, nil }, "", "_ _",
			"result 1 is a channel, which cannot tell an error: for a stream return an iter.Seq2[int, error]"},
		{"an argument", func(iter.Seq[int]) {}, "numbers", "",
			"argument 1 is an iterator, and callers cannot send a stream: take a slice"},
		{"an argument with errors", func(iter.Seq2[int, error]) {}, "numbers", "",
			"argument 1 is an iterator, and callers cannot send a stream: take a slice"},
		{"of channels", func() iter.Seq2[chan int, error] { return nil }, "", "_",
			"result 1 cannot be encoded as JSON: it is of type chan int"},
		{"of streams", func() iter.Seq2[iter.Seq2[int, error], error] { return nil }, "", "_",
			"result 1 cannot be encoded as JSON: it is of type iter.Seq2[int,error]"},
		{"of errors", func() iter.Seq2[error, error] { return nil }, "", "_",
			"result 1 is an error: it can only be the last result"},
		{"no iterator", func() func(func(int, error)) { return nil }, "", "_",
			"result 1 cannot be encoded as JSON: it is of type func(func(int, error))"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := reflectapi.DescribeSignatures("Feed", "",
				[]reflectapi.Signature{signature("Watch", test.fn, test.params, test.names)})
			require.EqualError(t, err, "method Watch: "+test.want+"; change it, or take it out of the interface")
		})
	}
}

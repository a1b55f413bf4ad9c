package restmap_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"math"
	"net/http"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/restmap"
)

// Streams has streams of many kinds.
type Streams struct{ left *bool }

func (Streams) Count(n int) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := range n {
			if !yield(i, nil) {
				return
			}
		}
	}
}

func (s Streams) WatchProducts(ctx context.Context, name string) iter.Seq2[*product, error] {
	return func(yield func(*product, error) bool) {
		defer func() { *s.left = true }()
		_ = yield(&product{Name: name}, nil) && yield(nil, nil) && yield(&product{Price: math.Inf(1)}, nil) &&
			yield(&product{}, io.ErrUnexpectedEOF)
	}
}
func (Streams) Nothing() iter.Seq2[int, error] { return nil }
func (Streams) Lines() func(yield func(json.RawMessage, error) bool) {
	return func(yield func(json.RawMessage, error) bool) { yield(json.RawMessage("{\n  \"a\": [\n1]}\n"), nil) }
}

func (Streams) Texts() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) { yield("caf\xe9\n", nil) }
}

func (Streams) Panic() iter.Seq2[int, error] {
	return func(func(int, error) bool) { panic("the iterator's") }
}
func (Streams) Find(httpRequestBody product) iter.Seq2[product, error] { return nil }

// stream calls a method and ranges over what it returns.
func stream(t *testing.T, method string, arguments ...any) iter.Seq2[[]byte, error] {
	t.Helper()
	e := endpointOf(t, Streams{new(bool)}, method, restmap.Options{})
	in := reflect.New(e.Method.In).Elem()
	for i, argument := range arguments {
		in.Field(i).Set(reflect.ValueOf(argument))
	}
	out, err := e.Method.Call(t.Context(), in)
	require.NoError(t, err)
	return e.Stream(out)
}

func TestStream(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		method    string
		arguments []any
		want      []string
	}{
		{"Count", []any{3}, []string{"0", "1", "2"}},
		{"Count", []any{0}, nil},
		{"Nothing", nil, nil},
		{"Lines", nil, []string{`{"a":[1]}`}},
		{"Texts", nil, []string{"\"caf\ufffd\\n\""}},
	} {
		t.Run(test.method, func(t *testing.T) {
			t.Parallel()
			var texts []string
			for text, err := range stream(t, test.method, test.arguments...) {
				require.NoError(t, err)
				texts = append(texts, string(text))
			}
			assert.Equal(t, test.want, texts)
		})
	}
}

func TestStream_Errors(t *testing.T) {
	t.Parallel()
	var texts, errs []string
	for text, err := range stream(t, "WatchProducts", "tea") {
		if err != nil {
			errs = append(errs, err.Error())
			assert.Nil(t, text)
		} else {
			texts = append(texts, string(text))
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
	}
	assert.Equal(t, []string{`{"name":"tea","price":0,"tags":[]}`, "null"}, texts)
	require.Len(t, errs, 2)
	assert.Contains(t, errs[0], "method WatchProducts: an element cannot be written as JSON: ")
	assert.Equal(t, io.ErrUnexpectedEOF.Error(), errs[1])
}

func TestStream_StopsWithItsConsumer(t *testing.T) {
	t.Parallel()
	left := false
	e := endpointOf(t, Streams{&left}, "WatchProducts", restmap.Options{})
	out, err := e.Method.Call(t.Context(), reflect.New(e.Method.In).Elem())
	require.NoError(t, err)
	for _, err := range e.Stream(out) {
		require.NoError(t, err)
		break
	}
	assert.True(t, left)

	assert.PanicsWithValue(t, "the iterator's", func() { stream(t, "Panic")(func([]byte, error) bool { return true }) })
	left = false
	assert.PanicsWithValue(t, "the consumer's", func() {
		e.Stream(out)(func([]byte, error) bool { panic("the consumer's") })
	})
	assert.True(t, left)
}

// TestStream_Allocations holds what an element costs beside its text: what reflection needs to call a function. The
// race detector takes something out of pools at random.
func TestStream_Allocations(t *testing.T) {
	const elements, ofReflection, text, race = 100, 3, 1, 1
	all := stream(t, "Count", elements)
	allocations := testing.AllocsPerRun(10, func() {
		for _, err := range all {
			assert.NoError(t, err)
		}
	})
	assert.LessOrEqual(t, allocations, float64(elements*(ofReflection+text+race)))
}

func TestMap_Stream(t *testing.T) {
	t.Parallel()
	count := endpointOf(t, Streams{}, "Count", restmap.Options{})
	assert.Equal(t, reflect.TypeFor[int](), count.Element())
	assert.Equal(t, restmap.RPC, count.Style)
	assert.Equal(t, []string{"GET /count", "POST /count"}, []string{count.Routes[0].String(), count.Routes[1].String()})
	assert.Equal(t, reflect.TypeFor[*product](), endpointOf(t, Streams{}, "WatchProducts", restmap.Options{}).Element())
	assert.Nil(t, endpointOf(t, Outputs{}, "Sum", restmap.Options{}).Element())
	handler, err := restmap.Handler("GET", "/files")
	require.NoError(t, err)
	assert.Nil(t, handler.Element())
	assert.False(t, count.GiveValues(reflect.ValueOf(0), reflect.ValueOf(&struct{}{}).Elem(), false, 100))

	options := restmap.Options{Methods: map[string]restmap.MethodOptions{"Count": {Path: "/numbers/{n}",
		HTTPMethod: http.MethodGet}}}
	at := endpointOf(t, Streams{}, "Count", options)
	assert.Equal(t, "GET /numbers/{n}", at.ClientRoute().String())
}

type (
	listed struct{ ProductService }
	named  struct{}
	coded  struct{}
	ended  struct{}
)

func (listed) ListAll(limit int) iter.Seq2[product, error]             { return nil }
func (named) Watch(n int) (httpResponseBody iter.Seq2[product, error]) { return nil }
func (coded) Watch(n int) (httpStatusCode iter.Seq2[int, error])       { return nil }
func (ended) WatchREST() iter.Seq2[int, error]                         { return nil }

func TestMap_StreamErrors(t *testing.T) {
	t.Parallel()
	const rest = "streams, which is for RPC style alone: "
	for _, test := range []struct {
		name    string
		impl    any
		method  string
		options restmap.MethodOptions
		want    string
	}{
		{"among REST", listed{}, "ListAll", restmap.MethodOptions{},
			"method ListAll: is named like REST, but " + rest + "give it another name, or say that RPC is meant, " +
				"with bus.RPC() or with //busline:route POST /list-all in its interface"},
		{"with the suffix", ended{}, "WatchREST", restmap.MethodOptions{},
			"method WatchREST: is named like REST, but " + rest},
		{"as both", Streams{}, "Count", restmap.MethodOptions{Both: true},
			"method Count: " + rest + "leave out bus.RPCAndREST"},
		{"as the body", named{}, "Watch", restmap.MethodOptions{}, "method Watch: httpResponseBody is a stream, " +
			"of which every element is written by itself: give the result another name, or none"},
		{"as the status", coded{}, "Watch", restmap.MethodOptions{},
			"method Watch: httpStatusCode is a stream, of which every element is written by itself: " +
				"give the result another name, or none"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := restmap.Map(describe(t, test.impl),
				restmap.Options{Methods: map[string]restmap.MethodOptions{test.method: test.options}})
			require.ErrorContains(t, err, test.want)
		})
	}
	for _, impl := range []any{listed{}, ended{}} {
		method := describe(t, impl).Methods[slices.IndexFunc(describe(t, impl).Methods,
			func(m *reflectapi.Method) bool { return m.Streams })].Name
		e := endpointOf(t, impl, method, restmap.Options{Methods: map[string]restmap.MethodOptions{method: {RPC: true}}})
		assert.Equal(t, restmap.RPC, e.Style)
	}
}

func TestMap_StreamWithStatus(t *testing.T) {
	t.Parallel()
	service, err := reflectapi.DescribeSignatures("Feed", "", []reflectapi.Signature{{
		Name: "Watch", Func: reflect.TypeFor[func() iter.Seq2[int, error]](), Results: []string{""},
		Declared: reflectapi.Declared{Statuses: []int{http.StatusCreated}},
	}})
	require.NoError(t, err)
	_, err = restmap.Map(service, restmap.Options{})
	require.EqualError(t, err,
		"method Watch: //busline:status: the method streams, and has the status 200 before its first element: leave it out")
}

package restmap_test

import (
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/restmap"
)

// Outputs has results of many kinds.
type Outputs struct{}

func (Outputs) None()                                                     {}
func (Outputs) Sum() (sum int, tags []string)                             { return }
func (Outputs) Body() (httpResponseBody []product)                        { return }
func (Outputs) Status() (id int, httpStatusCode int)                      { return }
func (Outputs) StatusAndBody() (httpStatusCode int, httpResponseBody any) { return }
func (Outputs) Float() (f float64)                                        { return }

// results fills the Out struct of an endpoint.
func results(e *restmap.Endpoint, values ...any) reflect.Value {
	out := reflect.New(e.Method.Out).Elem()
	for i, value := range values {
		if value != nil {
			out.Field(i).Set(reflect.ValueOf(value))
		}
	}
	return out
}

func TestEncode(t *testing.T) {
	t.Parallel()
	tests := []struct {
		method string
		values []any
		status int
		body   string
	}{
		{"None", nil, 200, `{}`},
		{"Sum", []any{11}, 200, `{"sum":11,"tags":[]}`},
		{"Body", nil, 200, `[]`},
		{"Body", []any{[]product{{Name: "Tea"}}}, 200, `[{"name":"Tea","price":0,"tags":[]}]`},
		{"Sum", []any{1, []string{"caf\xe9", "\xff\xfe"}}, 200, "{\"sum\":1,\"tags\":[\"caf\ufffd\",\"\ufffd\ufffd\"]}"},
		{"Body", []any{[]product{{Name: "\xff"}}}, 200, "[{\"name\":\"\ufffd\",\"price\":0,\"tags\":[]}]"},
		{"Status", []any{7, 201}, 201, `{"id":7}`},
		{"Status", []any{7, 0}, 200, `{"id":7}`},
		{"Status", []any{7, 204}, 204, ``},
		{"Status", []any{7, 205}, 205, ``},
		{"StatusAndBody", []any{404, "none"}, 404, `"none"`},
		{"StatusAndBody", []any{304, "none"}, 304, ``},
		{"StatusAndBody", []any{599, nil}, 599, `null`},
	}
	for _, test := range tests {
		e := endpointOf(t, Outputs{}, test.method, restmap.Options{})
		out := results(e, test.values...)
		for _, out := range []reflect.Value{out, reflect.ValueOf(out.Interface())} {
			got, err := e.Encode(out)
			require.NoError(t, err, "%s, %v", test.method, test.values)
			assert.Equal(t, test.status, got.Status, "%s, %v", test.method, test.values)
			assert.Equal(t, test.body, string(got.Body), "%s, %v", test.method, test.values)
			if hasType := got.ContentType == "application/json"; hasType != (test.body != "") {
				t.Errorf("Encode of %s %v has the content type %q", test.method, test.values, got.ContentType)
			}
		}
	}
}

func TestEncode_Refuses(t *testing.T) {
	t.Parallel()
	const statusWant = "; it has to be from 200 to 599, or 0 for 200"
	tests := []struct {
		method string
		values []any
		want   string
	}{
		{"Status", []any{7, 99}, "method Status: httpStatusCode is 99" + statusWant},
		{"Status", []any{7, 100}, "method Status: httpStatusCode is 100" + statusWant},
		{"Status", []any{7, 199}, "method Status: httpStatusCode is 199" + statusWant},
		{"Status", []any{7, 600}, "method Status: httpStatusCode is 600" + statusWant},
		{"Status", []any{7, -1}, "method Status: httpStatusCode is -1" + statusWant},
		{"StatusAndBody", []any{200, make(chan int)}, ""},
		{"Float", []any{math.NaN()}, ""},
	}
	for _, test := range tests {
		e := endpointOf(t, Outputs{}, test.method, restmap.Options{})
		_, err := e.Encode(results(e, test.values...))
		if err == nil || test.want != "" && err.Error() != test.want {
			t.Errorf("Encode of %s %v = %v, want %s", test.method, test.values, err, test.want)
		}
	}
}

// TestEncode_Allocations holds how often plain results allocate: once, for the body. It takes the least of many times:
// the race detector takes something out of pools at random.
func TestEncode_Allocations(t *testing.T) {
	e := endpointOf(t, Outputs{}, "Sum", restmap.Options{})
	out := results(e, 11, []string{"a"})
	least := math.Inf(1)
	for range 100 {
		least = min(least, testing.AllocsPerRun(1, func() { _, _ = e.Encode(out) }))
	}
	if least != 1 {
		t.Errorf("Encode allocates %v times, want 1", least)
	}
}

func BenchmarkEncode(b *testing.B) {
	e := endpointOf(b, Outputs{}, "Sum", restmap.Options{})
	out := results(e, 11, []string{"a"})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Encode(out); err != nil {
			b.Fatal(err)
		}
	}
}

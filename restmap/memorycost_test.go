package restmap_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi/strictjson"
	"github.com/busline/busline/restmap"
)

// wide is large in memory, and {} in JSON.
type wide struct {
	Numbers [128]int64        `json:"numbers"`
	Next    *wide             `json:"next"`
	Names   map[string]string `json:"names"`
}

func (Inputs) Wide(all []wide)                        {}
func (Inputs) Pointers(all []*wide)                   {}
func (Inputs) Large(all []large)                      {}
func (Inputs) Numbers(all []float64)                  {}
func (Inputs) Rows(httpRequestBody map[string][]wide) {}

// large is as wide, and plain.
type large struct {
	A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P, Q, R, S, T string
}

// TestWeight has texts become what is much larger in memory, as bodies and in a form.
func TestWeight(t *testing.T) {
	t.Parallel()
	list := func(element string, count int) string {
		return "[" + strings.Repeat(element+",", count-1) + element + "]"
	}
	const record = `{"sku":"a","n":1,"notes":["b"]}`
	tests := []struct {
		method, contentType, body string
		want                      string // "" for what is taken
	}{
		{"Open", jsonType, `{"x":` + list("{}", 1_870_000) + `}`,
			"the body holds so many values that they would take 129 MiB of memory; the limit is 128 MiB: send less at a time"},
		{"Echo", jsonType, list("0", 5_700_000), "the body holds so many values that they would take 131 MiB"},
		{"Echo", jsonType, list(`{"":0}`, 355_000), ""},
		{"Echo", jsonType, list(`{"":0}`, 375_000), "the body holds so many values that they would take 132 MiB"},
		{"Wide", jsonType, `{"all":` + list("{}", 119_000) + `}`, ""},
		{"Wide", jsonType, `{"all":` + list("null", 130_000) + `}`,
			"the body holds so many values that they would take 129 MiB"},
		{"Pointers", jsonType, `{"all":` + list("{}", 130_000) + `}`, "the body holds so many values"},
		{"Large", jsonType, `{"all":` + list("{}", 400_000) + `}`, ""},
		{"Large", jsonType, `{"all":` + list("{}", 430_000) + `}`,
			"the body holds so many values that they would take 132 MiB"},
		{"Rows", jsonType, `{"a":` + list("{}", 130_000) + `}`, "the body holds so many values"},
		{"Wide", formType, `all=` + list("{}", 130_000), "all (body): holds so many values that they would take 135 MiB of " +
			"memory; the limit is 128 MiB: send less at a time"},
		// what fills the 4 MiB that a function takes
		{"Numbers", jsonType, `{"all":` + list("0", 2<<20-8) + `}`, ""},
		{"Open", jsonType, `{"x":` + list(`{"x":1,"y":2}`, 4<<20/14-1) + `}`, ""},
		{"Objects", jsonType, `{"lines":` + list(record, 4<<20/len(record)) + `}`, ""},
	}
	for _, test := range tests {
		_, err := endpoint(t, test.method).Decode(&restmap.Request{ContentType: test.contentType, Body: []byte(test.body)})
		got, refused := errors.AsType[*restmap.InputError](err)
		if refused != (test.want != "") || refused && (got.Status != 400 || !strings.HasPrefix(got.Detail, test.want)) {
			t.Errorf("%s of %.30s…, %d bytes: %v, want %s", test.method, test.body, len(test.body), err, test.want)
		}
	}
}

// TestMemory_HeavyBodiesTakeTurns decodes more of them at a time than may be parsed at once; one is malformed, and
// gives its turn back.
func TestMemory_HeavyBodiesTakeTurns(t *testing.T) {
	t.Parallel()
	e := endpoint(t, "Echo")
	body := strings.Repeat("{},", 100_000)
	var decoding sync.WaitGroup
	for i := range 4 * runtime.GOMAXPROCS(0) {
		decoding.Go(func() {
			text := "[" + body + "{}]"
			if i%2 == 0 {
				text = "[" + body
			}
			if _, err := e.Decode(&restmap.Request{ContentType: jsonType, Body: []byte(text)}); (err == nil) == (i%2 == 0) {
				t.Error(err)
			}
		})
	}
	decoding.Wait()
}

// TestMemory_TooHeavyAllocatesNothing has what the ingress lets pass become more than a GiB, were it read.
func TestMemory_TooHeavyAllocatesNothing(t *testing.T) {
	for method, body := range map[string]string{
		"Echo": "[" + strings.Repeat("{},", 31<<20/3) + "{}]",
		"Wide": `{"all":[` + strings.Repeat("{},", 31<<20/3) + "{}]}",
	} {
		e := endpoint(t, method)
		request := &restmap.Request{Query: "y=1", ContentType: jsonType, Body: []byte(body)}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := e.Decode(request)
		runtime.ReadMemStats(&after)
		assert.ErrorContains(t, err, ": send less at a time", method)
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 1<<20 {
			t.Errorf("%s allocates %d bytes", method, allocated)
		}
	}
}

// TestMemory_EchoKeepsDigits is what a function without types of its own gives back.
func TestMemory_EchoKeepsDigits(t *testing.T) {
	t.Parallel()
	decode, encode := endpoint(t, "Echo"), endpointOf(t, Outputs{}, "StatusAndBody", restmap.Options{})
	for _, body := range []string{`[9007199254740993,-9223372036854775808,18446744073709551615]`,
		`{"a":123456789012345678901234567890}`} {
		in, err := decode.Decode(&restmap.Request{ContentType: jsonType, Body: []byte(body)})
		require.NoError(t, err)
		got, err := encode.Encode(results(encode, 200, in.Field(0).Interface()))
		require.NoError(t, err)
		assert.Equal(t, body, string(got.Body))
	}
	in, err := endpoint(t, "Open").Decode(&restmap.Request{Query: "x=9007199254740993"})
	require.NoError(t, err)
	assert.Equal(t, "9007199254740993", fmt.Sprint(in.Field(0).Interface()))
}

type narrow struct {
	Tight  int8   `json:"tight,omitempty" jsonschema:"minimum=-5,maximum=5"`
	Loose  int8   `json:"loose,omitempty" jsonschema:"minimum=-1000,maximum=1000"`
	Open   uint16 `json:"open,omitempty" jsonschema:"exclusiveMaximum=65535"`
	Beyond uint8  `json:"beyond,omitempty" jsonschema:"exclusiveMaximum=256"`
}

// TestMemory_IntegerWidthsOfTheDocument: an integer fits its type when the document says so, and not otherwise,
// wherever it stands. No tag makes a document wider than the type.
func TestMemory_IntegerWidthsOfTheDocument(t *testing.T) {
	t.Parallel()
	numbers := []int64{
		math.MinInt32 - 1, math.MinInt32, math.MinInt16 - 1, math.MinInt16, math.MinInt8 - 1, math.MinInt8, -6, -5,
		-1, 0, 1, 5, 6,
		math.MaxInt8, math.MaxInt8 + 1, math.MaxUint8, math.MaxUint8 + 1, math.MaxInt16, math.MaxInt16 + 1,
		math.MaxUint16 - 1, math.MaxUint16, math.MaxUint16 + 1, math.MaxInt32, math.MaxInt32 + 1, math.MaxUint32,
		math.MaxUint32 + 1,
	}
	for _, test := range []struct {
		typ  reflect.Type
		form string
	}{
		{reflect.TypeFor[int](), "%d"},
		{reflect.TypeFor[int8](), "%d"},
		{reflect.TypeFor[int16](), "%d"},
		{reflect.TypeFor[int32](), "%d"},
		{reflect.TypeFor[int64](), "%d"},
		{reflect.TypeFor[uint](), "%d"},
		{reflect.TypeFor[uint8](), "%d"},
		{reflect.TypeFor[uint16](), "%d"},
		{reflect.TypeFor[uint32](), "%d"},
		{reflect.TypeFor[uint64](), "%d"},
		{reflect.TypeFor[*int8](), "%d"},
		{reflect.TypeFor[[]int16](), "[%d]"},
		{reflect.TypeFor[[1]uint8](), "[%d]"},
		{reflect.TypeFor[map[string]uint16](), `{"a":%d}`},
		{reflect.TypeFor[[]map[string][]*uint32](), `[{"a":[%d]}]`},
		{reflect.TypeFor[narrow](), `{"tight":%d}`},
		{reflect.TypeFor[narrow](), `{"loose":%d}`},
		{reflect.TypeFor[narrow](), `{"open":%d}`},
		{reflect.TypeFor[narrow](), `{"beyond":%d}`},
	} {
		endpoint := endpointFor(t, test.typ)
		validator, _ := validatorsOf(t, endpoint.Method.In)
		for _, number := range numbers {
			data := fmt.Sprintf(`{"p":`+test.form+`}`, number)
			var body any
			require.NoError(t, strictjson.Unmarshal([]byte(data), &body))
			_, refused := endpoint.Decode(&restmap.Request{ContentType: jsonType, Body: []byte(data)})
			if violation := validator.VisitJSON(body); (refused == nil) != (violation == nil) {
				t.Errorf("%v: %s\nwe say %v, the document says %v", test.typ, data, refused, violation)
			}
		}
	}
}

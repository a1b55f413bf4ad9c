package strictjson_test

import (
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi/strictjson"
)

type shape interface{ area() float64 }

type circle struct {
	Radius float64 `json:"radius"`
}

func (c circle) area() float64 { return 3 * c.Radius * c.Radius }

type square struct {
	Side int            `json:"side"`
	Tags map[string]any `json:"tags,omitempty"`
}

func (s *square) area() float64 { return float64(s.Side * s.Side) }

// group holds shapes, and says itself that it is one.
type group struct {
	Kind  string  `json:"kind"`
	Parts []shape `json:"parts"`
}

func (g group) area() (sum float64) {
	for _, part := range g.Parts {
		sum += part.area()
	}
	return sum
}

type empty struct{}

func (empty) area() float64 { return 0 }

type drawing struct {
	Title  string           `json:"title"`
	Main   shape            `json:"main"`
	Frame  shape            `json:"frame,omitzero"`
	Others []shape          `json:"others"`
	Named  map[string]shape `json:"named,omitempty"`
	Maybe  *shape           `json:"maybe,omitempty"`
	Any    any              `json:"any,omitempty"`
}

var _ = register()

func register() struct{} {
	strictjson.RegisterUnion[shape]("kind", "", []strictjson.Variant{
		{Name: "circle", Type: reflect.TypeFor[circle]()},
		{Name: "square", Type: reflect.TypeFor[*square]()},
		{Name: "group", Type: reflect.TypeFor[group]()},
		{Name: `"no\thing"`, Type: reflect.TypeFor[empty]()},
		{Name: "loop", Type: reflect.TypeFor[ring]()},
	})
	return struct{}{}
}

func TestUnion_ThereAndBack(t *testing.T) {
	t.Parallel()
	inner := shape(&square{Side: 2, Tags: map[string]any{"n": int64(9007199254740993)}})
	for text, value := range map[string]any{
		`{"kind":"circle","radius":1.5}`: held(circle{1.5}),
		`{"kind":"square","side":2}`:     held(&square{Side: 2}),
		`{"kind":"\"no\\thing\""}`:       held(empty{}),
		`{"kind":"group","parts":[{"kind":"group","parts":[]},{"kind":"circle","radius":1}]}`: held(
			group{"group", []shape{group{"group", []shape{}}, circle{1}}}),
		`[{"kind":"circle","radius":0}]`: &[]shape{circle{}},
		`{"title":"a","main":{"kind":"circle","radius":0},"others":[],` +
			`"named":{"x":{"kind":"square","side":0}},"maybe":{"kind":"square","side":2,"tags":{"n":9007199254740993}}}`: &drawing{
			Title: "a", Main: circle{}, Others: []shape{}, Named: map[string]shape{"x": &square{}}, Maybe: &inner},
	} {
		written, err := strictjson.Marshal(value)
		require.NoError(t, err)
		assert.Equal(t, text, string(written))
		read := reflect.New(reflect.TypeOf(value).Elem())
		require.NoError(t, strictjson.Unmarshal([]byte(text), read.Interface()))
		assert.Equal(t, value, read.Interface())
		known := reflect.New(reflect.TypeOf(value).Elem())
		require.NoError(t, strictjson.UnmarshalKnown([]byte(text), known.Interface()), "the discriminator is known")
		assert.Equal(t, value, known.Interface())
	}
}

// held returns a shape that can be read and written.
func held(s shape) *shape { return &s } //nolint:gocritic,modernize // an any would not tell that it is a union

// TestUnion_InAny writes a union that is in an any, whose type no plan knows before.
func TestUnion_InAny(t *testing.T) {
	t.Parallel()
	written, err := strictjson.Marshal(drawing{Main: circle{1}, Others: []shape{group{Parts: []shape{}}},
		Any: []any{drawing{Main: &square{}, Others: []shape{}}}})
	require.NoError(t, err)
	assert.Equal(t, `{"title":"","main":{"kind":"circle","radius":1},"others":[{"kind":"group","parts":[]}],`+
		`"any":[{"title":"","main":{"kind":"square","side":0},"others":[]}]}`, string(written))
}

func TestUnion_Order(t *testing.T) {
	t.Parallel()
	var read shape
	require.NoError(t, strictjson.Unmarshal([]byte(` { "side" : 3 , "kind" : "square" } `), &read))
	assert.Equal(t, &square{Side: 3}, read)
	require.NoError(t, strictjson.Unmarshal([]byte(`null`), &read))
	assert.Nil(t, read)
}

func TestUnion_BadInput(t *testing.T) {
	t.Parallel()
	const choices = `, which is one of circle, square, group, "no\thing", loop`
	for text, want := range map[string]string{
		`{"main":{"kind":"cube"}}`:                       `/main/kind expects one of circle, square, group, "no\thing", loop`,
		`{"main":{"kind":1}}`:                            `/main/kind expects one of circle, square, group, "no\thing", loop`,
		`{"main":{"kind":null}}`:                         `/main/kind expects one of circle, square, group, "no\thing", loop`,
		`{"main":{"radius":1}}`:                          "/main has no kind" + choices,
		`{"main":{}}`:                                    "/main has no kind" + choices,
		`{"main":"circle"}`:                              "/main expects an object with kind" + choices,
		`{"others":[{"kind":"circle","radius":"x"}]}`:    "/others/0/radius expects a number",
		`{"main":{"kind":"group","parts":[{},{"a":1}]}}`: "/main/parts/0 has no kind" + choices,
		`{"main":{"kind":"square","kind":"circle"}}`:     "/main/kind is given twice",
		`{"main":{"kind":"square","side":1.5}}`:          "/main/side expects an integer",
		`{"main":{"kind":"square","side":1`:              "/main is not valid JSON: it ends too early",
	} {
		var read drawing
		err := strictjson.Unmarshal([]byte(text), &read)
		assert.EqualError(t, err, want, text)
	}
	var read drawing
	err := strictjson.UnmarshalKnown([]byte(`{"main":{"kind":"circle","radios":1}}`), &read)
	require.EqualError(t, err, "/main/radios is unknown")
	assert.True(t, strictjson.IsUnknown(err))
}

func TestUnion_BadValue(t *testing.T) {
	t.Parallel()
	_, err := strictjson.Marshal(drawing{})
	require.ErrorContains(t, err,
		`strictjson_test.shape is nil: set it to one of circle, square, group, "no\thing", loop, or leave it out with the json option omitzero`)
	_, err = strictjson.Marshal(drawing{Main: (*square)(nil)})
	require.ErrorContains(t, err, "strictjson_test.shape holds a nil *strictjson_test.square: set it to nil itself")
	_, err = strictjson.Marshal(drawing{Main: circle{}, Others: []shape{circle{}, &square{Tags: map[string]any{"a": func() {}}}}})
	require.ErrorContains(t, err, `"/others/1/tags/a"`, "the whole path")
	_, err = strictjson.Marshal(drawing{Main: &circle{}})
	require.ErrorContains(t, err, "a *strictjson_test.circle is none of the variants of strictjson_test.shape: circle, square,")
}

// TestUnion_Cycle refuses a value that contains itself, as it does for structs.
func TestUnion_Cycle(t *testing.T) {
	t.Parallel()
	endless := &group{Parts: make([]shape, 1)}
	endless.Parts[0] = ring{endless}
	_, err := strictjson.Marshal(held(ring{endless}))
	require.ErrorContains(t, err, "cycle")
}

// ring holds a group.
type ring struct {
	In *group `json:"in"`
}

func (ring) area() float64 { return 0 }

// TestUnion_Allocations holds the writing of a plain variant to the cost of a struct: its text.
func TestUnion_Allocations(t *testing.T) {
	type holder struct {
		Main shape `json:"main"`
	}
	held := reflect.ValueOf(&holder{circle{1}}).Elem()
	plan := strictjson.PlanOf(held.Type())
	least := math.Inf(1)
	for range 100 { // the race detector has a pool drop some of what is put back
		least = min(least, testing.AllocsPerRun(1, func() { _, _ = plan.Marshal(held) }))
	}
	assert.LessOrEqual(t, least, 1.0)
}

type odd interface{ isOdd() }

// even is left to the library, as its map is not plain.
type even struct {
	Halves map[int]bool `json:"halves"`
}

func (even) isOdd() {}

// TestUnion_OddNames writes a discriminator that a json tag has to quote.
func TestUnion_OddNames(t *testing.T) {
	for _, discriminator := range []string{"@type", "a b", "ü", "x.y", "<&>"} { //nolint:paralleltest // each replaces the last
		strictjson.RegisterUnion[odd](discriminator, "", []strictjson.Variant{{Name: "even", Type: reflect.TypeFor[even]()}})
		var read odd
		written, err := strictjson.Marshal(&[]odd{even{map[int]bool{2: true}}}[0])
		require.NoError(t, err, discriminator)
		require.NoError(t, strictjson.UnmarshalKnown(written, &read), string(written))
		assert.Equal(t, even{map[int]bool{2: true}}, read)
	}
}

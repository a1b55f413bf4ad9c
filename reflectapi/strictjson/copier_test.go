package strictjson_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/reflectapi/strictjson"
)

// figures is a struct without references.
type figures struct {
	Number int     `json:"number"`
	Small  int8    `json:"small,omitempty"`
	Count  uint32  `json:"count"`
	Ratio  float64 `json:"ratio"`
	Single float32 `json:"single"`
	Flag   bool    `json:"flag,omitempty"`
	Text   string  `json:"text,omitempty"`
	Inner  corner  `json:"inner"`
	Hidden string  `json:"-"`
	More   corner
}

type corner struct {
	X, Y  int
	Label string
}

// others has some of the same fields, in another order and under other Go names.
type others struct {
	Label  string `json:"text"`
	Inner  struct{ Y, Z int }
	Whole  int     `json:"number"`
	Ratio  float64 `json:"ratio"`
	Absent string
	Flag   bool `json:"flag"`
}

// FuzzCopier holds copies against what comes of writing and reading a value.
func FuzzCopier(f *testing.F) {
	f.Add("a", 1, uint32(2), 1.5, true, 1<<20)
	f.Add("\xff", -1, uint32(0), math.NaN(), false, 1<<20)
	f.Add("\x00\u2028é", 0, uint32(1), math.Inf(1), false, 300)
	f.Add(strings.Repeat("\x01", 50), 0, uint32(1), math.Copysign(0, -1), false, 500)
	f.Fuzz(func(t *testing.T, text string, number int, count uint32, ratio float64, flag bool, limit int) {
		from := figures{
			Number: number, Small: int8(number), Count: count, Ratio: ratio, Single: float32(ratio), Flag: flag, Text: text,
			Inner: corner{number, 2, text}, Hidden: text, More: corner{Label: text},
		}
		for _, anyCase := range []bool{false, true} {
			compareCopies(t, from, &figures{Text: "before", Hidden: "before", Small: 3}, anyCase, limit)
			compareCopies(t, from, &others{Label: "before", Whole: 7}, anyCase, limit)
			compareCopies(t, from, &struct{ NUMBER int }{}, anyCase, limit)
			compareCopies(t, from, &struct{}{}, anyCase, limit)
			compareCopies(t, struct{ A, B string }{text, text}, &struct{ A string }{}, anyCase, limit)
		}
		compareFill(t, map[string]any{"number": number, "small": int64(int8(number)), "count": number, "ratio": ratio,
			"text": text}, limit)
		compareFill(t, map[string]any{"flag": flag, "single": ratio, "none": text, "inner": number}, limit)
		compareFill(t, map[string]any{text: number, "Number": number, "text": flag, "ratio": number}, limit)
	})
}

// compareCopies copies with a copier, if there is one that accepts the value, and compares the result with that via the
// text.
func compareCopies(t *testing.T, from, into any, anyCase bool, limit int) {
	t.Helper()
	source, target := reflect.ValueOf(from), reflect.ValueOf(into).Elem()
	want := reflect.New(target.Type())
	want.Elem().Set(target)
	copier := strictjson.NewCopier(source.Type(), target.Type(), anyCase)
	if copier == nil || !copier.Copy(source, target, limit) {
		return
	}
	read := strictjson.Unmarshal
	if anyCase {
		read = strictjson.UnmarshalAnyCase
	}
	compareWithText(t, from, into, want.Interface(), limit, read)
}

func compareFill(t *testing.T, members map[string]any, limit int) {
	t.Helper()
	got, want := &figures{Text: "before"}, &figures{Text: "before"}
	if strictjson.PlanOf(reflect.TypeFor[figures]()).Fill(reflect.ValueOf(got).Elem(), members, limit) {
		compareWithText(t, members, got, want, limit, strictjson.Unmarshal)
	}
}

func compareWithText(t *testing.T, from, got, want any, limit int, read func([]byte, any) error) {
	t.Helper()
	text, err := strictjson.Marshal(from)
	if err != nil {
		t.Fatalf("%+v was copied, and has no text: %v", from, err)
	}
	if len(text) > limit {
		t.Fatalf("%+v was copied, and its text has %d bytes, more than %d", from, len(text), limit)
	}
	if err := read(text, want); err != nil {
		t.Fatalf("%+v was copied to %T, which does not take it: %v", from, want, err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v became %+v, by way of %s %+v", from, got, text, want)
	}
}

// TestNewCopier says for which types there is one.
func TestNewCopier(t *testing.T) {
	t.Parallel()
	type number struct{ A int }
	for _, test := range []struct {
		from, to any
		anyCase  bool
		want     bool
	}{
		{number{}, number{}, false, true},
		{number{}, struct{}{}, false, true},
		{struct{}{}, number{}, false, true},
		{number{}, struct{ A int64 }{}, false, true},
		{number{}, struct{ A int32 }{}, false, false},
		{number{}, struct{ A uint }{}, false, false},
		{number{}, struct{ A float64 }{}, false, false},
		{number{}, struct{ A *int }{}, false, false},
		{struct{ A []int }{}, struct{ A []int }{}, false, false},
		{struct{ A *int }{}, struct{}{}, false, false},
		{struct{ A any }{}, struct{ A any }{}, false, false},
		{struct{ A map[string]int }{}, struct{ A map[string]int }{}, false, false},
		{struct{ A [2]int }{}, struct{ A [2]int }{}, false, false},
		{struct{ A, B int }{}, struct {
			A int `json:"B"`
			B int `json:"A"`
		}{}, false, true},
		{struct {
			A int `json:"a"`
			B int `json:"A"`
		}{}, number{}, true, false},
		{number{}, struct {
			A int `json:"a"`
			B int `json:"A"`
		}{}, true, false},
		{number{}, 1, false, false},
		{1, number{}, false, false},
	} {
		if got := strictjson.NewCopier(reflect.TypeOf(test.from), reflect.TypeOf(test.to),
			test.anyCase) != nil; got != test.want {
			t.Errorf("from %T to %T (any case: %t): %t", test.from, test.to, test.anyCase, got)
		}
	}
}

// TestNewCopier_Depth holds that a copier exists only for types whose text Unmarshal accepts.
func TestNewCopier_Depth(t *testing.T) {
	t.Parallel()
	nested := reflect.TypeFor[struct{}]()
	for depth := 1; depth <= strictjson.MaxDepth+1; depth++ {
		if got, want := strictjson.NewCopier(nested, nested, false) != nil, depth <= strictjson.MaxDepth; got != want {
			t.Errorf("for structs %d deep: %t, want %t", depth, got, want)
		}
		nested = reflect.StructOf([]reflect.StructField{{Name: "Inner", Type: nested}})
	}
}

// Names that differ only in case are left to the reader of the text.
func TestNewCopier_Case(t *testing.T) {
	t.Parallel()
	from, to := reflect.TypeFor[struct{ Sum int }](), reflect.TypeFor[struct{ SUM int }]()
	assert.Nil(t, strictjson.NewCopier(from, to, false))
	assert.NotNil(t, strictjson.NewCopier(from, to, true))
	into := reflect.New(from).Elem()
	assert.False(t, strictjson.PlanOf(from).Fill(into, map[string]any{"SUM": 1}, 100))
	assert.True(t, strictjson.PlanOf(from).Fill(into, map[string]any{"Sum": 1}, 100))
}

// A copier reports fields without a counterpart, and there is no copier if no field has one.
func TestNewCopier_Partial(t *testing.T) {
	t.Parallel()
	type inner struct{ A int }
	type whole struct {
		Sum int
		In  inner
	}
	none, sum := reflect.TypeFor[struct{ Total int }](), reflect.TypeFor[struct{ Sum int }]()
	all := reflect.TypeFor[whole]()
	assert.Nil(t, strictjson.NewCopier(all, none, false))
	assert.True(t, strictjson.NewCopier(all, sum, false).Partial())
	assert.False(t, strictjson.NewCopier(sum, all, false).Partial())
	assert.True(t, strictjson.NewCopier(all, reflect.TypeFor[struct{ In struct{} }](), false).Partial())
	assert.False(t, strictjson.PlanOf(sum).Fill(reflect.New(sum).Elem(), map[string]any{"Sum": 1, "Other": 2}, 100))
}

// TestCopier_AllocatesNothing, not even for texts, which are shared because they cannot change.
func TestCopier_AllocatesNothing(t *testing.T) {
	type few struct {
		Label string `json:"text"`
		Whole int    `json:"number"`
	}
	from, into := figures{Text: strings.Repeat("a", 1000)}, few{}
	source, target := reflect.ValueOf(&from).Elem(), reflect.ValueOf(&into).Elem()
	copier := strictjson.NewCopier(source.Type(), target.Type(), false)
	members, plan := map[string]any{"text": from.Text, "number": 1000}, strictjson.PlanOf(target.Type())
	if got := testing.AllocsPerRun(100, func() {
		if !copier.Copy(source, target, 1<<20) || !plan.Fill(target, members, 1<<20) {
			t.Fatal("not copied")
		}
	}); got != 0 {
		t.Errorf("copying allocates %v times", got)
	}
	assert.Equal(t, from.Text, into.Label)
	assert.Equal(t, 1000, into.Whole)
}

func BenchmarkCopier(b *testing.B) {
	from, into := struct{ X, Y int }{1, 2}, struct{ X, Y int }{}
	source, target := reflect.ValueOf(&from).Elem(), reflect.ValueOf(&into).Elem()
	copier := strictjson.NewCopier(source.Type(), target.Type(), false)
	b.ReportAllocs()
	for b.Loop() {
		copier.Copy(source, target, 1<<20)
	}
}

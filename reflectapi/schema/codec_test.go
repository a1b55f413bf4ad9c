package schema_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/reflectapi/strictjson"
)

type (
	trailing struct {
		Name string `json:"name,"` //nolint:revive,staticcheck // what is tested
	}
	doubled struct {
		Count int `json:"count,omitempty,omitempty"` //nolint:staticcheck // what is tested
	}
	Number   int
	promoted struct {
		Number
		Name string
	}
	base    struct{ ID int }
	derived struct {
		*base
		Name string
	}
	mayBeRead struct {
		*selfRead // is nil when its method is called
		Name      string
	}
	quotedText struct {
		Name string `json:",string"`
	}
	quotedList struct {
		Inner []struct {
			Counts []int `json:",string"` //nolint:staticcheck // what is tested
		}
	}
)

// taker takes a value of a type.
type taker[T any] struct{}

func (taker[T]) Take(value T) (ok bool) { return true }

// TestCodecRefuses finds out at registration what the codec would say of every value.
func TestCodecRefuses(t *testing.T) {
	t.Parallel()
	for want, impl := range map[string]any{
		"Go struct field Count has duplicate appearance of `omitempty` tag option": taker[*doubled]{},
		"argument value cannot be read from JSON: schema_test.derived embeds *schema_test.base, a pointer to a struct that " +
			"is not exported: embed it without the pointer, or export it; change it, " +
			"or leave it out with bus.ExcludeMethods(\"Take\")": taker[[]derived]{},
		"argument value cannot be read from JSON: schema_test.mayBeRead is read by the *schema_test.selfRead that it " +
			"embeds, which is nil: embed it without the pointer": taker[[]*mayBeRead]{},
	} {
		_, err := reflectapi.Describe(impl)
		assert.ErrorContains(t, err, want, "%T", impl)
	}
}

// quoted is what may be quoted.
type quoted struct {
	Int    int     `json:",string"`
	Float  float64 `json:"float,string,omitempty"`
	Number *uint16 `json:",string"`
}

// selfRead reads itself, and takes no empty object.
type selfRead struct {
	Name string
}

func (*selfRead) UnmarshalJSON([]byte) error { panic("a value is read at registration") }

// ownReader reads itself, whatever it embeds.
type ownReader struct{ *selfRead }

func (*ownReader) UnmarshalJSON([]byte) error { return nil }

// written has a result that can only be written.
type written struct{}

func (written) Give() (value derived) { return }

// Structs of encoding/json have the JSON, and the schema, that they have there.
func TestCodec_OfEncodingJSON(t *testing.T) {
	t.Parallel()
	type (
		dashed struct {
			A int `json:"-,"` //nolint:staticcheck // what is tested
		}
		embedded struct {
			Number
			*Phrase
			Rest []promoted
		}
		quotes struct {
			B bool    `json:"b,string"`
			T string  `json:"t,string"`
			P *bool   `json:"p,string"`
			L []int   `json:"l,string"` //nolint:staticcheck // what is tested
			F float64 `json:"f,string"`
		}
		linked struct {
			URL  url.URL
			Link *url.URL `json:"link"`
		}
	)
	tagged := reflect.New(reflect.StructOf([]reflect.StructField{ // go vet refuses to see it in source
		{Name: "a", PkgPath: "schema_test", Type: reflect.TypeFor[int](), Tag: `json:"a"`},
		{Name: "B", Type: reflect.TypeFor[int]()},
	})).Elem().Interface()
	text, link := Phrase("x"), &url.URL{Scheme: "https", Host: "a.example", User: url.User("me")}
	for _, value := range []any{
		dashed{1}, embedded{Number: 2, Phrase: &text, Rest: []promoted{{Number: 3, Name: "n"}}},
		quotes{true, "q", new(bool), []int{1}, 1.5}, tagged, linked{*link, link},
		trailing{"n"}, promoted{4, "n"}, quotedText{"q"},
	} {
		t.Run(fmt.Sprintf("%T", value), func(t *testing.T) {
			t.Parallel()
			want, err := json.Marshal(value)
			require.NoError(t, err)
			got, err := strictjson.Marshal(value)
			require.NoError(t, err)
			assert.JSONEq(t, string(want), string(got))

			read := reflect.New(reflect.TypeOf(value))
			require.NoError(t, strictjson.Unmarshal(got, read.Interface()))
			again, err := strictjson.Marshal(read.Interface())
			require.NoError(t, err)
			assert.Equal(t, string(got), string(again))

			schemas := schema.NewSchemas()
			schema, err := schemas.Of(reflect.TypeOf(value))
			require.NoError(t, err)
			var decoded map[string]any
			require.NoError(t, json.Unmarshal(got, &decoded))
			described := schema
			if schema.Ref != "" {
				described = schemas.Components()[strings.TrimPrefix(schema.Ref, "#/components/schemas/")]
			}
			assert.ElementsMatch(t, slices.Collect(maps.Keys(decoded)), slices.Collect(maps.Keys(described.Properties)))
			require.NoError(t, valid(t, schema, schemas.Components()).VisitJSON(decoded))
		})
	}
}

// Phrase is a text.
type Phrase string

func TestCodecTakes(t *testing.T) {
	t.Parallel()
	for _, impl := range []any{taker[quoted]{}, taker[[]selfRead]{}, taker[struct{ base }]{}, taker[struct{ *Point }]{},
		taker[struct{ selfRead }]{}, taker[ownReader]{}, written{}, taker[trailing]{}, taker[map[string]promoted]{},
		taker[quotedText]{}, taker[quotedList]{}, taker[url.URL]{}} {
		if _, err := reflectapi.Describe(impl); err != nil {
			t.Errorf("%T: %v", impl, err)
		}
	}
}

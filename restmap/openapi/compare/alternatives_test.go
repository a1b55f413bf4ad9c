package compare_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/busline/busline/restmap/openapi"
)

// Below are choices that describe themselves.
type (
	Pays      struct{ json.RawMessage }
	PaysMore  struct{ Pays }
	PaysOther struct{ Pays }
	PaysAny   struct{ json.RawMessage }
	PaysNoBit struct{ json.RawMessage }
)

func (Pays) JSONSchema() *jsonschema.Schema      { return oneOf("string", "integer") }
func (PaysMore) JSONSchema() *jsonschema.Schema  { return oneOf("string", "integer", "boolean") }
func (PaysOther) JSONSchema() *jsonschema.Schema { return oneOf("string", "boolean") }
func (PaysNoBit) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Not: &jsonschema.Schema{Type: "boolean"}}
}

func oneOf(types ...string) *jsonschema.Schema {
	s := new(jsonschema.Schema)
	for _, each := range types {
		s.OneOf = append(s.OneOf, &jsonschema.Schema{Type: each})
	}
	return s
}

// byCard takes a choice that refers to a type, and byNumber one to another type of the same name.
func byCard(t *testing.T) *openapi.Document {
	t.Helper()
	type Card struct{ Number string }
	type Payment struct {
		How  json.RawMessage `jsonschema:"oneof_ref=#/$defs/Card"`
		Last Card
	}
	return takes[Payment](t)
}

func byNumber(t *testing.T) *openapi.Document {
	t.Helper()
	type Card struct{ Number int }
	type Payment struct {
		How  json.RawMessage `jsonschema:"oneof_ref=#/$defs/Card"`
		Last Card
	}
	return takes[Payment](t)
}

func TestAlternatives(t *testing.T) {
	t.Parallel()
	const different = "has different alternatives (allOf, anyOf, oneOf, not): who relies on the old ones may fail"
	narrowed := []string{
		"POST /do: the argument p " + different,
		"POST /do: the argument p is now required: callers that omit it get 422",
		"POST /do: the argument p may no longer be null: null counts as missing, for which callers may get 422",
	}
	for _, test := range []struct {
		name          string
		before, after *openapi.Document
		breaks        []string
	}{
		{"one more", takes[Pays](t), takes[PaysMore](t), nil},
		{"one less", takes[PaysMore](t), takes[Pays](t), []string{"POST /do: the argument p " + different}},
		{"one more in a result", gives[Pays](t), gives[PaysMore](t), []string{"POST /do: the result's p " + different}},
		{"one less in a result", gives[PaysMore](t), gives[Pays](t), nil},
		{"another one", takes[Pays](t), takes[PaysOther](t), []string{"POST /do: the argument p (alternative 2) is now " +
			"boolean, was integer: callers that send the old type get 400 or 422"}},
		{"none any more", takes[Pays](t), takes[PaysAny](t), nil},
		{"some of what was any", takes[PaysAny](t), takes[Pays](t), narrowed},
		{"all but one of what was any", takes[PaysAny](t), takes[PaysNoBit](t), narrowed[:1]},
		{"another type of the same name", byCard(t), byNumber(t), []string{
			"POST /do: the argument p.How (alternative 1).Number is now integer (int64), was string: " +
				"callers that send the old type get 400 or 422",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := breaking(test.before, test.after); !slices.Equal(got, test.breaks) {
				t.Errorf("%s: got:\n%q\nwant:\n%q", test.name, got, test.breaks)
			}
		})
	}
}

package reflectapi_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/reflectapi/schema"
)

type (
	sloppy struct {
		Kept      string `json:"kept,omitempty" xml:"kept,attr" db:"kept"`
		Option    string `json:"option,omitemtpy,required,omitzero"` //nolint:revive,staticcheck // the mistake that is looked for
		Flat      clean  `json:"flat,inline"`                        //nolint:revive // an option of jsonschema, none of the codec's
		Rule      string `json:"rule" validate:"required"`
		Next      []*sloppy
		Rules     map[string]int   `json:"rules" binding:"min=1"`
		Aware     string           `json:"aware" validate:"required" jsonschema:"minLength=1"`
		Left      string           `json:"-" validate:"required" jsonSchema:"x"`
		hidden    string           `validate:"required"` //nolint:revive // a mistake, too, but it is not read here
		clean     `json:",inline"` //nolint:revive // as in the types of Kubernetes
		strangers ownText
		private   row
		Private   row `json:"-"`
	}
	row struct {
		Text string `json:"text,omitemtpy" validate:"required"` //nolint:revive,staticcheck // what the library does not read
	}
	clean struct {
		Cased string `json:"cased,case:ignore"` //nolint:revive // an option of the codec's
	}
	ownText struct {
		Text string `json:"text,omitemtpy"` //nolint:revive,staticcheck // the mistake that is looked for
	}
	answered struct {
		Rule   string `json:"rule" validate:"required"`
		Option string `json:"option,omitemtpy"` //nolint:revive,staticcheck // the mistake that is looked for
	}
	secretary struct{}
)

func (ownText) MarshalText() ([]byte, error) { return nil, nil }
func (*ownText) UnmarshalText([]byte) error  { return nil }

func (secretary) File(of sloppy, again *sloppy, text ownText) (where answered) {
	return answered{Rule: of.hidden + of.strangers.Text + of.private.Text}
}
func (secretary) Find(where clean) (of sloppy) { return sloppy{} }

// TestUnreadTags warns of each once, whatever the number of methods.
func TestUnreadTags(t *testing.T) {
	t.Parallel()
	const options = ` is ignored: use one of omitempty, omitzero, string, embed, or remove it`
	want := []string{
		`field reflectapi_test.sloppy.Option: the json option "omitemtpy"` + options,
		`field reflectapi_test.sloppy.Option: the json option "required"` + options,
		`field reflectapi_test.sloppy.Flat: the json option "inline"` + options,
		`type reflectapi_test.sloppy: the validate or binding tag of Rule, Rules is ignored: write the rules in jsonschema tags, such as jsonschema:"minLength=1"`,
		`field reflectapi_test.answered.Option: the json option "omitemtpy"` + options,
	}
	if got := describe(t, secretary{}).Warnings; !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := describe(t, &Calculator{}, reflectapi.ExcludeMethods("Home")).Warnings; got != nil {
		t.Errorf("of nothing: %q", got)
	}
}

type (
	misspelled struct {
		Case    string `json:"case" jsonSchema:"minLength=3"`
		Shouted string `JSON:"shouted"`
		Swapped string `josn:"swapped" jsonchema:"minLength=3"`
		Under   string `json:"under" json_schema:"minLength=3" bson:"under" yaml:"under" jsonschema_description:"of it"`
		Left    string `json:"-" jsonSchema:"x"`
	}
	typist struct{}
)

func (typist) Write(of misspelled) {}

// TestMisspelledTags refuses keys of tags that are nearly those that are read: the rules in them would not hold.
func TestMisspelledTags(t *testing.T) {
	t.Parallel()
	_, err := reflectapi.Describe(typist{})
	for _, want := range []string{
		"misspelled.Case: the tag jsonSchema is read by nothing: write jsonschema",
		"misspelled.Shouted: the tag JSON is read by nothing: write json",
		"misspelled.Swapped: the tag josn is read by nothing: write json",
		"misspelled.Swapped: the tag jsonchema is read by nothing: write jsonschema",
		"misspelled.Under: the tag json_schema is read by nothing: write jsonschema",
	} {
		require.ErrorContains(t, err, want)
	}
	assert.NotContains(t, err.Error(), "bson")
	assert.NotContains(t, err.Error(), "Left")
	assert.NotContains(t, err.Error(), "description")
}

// TestTags_NoTags: what only looks like a tag, and what resembles one of json.
func TestTags_NoTags(t *testing.T) {
	t.Parallel()
	const (
		noTag = "field struct.Text: the tag %s is read by nothing: write `json:\"name\" jsonschema:\"minLength=1\"`, " +
			"with quotes and without blanks"
		json = "field struct.Text: the tag %s is read by nothing: write json"
	)
	for tag, want := range map[string]string{
		`json:"a" jsonschema:"minLength=1"`:  "<nil>",
		`json:"a" jsonschema: "minLength=1"`: fmt.Sprintf(noTag, `jsonschema: "minLength=1"`),
		`jsonschema:minimum=1`:               fmt.Sprintf(noTag, `jsonschema:minimum=1`),
		`db:"a" jsonschema=minimum=1`:        fmt.Sprintf(noTag, `jsonschema=minimum=1`),
		`json: "a"`:                          fmt.Sprintf(noTag, `json: "a"`),
		`json:'a'`:                           fmt.Sprintf(noTag, `json:'a'`),
		`jason:"a"`:                          fmt.Sprintf(json, "jason"),
		`jsonn:"a"`:                          fmt.Sprintf(json, "jsonn"),
		`son:"a"`:                            fmt.Sprintf(json, "son"),
		`bson:"a" json5:"b" jsonb:"c"`:       "<nil>",
		`just a note`:                        "<nil>",
	} {
		typ := reflect.StructOf([]reflect.StructField{{Name: "Text", Type: reflect.TypeFor[string](),
			Tag: reflect.StructTag(tag)}})
		got := strings.Replace(errorText(errors.Join(schema.MisspelledTags([]schema.Values{{Args: []reflect.Type{typ}}})...)),
			typ.String(), "struct", 1)
		assert.Equal(t, want, got, tag)
	}
}

package reflectapi_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/busline/busline/reflectapi"
)

type (
	shown     int // writes itself
	taken     int // reads itself
	bothWays  int
	described int
	badge     struct {
		Shown  *shown           `json:"shown"`
		Both   bothWays         `json:"both"`
		Taken  map[string]taken `json:"taken"`
		When   time.Time        `json:"when"`
		Told   described        `json:"told"`
		Hidden hidden           `json:"-"`
	}
	hidden struct{ shown }
	porter struct{}
)

func (shown) MarshalText() ([]byte, error)              { return []byte("shown"), nil }
func (*taken) UnmarshalJSON([]byte) error               { return nil }
func (bothWays) MarshalJSON() ([]byte, error)           { return []byte(`"both"`), nil }
func (*bothWays) UnmarshalText([]byte) error            { return nil }
func (described) MarshalText() ([]byte, error)          { return []byte("1"), nil }
func (described) JSONSchemaExtend(s *jsonschema.Schema) { s.Type = "integer" }

func (porter) Wear(one badge, other *badge) (n int) { return 0 }
func (porter) Show() (badge shown)                  { return 0 }

// TestOneWays: what goes one way is fine for a result alone.
func TestOneWays(t *testing.T) {
	t.Parallel()
	want := []string{
		"type reflectapi_test.shown: it writes itself without a method UnmarshalText or UnmarshalJSON, " +
			"so that callers who send what the document says get 400: add one",
		"type reflectapi_test.taken: it reads itself without a method MarshalText or MarshalJSON, so that callers who send " +
			"what the document says get 400: add one",
	}
	if got := describe(t, porter{}).Warnings; !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := describe(t, porter{}, reflectapi.ExcludeMethods("Wear")).Warnings; got != nil {
		t.Errorf("of a result: %q", got)
	}
}

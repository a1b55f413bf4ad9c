package reflectapi_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/invopop/jsonschema"
)

type (
	stamp struct {
		time.Time `json:"at"` // a name does not keep its methods away

		Note   string `json:"note"`
		By     string
		Hidden int `json:"-"`
		inner  int
	}
	peer struct {
		*netip.Addr

		Port int
	}
	alone    struct{ time.Time }
	spelled  struct{ stamp }
	moment   struct{ At time.Time }
	replaced struct {
		time.Time

		Note string
	}
	annotated struct {
		time.Time

		Note string
	}
	diary struct{}
)

func (replaced) MarshalJSON() ([]byte, error)           { return []byte("1"), nil }
func (*replaced) UnmarshalJSON([]byte) error            { return nil }
func (annotated) JSONSchemaExtend(s *jsonschema.Schema) { s.Type = "string" }

func (diary) Write(one *stamp, others []stamp) (to map[string]peer) { _ = one.inner; return nil }
func (diary) Fine(a alone, m moment, r replaced, n annotated) (s spelled) {
	return spelled{}
}

// TestLostFields: a struct that is written as what it embeds loses its other fields, in arguments and in results.
func TestLostFields(t *testing.T) {
	t.Parallel()
	const remedy = " as a field with a name, or write a MarshalJSON and an UnmarshalJSON"
	want := []string{
		"type reflectapi_test.stamp: its JSON is that of the embedded time.Time, without Note, By: declare the time.Time" +
			remedy,
		"type reflectapi_test.peer: its JSON is that of the embedded netip.Addr, without Port: declare the netip.Addr" +
			remedy,
	}
	got := describe(t, diary{}).Warnings
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

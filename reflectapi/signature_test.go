package reflectapi_test

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi/strictjson"
	"github.com/busline/busline/reflectapi/testdata/greeting"
)

// Page is generic.
type Page[T any] struct{ Items []T }

// Pair is generic in two types.
type Pair[A, B any] struct {
	First  A
	Second B
}

// Texts has a method for each way to write a type.
type Texts struct{}

func (Texts) Basic(a bool, b byte, c rune, d uint16, e float32)               {}
func (Texts) Foreign(a netip.Addr, b *json.RawMessage, c greeting.Host)       {}
func (Texts) Generic(a Page[Point], b Page[greeting.Host], c *Pair[int, any]) {}
func (Texts) Nested(a Page[Page[Point]], b Page[map[string][]*Point])         {}
func (Texts) Literals(a struct{ X int }, b any, c [][]byte, d [3]uint8)       {}
func (Texts) Maps(a map[netip.Addr]map[string]any)                            {}
func (Texts) More(a ...[]Point)                                               {}
func (Texts) Unicode(größe int) (größer int)                                  { return größe + 1 }

func TestSignature(t *testing.T) {
	t.Parallel()
	wantSignatures(t, describe(t, Texts{}),
		"Basic(a bool, b uint8, c int32, d uint16, e float32)",
		"Foreign(a netip.Addr, b *json.RawMessage, c greeting.Host)",
		"Generic(a Page[Point], b Page[greeting.Host], c *Pair[int, any])",
		"Literals(a struct { X int }, b any, c [][]byte, d [3]byte)",
		"Maps(a map[netip.Addr]map[string]any)",
		"More(a ...[]Point)",
		"Nested(a Page[Page[Point]], b Page[map[string][]*Point])",
		"Unicode(größe int) (größer int)",
	)
}

// Any name that Go takes, the codec takes too.
func TestNames_InJSON(t *testing.T) {
	t.Parallel()
	m := method(t, describe(t, Texts{}), "Unicode")
	in := reflect.New(m.In)
	require.NoError(t, strictjson.Unmarshal([]byte(`{"größe":4}`), in.Interface()))
	out, err := m.Call(t.Context(), in.Elem())
	require.NoError(t, err)
	data, err := strictjson.Marshal(out.Interface())
	require.NoError(t, err)
	assert.Equal(t, `{"größer":5}`, string(data))
}

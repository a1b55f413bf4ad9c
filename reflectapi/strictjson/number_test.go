package strictjson_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi/strictjson"
)

// numbered has a json.Number in all places.
type numbered struct {
	Plain   json.Number                 `json:"plain"`
	Omitted json.Number                 `json:"omitted,omitempty"`
	Quoted  json.Number                 `json:"quoted,string"`
	Pointer *json.Number                `json:"pointer"`
	List    []json.Number               `json:"list"`
	Map     map[json.Number]json.Number `json:"map"`
	Any     any                         `json:"any"`
}

// TestNumber holds json.Number to what encoding/json makes of it.
func TestNumber(t *testing.T) {
	t.Parallel()
	ten := json.Number("10")
	for name, value := range map[string]numbered{
		"numbers": {
			Plain: "12.50", Omitted: "-0", Quoted: "1e400", Pointer: &ten, List: []json.Number{"1", "2.0"},
			Map: map[json.Number]json.Number{"3": "12345678901234567890123"}, Any: nil,
		},
		"zero values": {List: []json.Number{}, Map: map[json.Number]json.Number{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, err := json.Marshal(value)
			require.NoError(t, err)
			text, err := strictjson.Marshal(value)
			require.NoError(t, err, "Marshal(%+v)", value)
			assert.Equal(t, string(want), string(text), "Marshal(%+v)", value)
			var got, same numbered
			require.NoError(t, json.Unmarshal(want, &same))
			err = strictjson.Unmarshal(want, &got)
			require.NoError(t, err, "Unmarshal(%s)", want)
			assert.Equal(t, same, got, "Unmarshal(%s)", want)
		})
	}
}

// TestNumber_InAny has numbers where no type declares them.
func TestNumber_InAny(t *testing.T) {
	t.Parallel()
	for _, value := range []any{
		json.Number("1.50"), []any{json.Number("1")}, map[string]any{"a": json.Number("7")},
		struct{ A any }{json.Number("2")}, map[int]any{1: []any{json.Number("")}},
	} {
		want, err := json.Marshal(value)
		require.NoError(t, err)
		got, err := strictjson.Marshal(value)
		require.NoError(t, err, "Marshal(%#v)", value)
		assert.Equal(t, string(want), string(got), "Marshal(%#v)", value)
	}
}

func TestNumber_Refuses(t *testing.T) {
	t.Parallel()
	for _, number := range []json.Number{"x", " 1", "1 ", "1,2", "null", "01", "+1", "NaN", "0x1", "{}"} {
		if got, err := strictjson.Marshal(numbered{Plain: number}); err == nil {
			t.Errorf("Marshal of %q = %s, want an error", number, got)
		}
	}
	for data, want := range map[string]string{
		`{"plain":"1"}`: "/plain expects a number", `{"plain":true}`: "/plain expects a number",
		`{"list":[1,{}]}`: "/list/1 expects a number",
		`{"quoted":1}`:    "/quoted expects a number in quotes", `{"quoted":"x"}`: "/quoted expects a number in quotes",
		`{"plain":-}`: "/plain is not valid JSON at byte 10",
		`{"plain":`:   "/plain is not valid JSON: it ends too early",
	} {
		err := strictjson.Unmarshal([]byte(data), new(numbered))
		assert.EqualError(t, err, want, "Unmarshal(%s)", data)
	}
}

// TestNumber_KeepsLongIntegers reads a number beside an any, each with all its digits.
func TestNumber_KeepsLongIntegers(t *testing.T) {
	t.Parallel()
	var got numbered
	require.NoError(t, strictjson.Unmarshal([]byte(`{"plain":9007199254740993,"any":9007199254740993}`), &got))
	assert.Equal(t, json.Number("9007199254740993"), got.Plain)
	assert.Equal(t, int64(9007199254740993), got.Any)
}

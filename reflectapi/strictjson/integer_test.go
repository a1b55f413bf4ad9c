package strictjson_test

import (
	"encoding/json"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi/strictjson"
)

func TestInteger(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ number, want string }{
		{"1.0", "1"},
		{"1e3", "1000"},
		{"-1.50E1", "-15"},
		{"1200e-2", "12"},
		{"0.0", "0"},
		{"-0.0e5", "0"},
		{"0.5e1", "5"},
		{"1E+2", "100"},
		{"18446744073709551615.0", "18446744073709551615"},
		{"7", "7"},
		{"-0", "0"},
		{"1.5", ""},
		{"1e-1", ""},
		{"1e20", ""},
		{"1e999999999", ""},
		{"1e99999999999999999999", ""},
		{"1.", ""},
		{".5e1", ""},
		{"e3", ""},
		{"1.0.0", ""},
		{"0x1p4", ""},
		{"", ""},
	} {
		digits, ok := strictjson.Integer(test.number)
		assert.Equal(t, test.want, digits, test.number)
		assert.Equal(t, test.want != "", ok, test.number)
	}
}

func TestUnmarshal_Integers(t *testing.T) {
	t.Parallel()
	type order struct {
		Amount int      `json:"amount"`
		Small  uint8    `json:"small"`
		Price  float64  `json:"price"`
		All    []int64  `json:"all"`
		Note   string   `json:"note"`
		Any    any      `json:"any"`
		Never  *float32 `json:"never"`
	}
	var got order
	require.NoError(t,
		strictjson.Unmarshal([]byte(`{"note":"1.0 \"2e1","amount":1e3,"small":2.0,"price":1.50,"all":[1,2.0,-3e0],"any":[4.0,1e30]}`), &got))
	assert.Equal(t, order{Amount: 1000, Small: 2, Price: 1.5, All: []int64{1, 2, -3}, Note: `1.0 "2e1`,
		Any: []any{4.0, 1e30}}, got)

	var plain struct{ Large int64 }
	require.NoError(t, strictjson.Unmarshal([]byte(`{"Large":1e18}`), &plain))
	assert.Equal(t, int64(1e18), plain.Large)

	for _, test := range []struct{ text, want string }{
		{`{"amount":1.5}`, "/amount expects an integer"},
		{`{"price":1.0,"small":256.0}`, "/small expects an integer of 0 or more, 255 at most"},
		{`{"small":-1.0}`, "/small expects an integer of 0 or more"},
		{`{"all":[1.0,"x"]}`, "/all/1 expects an integer"},
		{`{"amount":1e400}`, "/amount expects an integer"},
	} {
		assert.ErrorContains(t, strictjson.Unmarshal([]byte(test.text), new(order)), test.want, test.text)
	}

	var others struct {
		None uint64
		Big  *big.Int
	}
	require.NoError(t, strictjson.Unmarshal([]byte(`{"None":-0,"Big":1e3}`), &others))
	assert.Equal(t, big.NewInt(1000), others.Big)
	require.ErrorContains(t, strictjson.Unmarshal([]byte(`{"Big":1e30}`), &others), "/Big expects an integer in digits")

	var digits struct {
		N     json.Number
		Count int
	}
	require.Error(t, strictjson.Unmarshal([]byte(`{"N":1.0,"Count":2.0}`), &digits), "the digits of N would be others")
}

// Who sends a number where its tag asks for a text learns that.
func TestUnmarshal_Quoted(t *testing.T) {
	t.Parallel()
	type order struct {
		Amount int         `json:"amount,string"`
		Small  uint8       `json:"small,string"`
		Price  float64     `json:"price,string"`
		Number json.Number `json:"number,string"`
		Plain  int         `json:"plain"`
	}
	require.NoError(t, strictjson.Unmarshal([]byte(`{"amount":"7","small":"7","price":"7","number":"7","plain":7}`),
		new(order)))
	for text, want := range map[string]string{
		`{"amount":7}`:   "/amount expects an integer in quotes",
		`{"amount":"x"}`: "/amount expects an integer in quotes",
		`{"small":7}`:    "/small expects an integer of 0 or more in quotes",
		`{"price":7}`:    "/price expects a number in quotes",
		`{"number":7}`:   "/number expects a number in quotes",
		`{"plain":"7"}`:  "/plain expects an integer",
		`{"plain":7.5}`:  "/plain expects an integer",
		`{"amount":[]}`:  "/amount expects an integer",
	} {
		assert.EqualError(t, strictjson.Unmarshal([]byte(text), new(order)), want, text)
	}
}

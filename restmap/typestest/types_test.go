package typestest_test

import (
	"database/sql"
	"encoding/json"
	"math/big"
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"testing"
	"time"

	"cloud.google.com/go/civil"
	"github.com/Rhymond/go-money"
	"github.com/google/uuid"
	"github.com/guregu/null/v6"
	"github.com/invopop/jsonschema"
	"github.com/oklog/ulid/v2"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi"
)

// Colour is an enum of texts.
type Colour string

// Size is an enum of numbers.
type Size int

// Shape is a union.
type Shape interface{ isShape() }

// Circle is a variant.
type Circle struct {
	Radius float64 `json:"radius"`
}

func (Circle) isShape() {}

// Point is a struct.
type Point struct {
	X int `json:"x"`
}

// Page is generic.
type Page[T any] struct {
	Items []T `json:"items"`
}

var (
	_ = reflectapi.RegisterEnum(reflectapi.Constant[Colour]{Value: "red"}, reflectapi.Constant[Colour]{Value: "blue"})
	_ = reflectapi.RegisterEnum(reflectapi.Constant[Size]{Value: 1, Name: "Small"},
		reflectapi.Constant[Size]{Value: 2, Name: "Large", Doc: "for two"})
	_ = reflectapi.RegisterUnion("kind", "", reflectapi.Variant[Shape]{Name: "circle", Value: Circle{}})
	_ = reflectapi.RegisterSchema[decimal.Decimal](jsonschema.Schema{Type: "string", Pattern: `^-?[0-9]+(\.[0-9]+)?$`})
)

// row is a type of the table.
type row struct {
	name   string // in Go
	sample any    // a pointer to a value
	remark string
}

func of[T any](name string, sample T, remark ...string) row {
	r := row{name: name, sample: &sample}
	if len(remark) > 0 {
		r.remark = remark[0]
	}
	return r
}

func rows() []row {
	at := time.Date(2026, time.November, 29, 8, 0, 0, 0, time.UTC)
	shape := Shape(Circle{1})
	return []row{
		of("bool", true), of("string", "a"), of("int", 1<<62), of("int8", int8(1)), of("int32", int32(1)),
		of("uint16", uint16(1)), of("uint64", uint64(1<<63)), of("float32", float32(1.5)), of("float64", 1.5),
		of("[]byte", []byte("a")), of("[2]byte", [2]byte{1, 2}), of("[]string", []string{"a"}), of("[2]int", [2]int{1, 2}),
		of("map[string]int", map[string]int{"a": 1}), of("map[int]bool", map[int]bool{1: true}),
		of("any", any("a")), of("*int", new(int)), of("Point", Point{1}), of("*Point", &Point{1}),
		of("Page[Point]", Page[Point]{[]Point{{1}}}),
		of("Colour", Colour("red"), "an enum of texts"), of("Size", Size(1), "an enum of numbers, with names and a comment"),
		of("Shape", shape, "a union"), of("*Shape", &shape),
		of("time.Time", at), of("time.Duration", time.Second, "nanoseconds; in a query 1s, too"),
		of("url.URL", url.URL{Scheme: "https", Host: "a.example"},
			"as in encoding/json; a string with `format=uri` reads better"),
		of("netip.Addr", netip.MustParseAddr("10.0.0.1")), of("net.IP", net.IPv4(10, 0, 0, 1)),
		of("*big.Int", big.NewInt(1), "any number of digits"), of("*big.Float", big.NewFloat(1.5)),
		of("json.Number", json.Number("1.50"), "its digits stay"),
		of("json.RawMessage", json.RawMessage(`[1]`)),
		of("sql.NullString", sql.NullString{String: "a", Valid: true}, "as in encoding/json; use `*string`"),
		of("sql.Null[int]", sql.Null[int]{V: 1, Valid: true}, "as in encoding/json; use `*int`"),
		of("uuid.UUID", uuid.MustParse("f47ac10b-58cc-4372-a567-0e02b2c3d479"), "google/uuid, and gofrs/uuid alike"),
		of("ulid.ULID", ulid.MustParse("01ARZ3NDEKTSV4RRFFQ69G5FAV"), "oklog/ulid"),
		of("decimal.Decimal", decimal.RequireFromString("1.50"), "shopspring/decimal, with `RegisterSchema`; else any value"),
		of("*money.Money", money.New(150, money.EUR), "Rhymond/go-money, without `RegisterSchema`"),
		of("null.Int", null.IntFrom(1), "guregu/null; use `*int64`"),
		of("civil.Date", civil.Date{Year: 2026, Month: 11, Day: 29}, "cloud.google.com/go"),
	}
}

// TestTypes passes a value of each type there and back, and holds the table to its documents.
func TestTypes(t *testing.T) { //nolint:paralleltest // with -update both write one page
	table := "| Go | OpenAPI 3.0.0 | OpenAPI 3.1 | TypeScript | |\n|---|---|---|---|---|\n"
	for _, each := range rows() {
		typ := reflect.TypeOf(each.sample).Elem()
		s := serve(t, field{Name: "p", Type: typ})
		written := s.encode(t, reflect.ValueOf(each.sample).Elem())
		require.NoError(t, s.validate(t, written), each.name)
		read, err := s.decode(written)
		require.NoError(t, err, each.name)
		assert.Equal(t, written, s.encode(t, read), each.name)
		table += "| `" + each.name + "` | " + s.schemas(t) + " | " + each.remark + " |\n"
	}
	hold(t, "types", table)
}

// presence is a way to declare a member.
type presence struct {
	declared string
	field
}

// TestPresence holds the table of what may be missing and what null to what happens.
func TestPresence(t *testing.T) { //nolint:paralleltest // likewise
	const required, nullable = `jsonschema:"required"`, `jsonschema:"nullable"`
	member := func(declared string, typ reflect.Type, options string, tag reflect.StructTag) presence {
		return presence{declared, field{Name: "p", Type: typ, Options: options, Tag: tag}}
	}
	number, pointer := reflect.TypeFor[int](), reflect.TypeFor[*int]()
	table := "| member of a struct | argument: missing | null | result: missing | null |\n|---|---|---|---|---|\n"
	for _, each := range []presence{
		member("`int`", number, "", ""), member("`int`, `required`", number, "", required),
		member("`int`, `nullable`", number, "", nullable),
		member("`int`, `omitzero`", number, ",omitzero", ""),
		member("`*int`", pointer, "", ""), member("`*int`, `required`", pointer, "", required),
		member("`*int`, `omitzero`", pointer, ",omitzero", ""),
		member("`[]int`, `map[string]int`", reflect.TypeFor[[]int](), "", ""),
		member("`Colour`, whose zero is no value", reflect.TypeFor[Colour](), "", ""),
		member("`Colour`, `omitzero`", reflect.TypeFor[Colour](), ",omitzero", ""),
		member("`Shape`", reflect.TypeFor[Shape](), "", ""),
		member("`Shape`, `omitzero`", reflect.TypeFor[Shape](), ",omitzero", ""),
		member("`*Shape`", reflect.TypeFor[*Shape](), "", ""),
		member("`any`", reflect.TypeFor[any](), "", ""),
	} {
		s := serve(t, each.field)
		missing, null := s.seen(t, `{"in":{}}`), s.seen(t, `{"in":{"p":null}}`)
		mayMiss, mayNull := s.result(t)
		table += "| " + each.declared + " | " + missing + " | " + null + " | " + mayMiss + " | " + mayNull + " |\n"
	}
	hold(t, "presence", table)
}

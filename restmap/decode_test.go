package restmap_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/restmap"
)

type point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

type line struct {
	SKU   string            `json:"sku"`
	N     int8              `json:"n"`
	At    *point            `json:"at"`
	Notes []string          `json:"notes"`
	Attrs map[string]string `json:"attrs"`
	Sub   []line            `json:"sub"`
}

// level reads itself from a JSON string.
type level int

func (l *level) UnmarshalJSON(data []byte) error {
	if string(data) != `"high"` {
		return errors.New("secret")
	}
	*l = 2
	return nil
}

// Inputs has arguments of many types.
type Inputs struct{}

func (Inputs) Add(x, y int) (sum int)                                     { return }
func (Inputs) Texts(s string, b bool, i8 int8, u uint, f float64, p *int) {}
func (Inputs) Special(wait time.Duration, when time.Time, data []byte, addr netip.Addr, lvl level, n *big.Int) {
}
func (Inputs) Lists(tags []string, ids []int64, days []time.Time)            {}
func (Inputs) Objects(p point, q *point, lines []line, attrs map[string]int) {}
func (Inputs) Array(pair [2]int, list []any)                                 {}
func (Inputs) Optional(text *string, n *int)                                 {}
func (Inputs) Open(x any, raw json.RawMessage)                               {}
func (Inputs) Alike(tag, Tag string, p, P point)                             {}
func (Inputs) Echo(httpRequestBody any)                                      {}
func (Inputs) Store(id int, httpRequestBody line, dry bool)                  {}
func (Inputs) Count(httpRequestBody map[string][]int)                        {}
func (Inputs) Sum(httpRequestBody []int)                                     {}
func (Inputs) File(path string, size int)                                    {}
func (Inputs) Number(n json.Number, many []json.Number)                      {}
func (Inputs) Text(text string)                                              {}

func (Inputs) Maps(m map[kindOfKey]string, lists map[string][]int, any map[string]any, days map[time.Time]time.Duration,
	numbers map[int8]bool, deep map[string]point) {
}

// kindOfKey is a string with a name.
type kindOfKey string

// kind is a number with a name.
type kind int

// Embedded and embedding have members of embedded structs.
type Embedded struct {
	Deep string `json:"deep"`
	Over string `json:"over"`
}

// Point is embedded by its pointer, which has to be exported for that.
type Point = point

type embedding struct {
	Embedded
	*Point
	Over  string `json:"over"`
	Skip  string `json:"-"`
	Plain int
	_     int
}

// amount reads itself from a text with the method of what it embeds.
type amount struct{ netip.Addr }

// bill has members that need no more than one text or one JSON value.
type bill struct {
	N     int        `json:"n"`
	Total amount     `json:"total"`
	Tip   *amount    `json:"tip"`
	Open  Embedding  `json:"open"`
	Case  twinLetter `json:"case"`
	Shown shown      `json:"shown"`
}

// Embedding embeds by value alone.
type Embedding struct{ Embedded }

type twinLetter struct {
	A int `json:"a"`
	B int `json:"A"`
}

// shown has a field that only differs in case from one that has no name in JSON.
type shown struct {
	name string //nolint:unused // it only has to be there
	Name string `json:"name"`
}

// pledge has a member for which no part of it can be decoded.
type pledge struct {
	N     int    `json:"n"`
	Lines []owed `json:"lines"`
}

type owed struct {
	To struct{ *Point } `json:"to"`
}

// twins embeds two structs.
type twins struct {
	Embedded
	Embedding
}

// paging is embedded as Kubernetes types are.
type paging struct {
	Limit int `json:"limit"`
}

type kept struct {
	paging `json:",inline"` //nolint:revive // as such types have it

	Text string `json:"text"`
}

// split has a name that is an argument's, too.
type split struct {
	Embedded

	Limit int `json:"limit"`
}

func (Inputs) Kept(kept kept) {}
func (Inputs) Split(split split, page struct {
	Limit int    `json:"limit"`
	Over  string `json:"over"`
}, text string) {
}
func (Inputs) Bills(b bill, list []bill, pledge pledge, twice twins) {}

func (Inputs) Odd(ids []*int64, names *[]string, kinds []kind, blobs [][]byte, pair [2]int, pp **int, e embedding,
	list []*embedding) {
}
func (Inputs) Addresses(ips []net.IP)               {}
func (Inputs) Tally(httpRequestBody map[string]int) {}
func (Inputs) Start(httpRequestBody time.Time)      {}
func (Inputs) StoreOdd(httpRequestBody *embedding)  {}

func addr(text string) amount { return amount{netip.MustParseAddr(text)} }

// endpoint returns the only endpoint of a method of Inputs.
func endpoint(t testing.TB, method string) *restmap.Endpoint {
	t.Helper()
	return endpointOf(t, Inputs{}, method, restmap.Options{Methods: map[string]restmap.MethodOptions{
		"File":  {Path: "/files/{path+}"},
		"Store": {Path: "/lines/{id}", HTTPMethod: "PUT"},
	}})
}

const (
	jsonType = "application/json"
	formType = "application/x-www-form-urlencoded"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	day := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	tests := []struct {
		name, method             string
		query, contentType, body string
		path                     map[string]string
		want                     []any // one for each argument
	}{
		{name: "a query", method: "Add", query: "x=5&y=6", want: []any{5, 6}},
		{name: "a JSON body", method: "Add", contentType: jsonType, body: `{"x":5,"y":6}`, want: []any{5, 6}},
		{name: "JSON of some kind", method: "Add", contentType: "application/merge-patch+json; charset=UTF-8",
			body: `{"x":5}`, want: []any{5, 0}},
		{name: "a form", method: "Add", contentType: formType, body: "x=5&y=6", want: []any{5, 6}},
		{name: "a form with a charset", method: "Add", contentType: formType + "; charset=utf-8", body: "x=5",
			want: []any{5, 0}},
		{name: "nothing", method: "Add", want: []any{0, 0}},
		{name: "an empty JSON body", method: "Add", contentType: jsonType, want: []any{0, 0}},
		{name: "an empty form", method: "Add", contentType: formType, want: []any{0, 0}},
		{name: "integers in another notation", method: "Add", query: "x=1e1", contentType: jsonType, body: `{"y":2.0}`,
			want: []any{10, 2}},
		{name: "no body of another type", method: "Add", query: "x=1", contentType: "text/plain; charset=utf-16",
			want: []any{1, 0}},
		{name: "unknown names", method: "Add", query: "u=1&z=2&z.x.a=3", contentType: jsonType, body: `{"v":1}`,
			want: []any{0, 0}},
		{name: "magic names in a query", method: "Add", query: "x=1&httpStatusCode=500&httpRequestBody={}&httpResponseBody=x",
			want: []any{1, 0}},
		{name: "a body over a query", method: "Add", query: "x=1&y=2", contentType: jsonType, body: `{"x":5}`,
			want: []any{5, 2}},
		{name: "a form over a query", method: "Add", query: "x=1&y=2", contentType: formType, body: "y=6", want: []any{1, 6}},
		{name: "a body that replaces", method: "Objects", query: "p.x=1&attrs={%22a%22:1}", contentType: jsonType,
			body: `{"p":{"y":2},"attrs":{"b":2}}`,
			want: []any{point{Y: 2}, (*point)(nil), []line(nil), map[string]int{"b": 2}}},

		{name: "texts", method: "Texts", query: "s=a%20b&b=true&i8=-128&u=7&f=1e3&p=3",
			want: []any{"a b", true, int8(-128), uint(7), 1000.0, new(3)}},
		{name: "a ticked box", method: "Texts", query: "b=on", want: []any{"", true, int8(0), uint(0), 0.0, (*int)(nil)}},
		{name: "empty texts", method: "Texts", query: "s=&b=&i8=&u=&f=&p=",
			want: []any{"", false, int8(0), uint(0), 0.0, (*int)(nil)}},
		{name: "special texts", method: "Special",
			query: "wait=1.5s&when=2024-05-06T07:08:09Z&data=AQI%3D&addr=::1&lvl=high&n=12",
			want:  []any{1500 * time.Millisecond, day, []byte{1, 2}, netip.MustParseAddr("::1"), level(2), big.NewInt(12)}},
		{name: "other special texts", method: "Special", query: "wait=1500&lvl=%22high%22",
			want: []any{1500 * time.Nanosecond, time.Time{}, []byte(nil), netip.Addr{}, level(2), (*big.Int)(nil)}},
		{name: "numbers", method: "Number", query: "n=-1.50e3&many=1&many=%2D2",
			want: []any{json.Number("-1.50e3"), []json.Number{"1", "-2"}}},
		{name: "numbers in JSON", method: "Number", contentType: jsonType, body: `{"n":1.50,"many":[1e400]}`,
			want: []any{json.Number("1.50"), []json.Number{"1e400"}}},
		{name: "lists", method: "Lists",
			query: "tags=a&tags=b,c&ids=1&ids=2&days=2024-05-06T07:08:09Z&days=2024-05-06T07:08:09Z",
			want:  []any{[]string{"a", "b,c"}, []int64{1, 2}, []time.Time{day, day}}},
		{name: "lists with gaps", method: "Lists", query: "tags=&tags=b&ids=&days=",
			want: []any{[]string{"", "b"}, []int64(nil), []time.Time(nil)}},
		{name: "lists of empty texts", method: "Lists", query: "tags=&tags=&ids=1,2&ids=3",
			want: []any{[]string{"", ""}, []int64{1, 2, 3}, []time.Time(nil)}},
		{name: "an array, by repeating its name", method: "Array", query: "pair=1&pair=2&list=a&list=5",
			want: []any{[2]int{1, 2}, []any{"a", 5.0}}},
		{name: "an array with commas", method: "Array", query: "pair=1,2&list=a", want: []any{[2]int{1, 2}, []any{"a"}}},
		{name: "lists of what is no text, by repeating their names", method: "Objects", query: "lines={%22n%22:1}&lines={}",
			want: []any{point{}, (*point)(nil), []line{{N: 1}, {}}, map[string]int(nil)}},
		{name: "an empty text behind a pointer", method: "Optional", query: "text=&n=", want: []any{new(""), (*int)(nil)}},

		{name: "objects as JSON", method: "Objects",
			query: "p={%22x%22:1}&q={%22y%22:2}&lines=[{%22n%22:1}]&attrs={%22a%22:1}",
			want:  []any{point{X: 1}, &point{Y: 2}, []line{{N: 1}}, map[string]int{"a": 1}}},
		{name: "objects in parts", method: "Objects",
			query: "p.x=1&p.y=2&q.x=3&lines.1.sku=b&lines.0.at.x=4&lines.0.notes=n&lines.0.notes=m&lines.0.sub.0.n=5",
			want: []any{point{X: 1, Y: 2}, &point{X: 3},
				[]line{{At: &point{X: 4}, Notes: []string{"n", "m"}, Sub: []line{{N: 5}}}, {SKU: "b"}}, map[string]int(nil)}},
		{name: "an object as JSON, mended in parts", method: "Objects", query: "p.y=3&p={%22x%22:1,%22y%22:2}",
			want: []any{point{X: 1, Y: 3}, (*point)(nil), []line(nil), map[string]int(nil)}},
		{name: "a map by its keys", method: "Objects", query: "attrs.a=1&attrs.b.c=2&attrs.%20=3",
			want: []any{point{}, (*point)(nil), []line(nil), map[string]int{"a": 1, "b.c": 2, " ": 3}}},
		{name: "a map as JSON, mended by its keys", method: "Objects", query: "attrs.a=2&attrs={%22a%22:1,%22b%22:1}",
			want: []any{point{}, (*point)(nil), []line(nil), map[string]int{"a": 2, "b": 1}}},
		{name: "null in a query", method: "Objects", query: "p=null&q=null&lines=null&attrs=null",
			want: []any{point{}, (*point)(nil), []line(nil), map[string]int(nil)}},
		{name: "a map in a form over one in a query", method: "Objects", query: "attrs.a=1", contentType: formType,
			body: "attrs.b=2",
			want: []any{point{}, (*point)(nil), []line(nil), map[string]int{"b": 2}}},
		{name: "a map in a body over one in a query", method: "Objects", query: "attrs.a=1", contentType: jsonType,
			body: `{"attrs":{"b":2}}`,
			want: []any{point{}, (*point)(nil), []line(nil), map[string]int{"b": 2}}},
		{name: "maps of many kinds", method: "Maps",
			query: "m.a=b&lists.a=1&lists.a=2&any.a=1&days.2024-05-06T07:08:09Z=3s&numbers.-7=1&deep.a={%22x%22:1}",
			want: []any{map[kindOfKey]string{"a": "b"}, map[string][]int{"a": {1, 2}}, map[string]any{"a": 1.0},
				map[time.Time]time.Duration{day: 3 * time.Second}, map[int8]bool{-7: true}, map[string]point{"a": {X: 1}}}},
		{name: "values of any type", method: "Open", query: "x=[1,%22a%22]&raw={%22a%22:1}",
			want: []any{[]any{1.0, "a"}, json.RawMessage(`{"a":1}`)}},
		{name: "names that differ in case", method: "Alike", query: "tag=a&Tag=b&p={%22x%22:1}&P={%22x%22:2}",
			want: []any{"a", "b", point{X: 1}, point{X: 2}}},

		{name: "odd types", method: "Odd",
			query: "ids=1&ids=2&names=a&kinds=1&kinds=2&blobs=AQ==&blobs=Ag==&pair=[1,2]&pp=7&e={%22deep%22:%22a%22}&list=[{%22Plain%22:1},null]",
			want: []any{[]*int64{new(int64(1)), new(int64(2))}, &[]string{"a"}, []kind{1, 2}, [][]byte{{1}, {2}},
				[2]int{1, 2}, new(new(7)),
				embedding{Embedded: Embedded{Deep: "a"}}, []*embedding{{Plain: 1}, nil}}},
		{name: "parts beside what embeds", method: "Bills", query: "b.n=1&b.total=::1&b.tip=::2&list.1.total=::3&list.0.n=2",
			want: []any{bill{N: 1, Total: addr("::1"), Tip: new(addr("::2"))}, []bill{{N: 2}, {Total: addr("::3")}},
				pledge{}, twins{}}},
		{name: "parts of what embeds", method: "Bills",
			query: "b.open.deep=a&b.case.a=1&b.case.A=2&b.shown.name=c&pledge.n=3&pledge.lines.1.to.x=4&twice.deep=d",
			want: []any{
				bill{Open: Embedding{Embedded{Deep: "a"}}, Case: twinLetter{1, 2}, Shown: shown{Name: "c"}}, []bill(nil),
				pledge{3, []owed{{}, {struct{ *Point }{&point{X: 4}}}}}, twins{Embedded: Embedded{Deep: "d"}},
			}},
		{name: "parts of names that differ in case", method: "Alike", query: "p.x=3&P.x=4&tag=a&Tag=b",
			want: []any{"a", "b", point{X: 3}, point{X: 4}}},
		{name: "parts of an embedded pointer", method: "Odd", query: "e.deep=a&e.y=2&list.1.x=1",
			want: []any{[]*int64(nil), (*[]string)(nil), []kind(nil), [][]byte(nil), [2]int{}, (**int)(nil),
				embedding{Embedded: Embedded{Deep: "a"}, Point: &point{Y: 2}}, []*embedding{nil, {Point: &point{X: 1}}}}},
		{name: "a map inside of a list", method: "Objects", query: "lines.0.attrs.a.b=c&lines.0.attrs.d=e",
			want: []any{point{}, (*point)(nil), []line{{Attrs: map[string]string{"a.b": "c", "d": "e"}}}, map[string]int(nil)}},
		{name: "options without a name", method: "Kept", query: "text=a&limit=5", want: []any{kept{paging{5}, "a"}}},
		{name: "options without a name, in a form", method: "Kept", contentType: formType, body: "kept.limit=5",
			want: []any{kept{paging: paging{5}}}},
		{name: "empty parts", method: "Bills", query: "b.n=&b.tip=&list.1.tip=&list.0.n=2",
			want: []any{bill{}, []bill{{N: 2}}, pledge{}, twins{}}},
		{name: "a list of what reads text", method: "Addresses", query: "ips=1.2.3.4&ips=::1",
			want: []any{[]net.IP{net.ParseIP("1.2.3.4"), net.ParseIP("::1")}}},
		{name: "a list in one text", method: "Odd", query: "kinds=1,2",
			want: []any{[]*int64(nil), (*[]string)(nil), []kind{1, 2}}},
		{name: "a form as an odd type", method: "StoreOdd", contentType: formType,
			body: "deep=a&over=b&Plain=1&x=2&Skip=c&-=d&none=3",
			want: []any{&embedding{Embedded: Embedded{Deep: "a"}, Point: &point{X: 2}, Over: "b", Plain: 1}}},
		{name: "a path", method: "File", path: map[string]string{"path": "a/b"}, query: "size=3", want: []any{"a/b", 3}},
		{name: "a path over everything", method: "Store", path: map[string]string{"id": "7"},
			query:       "id=8&dry=true&httpRequestBody={}",
			contentType: jsonType, body: `{"id":9,"n":3}`, want: []any{7, line{N: 3}, true}},
		{name: "a form as the whole body", method: "Store", path: map[string]string{"id": "7"}, contentType: formType,
			body: "sku=a&at.x=1&notes=n&dry=true",
			want: []any{7, line{SKU: "a", At: &point{X: 1}, Notes: []string{"n"}}, false}},
		{name: "any whole body", method: "Echo", contentType: jsonType, body: `[1]`, want: []any{[]any{1.0}}},
		{name: "an empty whole body", method: "Echo", want: []any{map[string]any{}}},
		{name: "a form as any whole body", method: "Echo", contentType: formType, body: "a=1&b=2&b=3",
			want: []any{map[string]any{"a": 1.0, "b": []any{2.0, 3.0}}}},
		{name: "a form as a map", method: "Count", contentType: formType, body: "a=1&b=2&b=3",
			want: []any{map[string][]int{"a": {1}, "b": {2, 3}}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			in, err := endpoint(t, test.method).Decode(&restmap.Request{
				Query: test.query, ContentType: test.contentType, Body: []byte(test.body),
				PathValue: func(name string) string { return test.path[name] },
			})
			require.NoError(t, err)
			for i, want := range test.want {
				if got := in.Field(i).Interface(); !reflect.DeepEqual(got, want) {
					t.Errorf("argument %d is %#v, want %#v", i, got, want)
				}
			}
		})
	}
}

func TestDecode_Refuses(t *testing.T) {
	t.Parallel()
	var tenSparse []string
	for i := range 10 {
		tenSparse = append(tenSparse, fmt.Sprintf("lines.%d.sub.999.n=1", i))
	}
	tests := []struct {
		name, method             string
		query, contentType, body string
		path                     string
		want                     string // name (in): detail; …
	}{
		{name: "a text for a number", method: "Add", query: "x=five", want: "x (query): expects an integer"},
		{name: "a name in another case", method: "Add", query: "X=1", want: "X (query): is unknown: write x"},
		{name: "a name in another case, in a form", method: "Add", contentType: formType, body: "Y=1",
			want: "Y (body): is unknown: write y"},
		{name: "a name in another case, in JSON", method: "Add", contentType: jsonType, body: `{"new":[{"x":1}],"X":1}`,
			want: "X (body): is unknown: write x"},
		{name: "a member in another case", method: "Objects", contentType: jsonType, body: `{"p":{"X":1}}`,
			want: "p.X (body): is unknown: write x"},
		{name: "a member of an element in another case", method: "Objects", contentType: jsonType,
			body: `{"lines":[{"n":1},{"N":1}]}`, want: "lines[1].N (body): is unknown: write n"},
		{name: "every member of a body", method: "Objects", contentType: jsonType,
			body: `{"p":{"x":"1","y":true,"Y":2},"lines":[{"n":"a"},{"n":1},{"n":[]}]}`,
			want: "p.x (body): expects a number; p.y (body): expects a number; p.Y (body): is unknown: write y; " +
				"lines[0].n (body): expects an integer; lines[2].n (body): expects an integer"},
		{name: "a mistake and what is no JSON", method: "Add", contentType: jsonType, body: `{"X":1,"y":"a","z":}`,
			want: "X (body): is unknown: write x"},
		{name: "a part in another case", method: "Objects", query: "lines.0.N=1",
			want: "lines.0.N (query): is unknown: write n"},
		{name: "a member of JSON in a query in another case", method: "Objects", query: "p={%22X%22:1}",
			want: "p.X (query): is unknown: write x"},
		{name: "every argument", method: "Add", query: "y=1.5&x=0x1",
			want: "x (query): expects an integer; y (query): expects an integer"},
		{name: "JSON of another type", method: "Add", contentType: jsonType, body: `{"x":"five"}`,
			want: "x (body): expects an integer"},
		{name: "a form of another type", method: "Add", contentType: formType, body: "x=five",
			want: "x (body): expects an integer"},
		{name: "a path of another type", method: "Store", path: "seven", want: "id (path): expects an integer"},
		{name: "a number that does not fit", method: "Texts", query: "i8=128&u=-1",
			want: "i8 (query): expects an integer from -128 to 127; u (query): expects an integer of 0 or more"},
		{name: "no finite number", method: "Texts", query: "f=NaN", want: "f (query): expects a number"},
		{name: "an infinity", method: "Texts", query: "f=-Inf", want: "f (query): expects a number"},
		{name: "null", method: "Texts", query: "i8=null&b=null",
			want: "b (query): expects true or false; i8 (query): expects an integer"},
		{name: "a name twice", method: "Texts", query: "s=a&s=b", want: "s (query): is given more than once"},
		{name: "an array with too many elements", method: "Odd", query: "pair=1&pair=2&pair=3",
			want: "pair (query): expects an array of 2"},
		{name: "empty elements", method: "Lists", query: "ids=1,,2&days=&days=",
			want: "days (query): expects a date and time such as 2006-01-02T15:04:05Z (RFC 3339); ids (query): " +
				"expects an integer"},
		{name: "JSON for a list of texts", method: "Lists", query: "ids=[1,2]",
			want: "ids (query): expects an integer; repeat the name for each element"},
		{name: "unknown parts", method: "Objects", query: "p.u=1&p.x.z=1&p.p.y=1&lines.0.none=1",
			want: "lines.0.none (query): is unknown; did you mean notes?; p.p.y (query): is unknown; " +
				"write p.y; " +
				"p.u (query): is unknown; known are x, y; p.x.z (query): is unknown; write p"},
		{name: "a name of what is deeper", method: "Store", path: "1", contentType: formType, body: "x=1&Line.n=2",
			want: "Line.n (body): is unknown; write n; x (body): is unknown; write at.x"},
		{name: "brackets for a key", method: "Objects", query: "attrs[a]=1&p[x]=2&lines[0][n]=3",
			want: "attrs[a] (query): is written with brackets; write attrs.a; lines[0][n] (query): is written with brackets; " +
				"write lines.0.n; p[x] (query): is written with brackets; write p.x"},
		{name: "anything twice", method: "Open", query: "x=1&x=2",
			want: "x (query): is given more than once; write x as one JSON value"},
		{name: "an object twice", method: "Objects", query: "p={}&p={}", want: "p (query): is given more than once"},
		{name: "a part twice", method: "Objects", query: "p.x=1&p.x=1", want: "p.x (query): is given more than once"},
		{name: "invalid UTF-8", method: "Texts", query: "s=%ff", want: "s (query): is not valid UTF-8"},
		{name: "special texts", method: "Special", query: "wait=soon&when=now&data=%23&addr=x&lvl=low&n=x",
			want: "addr (query): expects a valid Addr; data (query): expects a base64 string; lvl (query): " +
				"expects a valid level; " +
				"n (query): expects an integer in digits; wait (query): expects a duration such as 1.5s, " +
				"or a number of nanoseconds; when (query): expects a date and time such as 2006-01-02T15:04:05Z (RFC 3339)"},
		{name: "no numbers", method: "Number", query: "n=abc&many=1&many=null",
			want: "many (query): expects a number; n (query): expects a number"},
		{name: "text for a number in JSON", method: "Number", contentType: jsonType, body: `{"n":"1"}`,
			want: "n (body): expects a number"},
		{name: "an element", method: "Lists", query: "ids=1&ids=x&days=now",
			want: "days (query): expects a date and time such as 2006-01-02T15:04:05Z (RFC 3339); ids (query): " +
				"expects an integer"},
		{name: "broken JSON in a query", method: "Objects", query: "p={",
			want: "p (query): is not valid JSON: it ends too early"},
		{name: "JSON of another type in a query", method: "Objects", query: "p={%22x%22:%221%22}",
			want: "p.x (query): expects a number"},
		{name: "JSON of another type inside a query", method: "Objects", query: "lines=[{},{%22n%22:300}]",
			want: "lines[1].n (query): expects an integer from -128 to 127"},
		{name: "deep JSON in a query", method: "Open", query: "x=" + strings.Repeat("[", 65),
			want: "x (query): nests deeper than 64 levels"},
		{name: "a part of another type", method: "Objects", query: "lines.0.at.x=a",
			want: "lines.0.at.x (query): expects a number"},
		{name: "a part that is no text", method: "Objects", query: "lines.0.attrs=a&lines.0=x&lines.0.at={}",
			want: "lines.0 (query): is not a plain value; write lines as one JSON value; lines.0.at (query): " +
				"is not a plain value; write lines as one JSON value; " +
				"lines.0.attrs (query): is not a plain value; write lines as one JSON value"},
		{name: "failures of members of maps", method: "Maps",
			query: "m.a=b&m.a=c&lists.a=x&numbers.200=1&numbers.=1&days.a=1s&deep.a.x=1&deep.b={%22x%22:true}",
			want: "days.a (query): has a key of the wrong type: it expects a date and time such as 2006-01-02T15:04:05Z (RFC " +
				"3339); deep.a.x (query): refers to a part of a map value; write deep as one JSON value; " +
				"deep.b.x (query): expects a number; lists.a (query): expects an integer; m.a (query): is given more than once; " +
				"numbers. (query): needs a key after the dot; " +
				"numbers.200 (query): has a key of the wrong type: it expects an integer from -128 to 127"},
		{name: "an element of a list by its index", method: "Lists", query: "tags.0=a",
			want: "tags.0 (query): is not the name of an element; repeat tags"},
		{name: "an element of a list deep down by its index", method: "Objects", query: "lines.0.notes.0=a",
			want: "lines.0.notes.0 (query): is not the name of an element; repeat lines.0.notes"},
		{name: "parts of an odd type", method: "Odd", query: "pair.0=1",
			want: "pair.0 (query): is not the name of an element; repeat pair"},
		{name: "a name of several fields", method: "Split", query: "over=b&text=c&limit=5&page.over=c",
			want: "limit (query): is a member of several arguments: write page.limit or split.limit; " +
				"over (query): is a member of several arguments: write page.over or split.over"},
		{name: "a sparse list", method: "Objects", query: "lines.999999999.n=1",
			want: "lines.999999999.n (query): has an index above 999"},
		{name: "a sparse list inside another", method: "Objects", query: "lines.0.sub.1000.n=1",
			want: "lines.0.sub.1000.n (query): has an index above 999"},
		{name: "sparse lists that are many", method: "Objects", query: strings.Join(tenSparse, "&"),
			want: "lines.9.sub.999.n (query): makes the lists of the form hold more than 10000 elements"},
		{name: "a negative index", method: "Objects", query: "lines.-1.n=1",
			want: "lines.-1.n (query): needs an index after the list's name, as in 0.name"},
		{name: "an index with a zero in front", method: "Objects", query: "lines.01.n=1",
			want: "lines.01.n (query): needs an index after the list's name, as in 0.name"},
		{name: "an index that is none", method: "Objects", query: "lines.n=1",
			want: "lines.n (query): needs an index after the list's name, as in 0.name"},
		{name: "brackets", method: "Lists", query: "tags[]=a&ids[999999999]=1&none[]=1",
			want: "ids[999999999] (query): is written with brackets; repeat ids; tags[] (query): is written with brackets; " +
				"repeat tags"},
		{name: "endless parts", method: "Objects", query: "lines" + strings.Repeat(".0.sub", 17) + ".0.n=1",
			want: ("lines" + strings.Repeat(".0.sub", 17))[:100] + "… (query): has more than 32 parts"},
		{name: "a semicolon", method: "Add", query: "x=1;y=2", want: "the query is malformed"},
		{name: "a broken escape", method: "Add", query: "x=%zz", want: "the query is malformed"},
		{name: "a broken form", method: "Add", contentType: formType, body: "x=%zz", want: "the form is malformed"},
		{name: "JSON sent as a form", method: "Add", contentType: formType, body: `{"x":5}`,
			want: "the body is JSON, sent as a form: send it with Content-Type: application/json"},
		{name: "too many parameters", method: "Add", query: strings.Repeat("a&", 10_001), want: "the query is malformed"},

		{name: "null as a body", method: "Add", contentType: jsonType, body: " null\n",
			want: "the body is null: send a value, or no body"},
		{name: "null as a whole body", method: "Echo", contentType: jsonType, body: "null",
			want: "the body is null: send a value, or no body"},
		{name: "an array as a body", method: "Add", contentType: jsonType, body: "[]", want: "the body expects an object"},
		{name: "an array as a body, with a query", method: "Add", query: "x=1", contentType: jsonType, body: "[]",
			want: "the body expects an object"},
		{name: "10 001 levels", method: "Echo", contentType: jsonType, body: strings.Repeat("[", 10_001),
			want: "the body nests deeper than 64 levels"},
		{name: "a number of a million digits", method: "Add", contentType: jsonType,
			body: `{"x":` + strings.Repeat("1", 1_000_000) + `}`, want: "x (body): is a number or word that is too long"},
		{name: "two bodies", method: "Add", contentType: jsonType, body: `{"x":1}{"x":2}`,
			want: "the body is not valid JSON at byte 7"},
		{name: "a name twice in JSON", method: "Add", contentType: jsonType, body: `{"x":1,"x":2}`,
			want: "x (body): is given twice"},
		{name: "an error inside", method: "Objects", contentType: jsonType, body: `{"lines":[{"n":300}]}`,
			want: "lines[0].n (body): expects an integer from -128 to 127"},
		{name: "an error far inside", method: "Objects", contentType: jsonType,
			body: `{"p":{},"lines":[{},{"sub":[{"sub":[{},{},{"n":300}]}]}]}`,
			want: "lines[1].sub[0].sub[2].n (body): expects an integer from -128 to 127"},
		{name: "an error inside, with a query", method: "Objects", query: "p.x=1", contentType: jsonType,
			body: `{"lines":[{"n":300}]}`, want: "lines[0].n (body): expects an integer from -128 to 127"},
		{name: "a name twice where nobody looks", method: "Add", contentType: jsonType, body: `{"none":[{"a":1,"a":2}]}`,
			want: "none[0].a (body): is given twice"},
		{name: "an error in a list as a whole body", method: "Sum", contentType: jsonType, body: `[1,2,"x"]`,
			want: "[2] (body): expects an integer"},
		{name: "an error behind a name with a slash", method: "Objects", contentType: jsonType, body: `{"a/b":1,"a/b":2}`,
			want: "a/b (body): is given twice"},
		{name: "an error in a whole body", method: "Store", path: "1", contentType: jsonType, body: `{"n":"x"}`,
			want: "n (body): expects an integer"},
		{name: "an error in a form as a whole body", method: "Store", path: "1", contentType: formType,
			body: "n=x&sku=a&sku=b", want: "n (body): expects an integer; sku (body): is given more than once"},
		{name: "an error in a form as a map", method: "Count", contentType: formType, body: "b=x&a=1",
			want: "b (body): expects an integer"},
		{name: "an error in a list in one text", method: "Odd", query: "kinds=1,x",
			want: "kinds (query): expects an integer"},
		{name: "an element of an odd list", method: "Odd", query: "ids=1&ids=x&pair=[1]",
			want: "ids (query): expects an integer; pair (query): expects an array of 2"},
		{name: "an element that does not read its text", method: "Addresses", query: "ips=1.2.3.4&ips=x",
			want: "ips (query): expects a valid IP"},
		{name: "a name twice in a form as a map", method: "Tally", contentType: formType, body: "a=1&a=2",
			want: "a (body): is given more than once"},
		{name: "broken JSON for a list", method: "Odd", query: "pair=[x",
			want: "pair[0] (query): is not valid JSON at byte 1"},
		{name: "an empty body for an array", method: "Sum", want: "the body expects an array"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := endpoint(t, test.method).Decode(&restmap.Request{
				Query: test.query, ContentType: test.contentType, Body: []byte(test.body),
				PathValue: func(string) string { return test.path },
			})
			var got *restmap.InputError
			if !errors.As(err, &got) {
				t.Fatalf("Decode = %v, want an *InputError", err)
			}
			assert.Equal(t, 400, got.Status)
			assert.Equal(t, test.want, got.Error())
		})
	}
}

func TestDecode_ListsBadArguments(t *testing.T) {
	t.Parallel()
	_, err := endpoint(t, "Add").Decode(&restmap.Request{Query: "x=a&y=b"})
	var got *restmap.InputError
	if !errors.As(err, &got) {
		t.Fatalf("Decode = %v, want an *InputError", err)
	}
	text, err := json.Marshal(got.Arguments)
	want := `[{"name":"x","in":"query","detail":"expects an integer"},{"name":"y","in":"query","detail":"expects an integer"}]`
	require.NoError(t, err)
	assert.Equal(t, want, string(text))
}

func TestDecode_TellsNoMoreThanIsUseful(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&many, "lines.%d.n=x&", i)
	}
	for _, test := range []struct {
		request  *restmap.Request
		failures int
		name     string
	}{
		{&restmap.Request{Query: many.String()}, 20, "lines.0.n"},
		{&restmap.Request{Query: "lines." + strings.Repeat("x", 1000)}, 1, "lines." + strings.Repeat("x", 94) + "…"},
		{&restmap.Request{ContentType: jsonType, Body: []byte(`{"` + strings.Repeat("é", 1000) + `":1,"` + strings.Repeat("é",
			1000) + `":1}`)},
			1, strings.Repeat("é", 50) + "…"},
	} {
		_, err := endpoint(t, "Objects").Decode(test.request)
		var got *restmap.InputError
		if !errors.As(err, &got) {
			t.Fatalf("Decode = %v, want an *InputError", err)
		}
		require.Len(t, got.Arguments, test.failures)
		assert.Equal(t, test.name, got.Arguments[0].Name)
	}
}

func TestDecode_RefusesMedia(t *testing.T) {
	t.Parallel()
	const either = "the body has to be application/json or application/x-www-form-urlencoded"
	tests := []struct{ method, contentType, body, want string }{
		{"Add", "", `{"x":1}`, either},
		{"Add", "text/plain", `{"x":1}`, either},
		{"Add", "multipart/form-data; boundary=x", "--x--", either},
		{"Add", "application/json; charset=utf-16", `{"x":1}`, `the body is in charset "utf-16": send it in UTF-8`},
		{"Add", "text/plain; charset=utf-8", `{"x":1}`, either},
		{"Add", "application/json; charset", `{"x":1}`, either},
		{"Add", "application", `{"x":1}`, either},
		{"Start", formType, "a=1", "the body has to be application/json, because a form cannot represent it"},
		{"Sum", formType, "a=1", "the body has to be application/json, because a form cannot represent it"},
	}
	for _, test := range tests {
		_, err := endpoint(t, test.method).Decode(&restmap.Request{ContentType: test.contentType, Body: []byte(test.body)})
		var got *restmap.InputError
		require.ErrorAs(t, err, &got, "%q, %q", test.body, test.contentType)
		assert.Equal(t, 415, got.Status, "%q, %q", test.body, test.contentType)
		assert.Equal(t, test.want, got.Error(), "%q, %q", test.body, test.contentType)
	}
}

func TestDecode_OfSparseListsAllocatesLittle(t *testing.T) {
	e := endpoint(t, "Objects")
	var all strings.Builder
	for i := range 9000 {
		fmt.Fprintf(&all, "lines.%d.sub.%d.n=1&", i%1000, 999-i%10)
	}
	for _, query := range []string{"lines.999999999.n=1", "lines[999999999]=1", all.String()} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := e.Decode(&restmap.Request{Query: query})
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("Decode of %.30s… = nil, want an error", query)
		}
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 8<<20 {
			t.Errorf("Decode of %.30s… allocates %d bytes", query, allocated)
		}
	}
}

// FuzzDecodeForm feeds queries to every method: they end as arguments or as an InputError.
func FuzzDecodeForm(f *testing.F) {
	for _, seed := range []string{
		"x=5&y=6", "p={\"x\":1}&p.y=2", "lines.0.sub.0.n=1&lines.3.notes=a", "tags=a&tags=b&ids=1,2", "s=%ff&b=on",
		"x=1;y", "raw=[1",
		"lines.-1.n=1", "q.x=1&q=null", "days=2024-05-06T07:08:09Z", "tag=1&Tag=2", "wait=3s&data=AQI=", "sku=a&at.x=1",
		"m.a=b&lists.a=1&lists.a=2&any.b=c&days.2024-05-06T07:08:09Z=3s&numbers.1=on&deep.a={}&deep.b.x=1",
	} {
		f.Add(seed)
	}
	endpoints, err := restmap.Map(describe(f, Inputs{}), restmap.Options{})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, query string) {
		for _, e := range endpoints {
			for _, request := range []*restmap.Request{{Query: query}, {ContentType: formType, Body: []byte(query)}} {
				in, err := e.Decode(request)
				var failure *restmap.InputError
				if err != nil && !errors.As(err, &failure) {
					t.Fatalf("%s with %q: %v is no InputError", e.Name, query, err)
				}
				if err == nil && in.Type() != e.Method.In {
					t.Fatalf("%s with %q: arguments of type %v", e.Name, query, in.Type())
				}
			}
		}
	})
}

// TestDecode_OfPlainQueries decodes queries of plain numbers, and what looks like them.
func TestDecode_OfPlainQueries(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"x=5&y=6": "[5 6]", "y=6": "[0 6]", "x=-5": "[-5 0]", "x=5&z=1": "[5 0]", "x=5&": "[5 0]", "x=&y=6": "[0 6]",
		"x": "[0 0]", "x=%35": "[5 0]",
		"x=5&x=6": "x (query): is given more than once", "x=five": "x (query): expects an integer",
		"x=5+":    "x (query): expects an integer",
		"x=5;y=6": "the query is malformed", "x=\xff": "x (query): is not valid UTF-8",
		"x=5=": "x (query): expects an integer",
	} {
		in, err := endpoint(t, "Add").Decode(&restmap.Request{Query: query})
		got := fmt.Sprintf("[%v %v]", in.Field(0), in.Field(1))
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q is %s, want %s", query, got, want)
		}
	}
}

// FuzzQuery holds that a text means the same as a query and as a form in the body.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{
		"x=5&y=6", "s=a&b=true&i8=-128&u=7&f=1e3&p=3", "s=a&s=b", "s=a%20b", "s=a+b", "b=on&i8=128", "tag=a&Tag=b&p.x=1",
		"s=\xff", "s", "s=&u=0", "a;b", "s=a=b", "[",
	} {
		f.Add(seed)
	}
	methods := []*restmap.Endpoint{endpoint(f, "Add"), endpoint(f, "Texts"), endpoint(f, "Special"), endpoint(f, "Alike"),
		endpoint(f, "Lists")}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
			return // a form in the body has to look like one
		}
		for _, e := range methods {
			got, err := e.Decode(&restmap.Request{Query: text})
			want, refused := e.Decode(&restmap.Request{ContentType: formType, Body: []byte(text)})
			if (err == nil) != (refused == nil) || err == nil && !reflect.DeepEqual(got.Interface(), want.Interface()) {
				t.Fatalf("%s of %q is %v, %v as a query and %v, %v as a form", e.Name, text, got, err, want, refused)
			}
		}
	})
}

// TestDecode_Allocations holds how often plain arguments allocate: for themselves, and for each text. The race detector
// adds some, since it takes something out of the pools of the JSON library at random.
func TestDecode_Allocations(t *testing.T) {
	for _, test := range []struct {
		method, body string
		most         float64
	}{
		{"Add", `{"x":5,"y":6}`, 2},
		{"Text", `{"text":"` + strings.Repeat("a", 64<<10) + `"}`, 4},
	} {
		e, request := endpoint(t, test.method), &restmap.Request{ContentType: jsonType, Body: []byte(test.body)}
		if got := testing.AllocsPerRun(100, func() { _, _ = e.Decode(request) }); got > test.most {
			t.Errorf("%s of %.20s allocates %v times, want %v at most", test.method, test.body, got, test.most)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, bench := range []struct {
		name    string
		method  string
		request *restmap.Request
	}{
		{"JSON", "Add", &restmap.Request{ContentType: jsonType, Body: []byte(`{"x":5,"y":6}`)}},
		{"1 KiB", "Text", &restmap.Request{ContentType: jsonType,
			Body: []byte(`{"text":"` + strings.Repeat("a", 1<<10) + `"}`)}},
		{"64 KiB", "Text", &restmap.Request{ContentType: jsonType,
			Body: []byte(`{"text":"` + strings.Repeat("a", 64<<10) + `"}`)}},
		{"query", "Add", &restmap.Request{Query: "x=5&y=6"}},
		{"path", "File", &restmap.Request{PathValue: func(string) string { return "a/b" }}},
	} {
		e := endpoint(b, bench.method)
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.Decode(bench.request); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	tests := []struct {
		method, httpMethod string
		want               []string // name, place, and whether it is JSON
	}{
		{"Add", "POST", []string{"x body JSON", "y body JSON"}},
		{"Add", "GET", []string{"x query", "y query"}},
		{"Add", "DELETE", []string{"x query", "y query"}},
		{"Lists", "GET", []string{"tags query", "ids query", "days query"}},
		{"Objects", "GET", []string{"p query JSON", "q query JSON", "lines query JSON", "attrs query JSON"}},
		{"Store", "PUT", []string{"id path", "httpRequestBody body JSON", "dry query"}},
		{"File", "POST", []string{"path" + " path", "size body JSON"}},
	}
	for _, test := range tests {
		var got []string
		for _, argument := range endpoint(t, test.method).Arguments(test.httpMethod) {
			text := argument.Name + " " + argument.In
			if argument.JSON {
				text += " JSON"
			}
			got = append(got, text)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("Arguments of %s with %s are %q, want %q", test.method, test.httpMethod, got, test.want)
		}
	}
}

func TestArguments_OfAHandler(t *testing.T) {
	t.Parallel()
	if got := mustHandler(t, "GET", "/{a}").Arguments("GET"); got != nil {
		t.Errorf("Arguments of a handler are %v, want none", got)
	}
}

// TestStrict holds that a strict endpoint refuses what it does not read, and takes all else as others do.
func TestStrict(t *testing.T) {
	t.Parallel()
	options := restmap.Options{Strict: true, Methods: map[string]restmap.MethodOptions{"Store": {Path: "/lines/{id}",
		HTTPMethod: "PUT"}}}
	for _, test := range []struct {
		name                             string
		method, query, contentType, body string
		want                             string // what is wrong, "" if nothing is
	}{
		{"a query", "Add", "x=1&y=2", "", "", ""},
		{"a query, misspelled", "Add", "x=1&yy=2&a.b=3", "", "",
			"a.b (query): is unknown; known are x, y; yy (query): is unknown; did you mean y?"},
		{"a JSON body", "Add", "", jsonType, `{"x":1}`, ""},
		{"JSON, misspelled", "Add", "", jsonType, `{"X":1}`, "X (body): is unknown: write x"},
		{"JSON beside a query", "Add", "x=1", jsonType, `{"y":1,"z":2}`, "z (body): is unknown; known are x, y"},
		{"JSON, nearly", "Add", "", jsonType, `{"xx":1}`, "xx (body): is unknown; did you mean x?"},
		{"a form", "Add", "", formType, "x=1&y=2", ""},
		{"a form, misspelled", "Add", "", formType, "x=1&z=2", "z (body): is unknown; known are x, y"},
		{"objects", "Objects", "p.x=1&lines.0.sku=a&attrs.any=1&q={%22x%22:1}", "", "", ""},
		{"parts, misspelled", "Objects", "p.X=1&lines.0.none=1", "", "",
			"lines.0.none (query): is unknown; did you mean notes?; p.X (query): is unknown: write x"},
		{"JSON in a query", "Objects", "p={%22x%22:1,%22X%22:2}", "", "", "p.X (query): is unknown: write x"},
		{"deep in JSON", "Objects", "", jsonType, `{"lines":[{"sku":"a"},{"at":{"z":1}}],"attrs":{"any":1}}`,
			"lines[1].at.z (body): is unknown; known are x, y"},
		{"anything", "Open", "", jsonType, `{"x":{"a":1},"raw":{"b":2}}`, ""},
		{"the whole body", "Store", "dry=true", jsonType, `{"sku":"a"}`, ""},
		{"in the path as well", "Store", "id=3", jsonType, `{"sku":"a"}`, ""},
		{"the body, misspelled", "Store", "", jsonType, `{"Sku":"a"}`, "Sku (body): is unknown: write sku"},
		{"the body, as a form", "Store", "", formType, "sku=a&dry=true",
			"dry (body): is unknown; known are at, attrs, n, notes, sku, sub"},
		{"a query beside a body", "Store", "dryy=1", jsonType, `{}`, "dryy (query): is unknown; did you mean dry?"},
		{"the body of any type", "Echo", "", jsonType, `{"anything":1}`, ""},
		{"the body in the query", "Echo", "httpRequestBody=1", jsonType, `{}`, "httpRequestBody (query): is unknown"},
		{"a list, with brackets", "Lists", "tags[]=a", "", "", "tags[] (query): is written with brackets; repeat tags"},
		{"what is wrong as well", "Add", "x=a&z=1", "", "",
			"x (query): expects an integer; z (query): is unknown; known are x, y"},
		{"nothing to be misspelt", "Add", "", "", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			request := &restmap.Request{
				Query: test.query, ContentType: test.contentType, Body: []byte(test.body),
				PathValue: func(string) string { return "7" },
			}
			in, err := endpointOf(t, Inputs{}, test.method, options).Decode(request)
			if test.want == "" {
				lenient, failed := endpoint(t, test.method).Decode(request)
				require.NoError(t, err)
				require.NoError(t, failed)
				assert.Equal(t, lenient.Interface(), in.Interface())
				return
			}
			var got *restmap.InputError
			require.ErrorAs(t, err, &got)
			assert.Equal(t, 400, got.Status)
			assert.Equal(t, test.want, got.Error())
		})
	}
}

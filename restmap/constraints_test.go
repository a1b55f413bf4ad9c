package restmap_test

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/restmap"
)

// Constrained has methods whose arguments ask for something.
type Constrained struct{}

func (Constrained) Order(of order, note string) (ok bool)             { return }
func (Constrained) Store(id share, httpRequestBody order) (n int)     { return }
func (Constrained) Replace(httpRequestBody []step) (n int)            { return }
func (Constrained) Named(who person, limit share) (greeting string)   { return }
func (Constrained) Guests(all []person, by map[string]person) (n int) { return }
func (Constrained) Invite(httpRequestBody invitation) (n int)         { return }
func (Constrained) Tell(httpRequestBody map[string]person) (n int)    { return }
func (Constrained) Once(all once) (n int)                             { return }
func (Constrained) Sign(httpRequestBody person) (n int)               { return }
func (Constrained) Find(limit share, who person) (n int)              { return }
func (Constrained) Described(at seen) (n int)                         { return }
func (Constrained) Plain(at point) (n int)                            { return }
func (Constrained) Free(at spot) (n int)                              { return }
func (Constrained) Mark(by long) (n int)                              { return }
func (Constrained) Turn(to page, all []page) (n int)                  { return }

type (
	order struct {
		Amount int      `json:"amount" jsonschema:"minimum=1,maximum=10"`
		Tags   []string `json:"tags" jsonschema:"maxItems=3,uniqueItems=true,minLength=2"`
		At     spot     `json:"at"`
		Gift   *step    `json:"gift"`
	}
	spot struct {
		X float64 `json:"x" jsonschema:"description=from the left"`
		Y float64 `json:"y" jsonschema:"exclusiveMinimum=-1"`
	}
	seen struct {
		X float64 `json:"x" jsonschema:"description=from the left"`
		Y float64 `json:"y" jsonschema:"title=Y,example=5"`
	}
	step struct {
		Size string `json:"size" jsonschema:"enum=S,enum=M"`
	}
	person struct {
		Name  string `json:"name" jsonschema:"required"`
		Email string `json:"email,omitempty" jsonschema:"format=email"`
	}
	share int
	once  struct {
		All []point `json:"all" jsonschema:"uniqueItems=true"`
	}
	page struct {
		Size  int   `json:"size,omitempty" jsonschema:"minimum=1"`
		Inner *page `json:"inner,omitempty"`
	}
	long struct {
		ID uint64 `json:"id,omitempty" jsonschema:"enum=18446744073709551615,enum=1"`
	}
	invitation struct {
		Who person         `json:"who"`
		By  map[string]int `json:"by"`
	}
)

// JSONSchemaExtend says what a share is.
func (share) JSONSchemaExtend(s *jsonschema.Schema) { s.Maximum = "100" }

func TestConstraints(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, method       string
		query, media, body string
		path, want         string // "" for nothing to say
	}{
		{name: "all is well", method: "Order", body: `{"of":{"amount":1,"tags":["ab","cd"]}}`},
		{name: "all that is wrong", method: "Order",
			body: `{"of":{"amount":11,"tags":["ab","a","ab","ab"],"at":{"y":-1},"gift":{"size":"L"}}}`,
			want: "of.amount (body): expects at most 10; of.at.y (body): expects more than -1; of.gift.size (body): " +
				"expects one of S, M; " +
				"of.tags (body): expects at most 3 elements; of.tags (body): expects no duplicate elements; of.tags[1] (body): " +
				"expects at least 2 characters"},
		{name: "what is missing is zero", method: "Order", body: `{}`, want: "of (body): is missing"},
		{name: "a misspelt name", method: "Order", body: `{"off":{}}`,
			want: "of (body): is missing: did you write off instead?"},
		{name: "a misspelt name in a query", method: "Order", query: "off=5",
			want: "of (body): is missing: did you write off instead?"},
		{name: "a misspelt name in a form", method: "Order", media: formType, body: "off.much=5",
			want: "of (body): is missing: did you write off instead?"},
		{name: "a misspelt name in the form of a body", method: "Sign", media: formType, body: "nane=a",
			want: "name (body): is missing: did you write nane instead?"},
		{name: "a part that is misspelt", method: "Order", body: `{"of":{"amont":3}}`,
			want: "of.amount (body): is missing: did you write amont instead?"},
		{name: "a part that is missing", method: "Order", body: `{"of":{}}`, want: "of.amount (body): is missing"},
		{name: "null is missing", method: "Order", body: `{"of":{"amount":null}}`, want: "of.amount (body): is missing"},
		{name: "nothing at all", method: "Order", want: "of (body): is missing"},
		{name: "a query", method: "Order", query: "of.amount=12", want: "of.amount (query): expects at most 10"},
		{name: "JSON in a query", method: "Order", query: `of={"amount":12}`, want: "of.amount (query): expects at most 10"},
		{name: "a form", method: "Order", media: formType, body: "of.amount=12",
			want: "of.amount (body): expects at most 10"},
		{name: "the body over the query", method: "Order", query: "of.amount=12", body: `{"of":{"amount":2}}`},
		{name: "a type first", method: "Order", body: `{"of":{"amount":"many"}}`,
			want: "400 of.amount (body): expects an integer"},

		{name: "the whole body", method: "Store", path: "7", body: `{"amount":0}`, want: "amount (body): expects at least 1"},
		{name: "the path", method: "Store", path: "101", body: `{"amount":1}`, want: "id (path): expects at most 100"},
		{name: "a body that is missing", method: "Store", path: "1", want: "amount (body): is missing"},
		{name: "elements of the body", method: "Replace", body: `[{"size":"S"},{"size":"L"},{}]`,
			want: "[1].size (body): expects one of S, M; [2].size (body): is missing"},

		{name: "required and empty", method: "Named", body: `{"who":{"name":""}}`},
		{name: "required", method: "Named", body: `{"who":{}}`, want: "who.name (body): is missing"},
		{name: "required is not null", method: "Named", body: `{"who":{"name":null}}`, want: "who.name (body): is missing"},
		{name: "nobody is asked for", method: "Named", body: `{"limit":5}`},
		{name: "left out", method: "Named", body: `{"who":{"name":"a"}}`},
		{name: "there and wrong", method: "Named", body: `{"who":{"name":"a","email":""}}`,
			want: "who.email (body): expects the format email"},
		{name: "a type of its own", method: "Named", body: `{"limit":101}`, want: "limit (body): expects at most 100"},
		{name: "required in a query", method: "Named", query: `who={"email":"a@b.example"}`,
			want: "who.name (query): is missing"},
		{name: "parts over JSON in a query", method: "Named", query: `who={"name":"a","email":"a@b.example"}&who.email=b`,
			want: "who.email (query): expects the format email"},
		{name: "required, and only other parts in a query", method: "Named", query: "who.email=a@b.example",
			want: "who.name (query): is missing"},
		{name: "required, and the parts are there", method: "Named", query: "who.email=a@b.example&who.name=a"},
		{name: "JSON in a form over parts in a query", method: "Named", query: "who.name=a", media: formType,
			body: `who={"email":"a@b.example"}`, want: "who.name (body): is missing"},
		{name: "elements of a list in parts", method: "Guests", query: "all.2.name=a&all.0.email=a@b.example&all.2.email=b",
			want: "all[0].name (query): is missing; all[1].name (query): is missing; all[2].email (query): " +
				"expects the format email"},
		{name: "members of a map", method: "Guests", query: `by.a={"name":"a"}&by.b.c={"email":""}`,
			want: "400 by.b.c (query): refers to a part of a map value; write by as one JSON value"},
		{name: "members of a map, as JSON", method: "Guests", query: `by.a={"name":"a","email":"x"}`,
			want: "by.a.email (query): expects the format email"},
		{name: "zero in place of nothing, as JSON", method: "Turn", body: `{"to":{"size":0}}`,
			want: "to.size (body): expects at least 1"},
		{name: "zero in place of nothing", method: "Turn", query: "to.size=0&to.inner.size=0",
			want: "to.inner.size (query): expects at least 1; to.size (query): expects at least 1"},
		{name: "zero in place of nothing in a list", method: "Turn", media: formType, body: "all.1.size=0",
			want: "all[1].size (body): expects at least 1"},
		{name: "nothing", method: "Turn", query: "to.size=&to.inner.inner.size=1"},
		{name: "more than an int64", method: "Mark", body: `{"by":{"id":18446744073709551615}}`},
		{name: "another one", method: "Mark", body: `{"by":{"id":18446744073709551614}}`,
			want: "by.id (body): expects one of 18446744073709551615, 1"},
		{name: "a form with parts", method: "Invite", media: formType, body: "who.email=a@b.example&by.x.y=1",
			want: "who.name (body): is missing"},
		{name: "a form as a map", method: "Tell", media: formType, body: `a.b={"name":"a","email":"x"}&c=`,
			want: "a.b.email (body): expects the format email"},
		{name: "alike for the method, not as JSON", method: "Once", body: `{"all":{"all":[{"x":0},{}]}}`},
		{name: "an object twice", method: "Once", body: `{"all":{"all":[{"x":1},{"y":2},{"x":1}]}}`,
			want: "all.all (body): expects no duplicate elements"},
		{name: "required in a form", method: "Sign", media: formType, body: "email=a@b.example",
			want: "name (body): is missing"},
		{name: "a form", method: "Sign", media: formType, body: "name=a&email="},
		{name: "an empty body", method: "Sign", want: "name (body): is missing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := endpointOf(t, Constrained{}, test.method, restmap.Options{Methods: map[string]restmap.MethodOptions{
				"Store": {Path: "/orders/{id}", HTTPMethod: "PUT"},
			}})
			request := &restmap.Request{Method: http.MethodPost, Query: test.query, ContentType: test.media,
				Body: []byte(test.body), PathValue: func(string) string { return test.path }}
			if test.media == "" {
				request.ContentType = jsonType
			}
			_, err := e.Decode(request)
			if text := toldOf(err); text != test.want {
				t.Errorf("got:  %s\nwant: %s", text, test.want)
			}
		})
	}
}

// toldOf returns the detail of an error, after its status unless that is 422.
func toldOf(err error) string {
	input, ok := errors.AsType[*restmap.InputError](err)
	switch {
	case err == nil:
		return ""
	case !ok:
		return err.Error()
	case input.Status == 400:
		return "400 " + input.Detail
	case strings.Count(input.Detail, "; ") != len(input.Arguments)-1:
		return "another number of arguments: " + input.Detail
	}
	return input.Detail
}

func TestManyViolations(t *testing.T) {
	t.Parallel()
	e := endpointOf(t, Constrained{}, "Replace", restmap.Options{})
	body := "[" + strings.Repeat("{},", 999) + "{}]"
	_, err := e.Decode(&restmap.Request{ContentType: jsonType, Body: []byte(body)})
	input, ok := errors.AsType[*restmap.InputError](err)
	require.True(t, ok)
	require.Len(t, input.Arguments, 100)
	assert.True(t, strings.HasSuffix(input.Detail, "; and 80 more"), input.Detail)
}

// A type whose tags only describe pays nothing for those that ask for something, which pay little. The least of many
// times counts: the race detector takes something out of pools at random.
func TestConstraints_CostNothing(t *testing.T) { //nolint:paralleltest // it counts allocations
	request := &restmap.Request{ContentType: jsonType, Body: []byte(`{"at":{"x":1,"y":2}}`)}
	cost := func(method string) float64 {
		e := endpointOf(t, Constrained{}, method, restmap.Options{})
		least := math.Inf(1)
		for range 100 {
			least = min(least, testing.AllocsPerRun(1, func() {
				if _, err := e.Decode(request); err != nil {
					t.Error(err)
				}
			}))
		}
		return least
	}
	described, plain, kept := cost("Described"), cost("Plain"), cost("Free")
	assert.Equal(t, plain, described)
	assert.LessOrEqual(t, kept, plain+1)
}

func TestConstraints_ByValue(t *testing.T) {
	t.Parallel()
	e := endpointOf(t, Constrained{}, "Free", restmap.Options{})
	type arguments struct {
		At spot `json:"at"`
	}
	for args, want := range map[arguments]bool{{}: true, {spot{Y: 2}}: true, {spot{Y: -2}}: false} {
		if _, ok := e.TakeValues(args, 1<<10); ok != want {
			t.Errorf("%v is taken: %v", args, ok)
		}
	}
	if _, ok := endpointOf(t, Constrained{}, "Named", restmap.Options{}).TakeValues(map[string]any{"limit": 1},
		1<<10); ok {
		t.Error("what only text tells is taken by value")
	}
}

type (
	badOne struct {
		X int    `json:"x" jsonschema:"minimum=one"`
		Y string `json:"y" jsonschema:"pattern=[a"`
	}
	badTwo struct {
		Z int `json:"z" jsonschema:"maximum=two"`
	}
)

// Malformed has several errors.
type Malformed struct{}

// Do has some of them twice.
func (Malformed) Do(a, b badOne) (c *badOne, d badTwo) { return nil, badTwo{} }

// TestConstraints_AllMalformed: all are listed, and each one once.
func TestConstraints_AllMalformed(t *testing.T) {
	t.Parallel()
	service, err := reflectapi.Describe(Malformed{})
	require.NoError(t, err)
	_, err = restmap.Map(service, restmap.Options{})
	const want = `method Do: argument a: field restmap_test.badOne.X: jsonschema "minimum=one": expects a number
field restmap_test.badOne.Y: jsonschema "pattern=[a": has a [ that is not closed
result d: field restmap_test.badTwo.Z: jsonschema "maximum=two": expects a number`
	assert.EqualError(t, err, want)
}

func TestMalformedConstraints(t *testing.T) {
	t.Parallel()
	type bad struct {
		Amount int `json:"amount" jsonschema:"minimum=one"`
	}
	for _, value := range []any{bad{}, &bad{}, []bad{}, map[string]bad{}} {
		err := mapOf(t, reflect.TypeOf(value))
		want := `method Do: argument p: field restmap_test.bad.Amount: jsonschema "minimum=one": expects a number`
		assert.EqualError(t, err, want)
	}
}

// Recursive types, each containing itself in another way. Their fields are called as in JSON.
type (
	node struct { // what restricts it stands first
		Name string          `json:"name" jsonschema:"minLength=2"`
		Kids []node          `json:"kids,omitempty"`
		Next *node           `json:"next,omitempty"`
		By   map[string]node `json:"by,omitempty"`
	}
	late struct { // … and last, seen through itself first
		Next *late   `json:"next,omitempty"`
		All  []*late `json:"all,omitempty" jsonschema:"maxItems=2"`
		N    uint8   `json:"n,omitempty" jsonschema:"maximum=6"`
	}
	mother struct { // by way of another
		Sons []son `json:"sons,omitempty"`
	}
	son struct {
		From *mother         `json:"from,omitempty"`
		To   map[string]*son `json:"to,omitempty"`
		Mark markOf          `json:"mark"`
	}
	markOf struct {
		Of   *mother `json:"of,omitempty"`
		Code string  `json:"code,omitempty" jsonschema:"pattern=^[ab]*$"`
	}
	sworn struct { // what only the JSON shows
		Name string  `json:"name" jsonschema:"required"`
		Kids []sworn `json:"kids,omitempty"`
	}
	forest []tree // a list of its own name
	tree   struct {
		Name string `json:"name" jsonschema:"maxLength=2"`
		In   forest `json:"in,omitempty"`
	}
	heap  []heap // of nothing but itself
	heaps struct {
		All []heap `json:"all" jsonschema:"uniqueItems=true"`
	}
	vague struct { // tags that restrict nothing
		X    float64          `json:"x" jsonschema:"description=from the left"`
		Next *vague           `json:"next,omitempty"`
		All  map[string]vague `json:"all,omitempty"`
	}
)

// TestConstraintsOf_RecursiveTypes: at whatever depth something is wrong, a request passes when a validator that knows
// only the document lets it pass, and no other does.
func TestConstraintsOf_RecursiveTypes(t *testing.T) {
	t.Parallel()
	for _, typ := range []reflect.Type{
		reflect.TypeFor[node](), reflect.TypeFor[late](), reflect.TypeFor[mother](), reflect.TypeFor[son](),
		reflect.TypeFor[sworn](),
		reflect.TypeFor[forest](), reflect.TypeFor[tree](), reflect.TypeFor[vague](), reflect.TypeFor[heaps](),
		reflect.TypeFor[[]map[string]*node](),
		reflect.TypeFor[struct {
			Down *mother
			Up   *node
			Side *vague
		}](),
	} {
		t.Run(typ.String(), func(t *testing.T) {
			t.Parallel()
			endpoint := endpointFor(t, typ)
			validator, _ := validatorsOf(t, endpoint.Method.In)
			rapid.Check(t, func(t *rapid.T) {
				body := map[string]any{"p": deepValue(t, typ, 4)}
				data, err := json.Marshal(body)
				if err != nil {
					t.Fatal(err)
				}
				_, refused := endpoint.Decode(&restmap.Request{ContentType: "application/json", Body: data})
				if violation := validator.VisitJSON(body); (refused == nil) != (violation == nil) {
					t.Fatalf("%s\nwe say %v, the document says %v", data, refused, violation)
				}
			})
		})
	}
}

// deepValue returns JSON that fits a recursive type, down to a depth.
func deepValue(t *rapid.T, typ reflect.Type, depth int) any {
	switch typ.Kind() {
	case reflect.Pointer:
		return deepValue(t, typ.Elem(), depth)
	case reflect.Slice:
		list := make([]any, rapid.IntRange(0, min(depth, 3)).Draw(t, "length"))
		for i := range list {
			list[i] = deepValue(t, typ.Elem(), depth-1)
		}
		return list
	case reflect.Map:
		object := map[string]any{}
		for _, name := range []string{"k", "l"}[:rapid.IntRange(0, min(depth, 2)).Draw(t, "members")] {
			object[name] = deepValue(t, typ.Elem(), depth-1)
		}
		return object
	case reflect.Struct:
		object := map[string]any{}
		for field := range typ.Fields() {
			contains := slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map, reflect.Struct},
				field.Type.Kind())
			if contains && depth <= 0 || rapid.IntRange(0, 5).Draw(t, "absent") == 0 {
				continue
			}
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "" {
				name = field.Name
			}
			object[name] = deepValue(t, field.Type, depth-1)
		}
		return object
	}
	return randomValue(t, typ)
}

func (Constrained) Plant(at node) (n int)  { return }
func (Constrained) Bear(at mother) (n int) { return }

func TestConstraints_DeepDown(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ method, body, want string }{
		{"Plant", `{"at":{"name":"ab","kids":[{"name":"ab"}],"next":{"name":"ab"},"by":{"x":{"name":"ab"}}}}`, ""},
		{"Plant", `{"at":{"name":"ab","kids":[{"name":"ab"},{"name":"a"}]}}`,
			"at.kids[1].name (body): expects at least 2 characters"},
		{"Plant", `{"at":{"name":"ab","next":{"name":"a"}}}`, "at.next.name (body): expects at least 2 characters"},
		{"Plant", `{"at":{"name":"ab","by":{"x":{"name":"ab","next":{"name":"ab","kids":[{}]}}}}}`,
			"at.by.x.next.kids[0].name (body): is missing"},
		{"Bear", `{"at":{"sons":[{"mark":{}}]}}`, ""},
		{"Bear", `{"at":{"sons":[{"from":{"sons":[{"mark":{"code":"c"}}]},"mark":{}}]}}`,
			"at.sons[0].from.sons[0].mark.code (body): expects text that matches ^[ab]*$"},
	} {
		_, err := endpointOf(t, Constrained{}, test.method,
			restmap.Options{}).Decode(&restmap.Request{ContentType: jsonType, Body: []byte(test.body)})
		if text := toldOf(err); text != test.want {
			t.Errorf("%s\ngot:  %s\nwant: %s", test.body, text, test.want)
		}
	}
}

// A recursive type whose tags only describe pays nothing for them: there is nothing to hold it to.
func TestConstraints_RecursionAllocatesNothing(t *testing.T) {
	t.Parallel()
	for typ, want := range map[reflect.Type]bool{
		reflect.TypeFor[vague](): false, reflect.TypeFor[[]*vague](): false, reflect.TypeFor[node](): true,
		reflect.TypeFor[mother](): true,
	} {
		constraints, err := schema.ConstraintsOf(typ)
		require.NoError(t, err, "%v is held to something", typ)
		assert.Equal(t, want, (constraints != nil), "%v is held to something", typ)
	}
}

package restmap_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/restmap"
)

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
	sworn struct { // what only the JSON tells
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

// TestConstraintsOf_RecursiveTypes: at whatever depth something is wrong, a request passes when a validator that knows only
// the document lets it pass, and no other does.
func TestConstraintsOf_RecursiveTypes(t *testing.T) {
	t.Parallel()
	for _, typ := range []reflect.Type{
		reflect.TypeFor[node](), reflect.TypeFor[late](), reflect.TypeFor[mother](), reflect.TypeFor[son](), reflect.TypeFor[sworn](),
		reflect.TypeFor[forest](), reflect.TypeFor[tree](), reflect.TypeFor[vague](), reflect.TypeFor[heaps](), reflect.TypeFor[[]map[string]*node](),
		reflect.TypeFor[struct {
			Down *mother
			Up   *node
			Side *vague
		}](),
	} {
		t.Run(typ.String(), func(t *testing.T) {
			t.Parallel()
			endpoint := endpointFor(t, typ)
			validator := validatorOf(t, endpoint.Method.In)
			rapid.Check(t, func(t *rapid.T) {
				body := map[string]any{"p": deepValue(t, typ, 4)}
				data, err := json.Marshal(body)
				if err != nil {
					t.Fatal(err)
				}
				_, refused := endpoint.Decode(&restmap.Request{ContentType: "application/json", Body: data})
				if told := validator.VisitJSON(body); (refused == nil) != (told == nil) {
					t.Fatalf("%s\nwe say %v, the document says %v", data, refused, told)
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
			contains := slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map, reflect.Struct}, field.Type.Kind())
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
		{"Plant", `{"at":{"name":"ab","kids":[{"name":"ab"},{"name":"a"}]}}`, "at.kids[1].name (body): expects at least 2 characters"},
		{"Plant", `{"at":{"name":"ab","next":{"name":"a"}}}`, "at.next.name (body): expects at least 2 characters"},
		{"Plant", `{"at":{"name":"ab","by":{"x":{"name":"ab","next":{"name":"ab","kids":[{}]}}}}}`, "at.by.x.next.kids[0].name (body): is missing"},
		{"Bear", `{"at":{"sons":[{"mark":{}}]}}`, ""},
		{"Bear", `{"at":{"sons":[{"from":{"sons":[{"mark":{"code":"c"}}]},"mark":{}}]}}`, "at.sons[0].from.sons[0].mark.code (body): expects text that matches ^[ab]*$"},
	} {
		_, err := endpointOf(t, Constrained{}, test.method, restmap.Options{}).Decode(&restmap.Request{ContentType: jsonType, Body: []byte(test.body)})
		if told := toldOf(err); told != test.want {
			t.Errorf("%s\ngot:  %s\nwant: %s", test.body, told, test.want)
		}
	}
}

// A recursive type whose tags only describe pays nothing for them: there is nothing to hold it to.
func TestRecursionCostsNothing(t *testing.T) {
	t.Parallel()
	for typ, want := range map[reflect.Type]bool{
		reflect.TypeFor[vague](): false, reflect.TypeFor[[]*vague](): false, reflect.TypeFor[node](): true, reflect.TypeFor[mother](): true,
	} {
		constraints, err := reflectapi.ConstraintsOf(typ)
		if err != nil || (constraints != nil) != want {
			t.Errorf("%v is held to something: %v, %v", typ, constraints != nil, err)
		}
	}
}

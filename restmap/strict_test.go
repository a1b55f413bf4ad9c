package restmap_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/busline/busline/restmap"
)

// TestStrict holds that a strict endpoint refuses what it does not read, and takes all else as others do.
func TestStrict(t *testing.T) {
	t.Parallel()
	options := restmap.Options{Strict: true, Methods: map[string]restmap.MethodOptions{"Store": {Path: "/lines/{id}", HTTPMethod: "PUT"}}}
	for name, test := range map[string]struct {
		method, query, contentType, body string
		want                             string // what is wrong, "" if nothing is
	}{
		"a query":                {"Add", "x=1&y=2", "", "", ""},
		"a query, misspelled":    {"Add", "x=1&yy=2&a.b=3", "", "", "a.b (query): is unknown; known are x, y; yy (query): is unknown; known are x, y"},
		"a JSON body":            {"Add", "", jsonType, `{"x":1}`, ""},
		"JSON, misspelled":       {"Add", "", jsonType, `{"X":1}`, "X (body): is unknown"},
		"JSON beside a query":    {"Add", "x=1", jsonType, `{"y":1,"z":2}`, "z (body): is unknown"},
		"a form":                 {"Add", "", formType, "x=1&y=2", ""},
		"a form, misspelled":     {"Add", "", formType, "x=1&z=2", "z (body): is unknown; known are x, y"},
		"objects":                {"Objects", "p.x=1&lines.0.sku=a&attrs.any=1&q={%22x%22:1}", "", "", ""},
		"parts, misspelled":      {"Objects", "p.X=1&lines.0.none=1", "", "", "lines.0.none (query): is unknown; p.X (query): is unknown"},
		"JSON in a query":        {"Objects", "p={%22x%22:1,%22X%22:2}", "", "", "p.X (query): is unknown"},
		"deep in JSON":           {"Objects", "", jsonType, `{"lines":[{"sku":"a"},{"at":{"z":1}}],"attrs":{"any":1}}`, "lines[1].at.z (body): is unknown"},
		"anything":               {"Open", "", jsonType, `{"x":{"a":1},"raw":{"b":2}}`, ""},
		"the whole body":         {"Store", "dry=true", jsonType, `{"sku":"a"}`, ""},
		"in the path as well":    {"Store", "id=3", jsonType, `{"sku":"a"}`, ""},
		"the body, misspelled":   {"Store", "", jsonType, `{"Sku":"a"}`, "Sku (body): is unknown"},
		"the body, as a form":    {"Store", "", formType, "sku=a&dry=true", "dry (body): is unknown; known are at, attrs, n, notes, sku, sub"},
		"a query beside a body":  {"Store", "dryy=1", jsonType, `{}`, "dryy (query): is unknown; known are dry"},
		"the body of any type":   {"Echo", "", jsonType, `{"anything":1}`, ""},
		"the body in the query":  {"Echo", "httpRequestBody=1", jsonType, `{}`, "httpRequestBody (query): is unknown"},
		"a list, with brackets":  {"Lists", "tags[]=a", "", "", "tags[] (query): is written with brackets; repeat tags, or write tags.0.name"},
		"what is wrong as well":  {"Add", "x=a&z=1", "", "", "x (query): expects an integer; z (query): is unknown; known are x, y"},
		"nothing to be misspelt": {"Add", "", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := &restmap.Request{
				Query: test.query, ContentType: test.contentType, Body: []byte(test.body),
				PathValue: func(string) string { return "7" },
			}
			in, err := endpointOf(t, Inputs{}, test.method, options).Decode(request)
			if test.want == "" {
				lenient, failed := endpoint(t, test.method).Decode(request)
				if err != nil || failed != nil || !reflect.DeepEqual(in.Interface(), lenient.Interface()) {
					t.Errorf("%v, %v: %v, not %v", err, failed, in, lenient)
				}
				return
			}
			var got *restmap.InputError
			if !errors.As(err, &got) || got.Status != 400 || got.Error() != test.want {
				t.Errorf("%v\nwant %s", err, test.want)
			}
		})
	}
}

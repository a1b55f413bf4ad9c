package restmap_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/busline/busline/restmap"
)

// TestDecodeFlat is about what looks as if the short way could take it, and what it does take.
func TestDecodeFlat(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"x=5&y=6": "[5 6]", "y=6": "[0 6]", "x=-5": "[-5 0]", "x=5&z=1": "[5 0]", "x=5&": "[5 0]", "x=&y=6": "[0 6]", "x": "[0 0]", "x=%35": "[5 0]",
		"x=5&x=6": "x (query): is given more than once", "x=five": "x (query): expects an integer", "x=5+": "x (query): expects an integer",
		"x=5;y=6": "the query is malformed", "x=\xff": "x (query): is not valid UTF-8", "x=5=": "x (query): expects an integer",
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

func TestDecodeFlatAllocations(t *testing.T) {
	e, request := endpoint(t, "Add"), &restmap.Request{Query: "x=5&y=6"}
	if got := testing.AllocsPerRun(100, func() { _, _ = e.Decode(request) }); got != 1 {
		t.Errorf("a query allocates %v times", got)
	}
}

// FuzzQuery holds the short way, which only a query takes, against the long one, which a form in the body takes.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{
		"x=5&y=6", "s=a&b=true&i8=-128&u=7&f=1e3&p=3", "s=a&s=b", "s=a%20b", "s=a+b", "b=on&i8=128", "tag=a&Tag=b&p.x=1", "s=\xff", "s", "s=&u=0", "a;b", "s=a=b", "[",
	} {
		f.Add(seed)
	}
	methods := []*restmap.Endpoint{endpoint(f, "Add"), endpoint(f, "Texts"), endpoint(f, "Special"), endpoint(f, "Alike"), endpoint(f, "Lists")}
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

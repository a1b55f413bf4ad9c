package strictjson_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/busline/busline/restmap/strictjson"
)

func TestPath(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ data, pointer, want string }{
		{`{"x":1}`, "", ""},
		{`{"x":1}`, "/x", "x"},
		{`{"a":[{}],"lines":[1,{"sub":{"n":"x"}}]}`, "/lines/1/sub/n", "lines[1].sub.n"},
		{`[[],[{"0":[0]}]]`, "/1/0/0/0", "[1][0].0[0]"},
		{`{"0":{"1":"a"}}`, "/0/1", "0.1"},
		{`{"a/b":{"~":{"n.m[0]":1}}}`, "/a~1b/~0/n.m[0]", "a/b.~.n.m[0]"},
		{`{"x":1,"x":[2]}`, "/x", "x"},
		{`{"":[1]}`, "//0", "[0]"},
		{`{"x":[1,2`, "/x/2", "x[2]"},
		{`{"x":[1,#,3]}`, "/x/1", "x[1]"},
		{`{"x":[1,#,3]}`, "/x/2/y", "x[2].y"},
		{`{"x":#}`, "/x/y/0", "x.y.0"},
		{`{"x":1}`, "/y/0", "y.0"},
		{"{\"x\":\"\xff\",\"y\":[true]}", "/y/0", "y[0]"},
		{``, "/x", "x"},
	} {
		if got := strictjson.Path([]byte(test.data), test.pointer); got != test.want {
			t.Errorf("Path(%s, %q) = %q, want %q", test.data, test.pointer, got, test.want)
		}
	}
}

// FuzzPath: whatever is wrong with a text, its place is found without a fault of our own.
func FuzzPath(f *testing.F) {
	for _, data := range []string{`{"tags":["a",1]}`, `{"child":{"child":{"x":true}}}`, `{"attr":{"a/b":"c"}}`, `[1,`, `{"a":{"b":[1,{"c":1,"c":2}]}}`} {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var into sample
		fault, ok := errors.AsType[*strictjson.Error](strictjson.Unmarshal(data, &into))
		if !ok {
			return
		}
		path := strictjson.Path(data, fault.Pointer)
		if fault.Pointer != "" && strings.Trim(fault.Pointer, "/") != "" && path == "" {
			t.Errorf("%q leads nowhere", fault.Pointer)
		}
	})
}

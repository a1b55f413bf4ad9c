package strictjson_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi/strictjson"
)

// counts are what a text holds.
type counts struct{ elements, members, containers, filled int }

func countsOf(text strictjson.Text) counts {
	return counts{text.Elements, text.Members, text.Containers, text.Filled}
}

func TestScan(t *testing.T) {
	t.Parallel()
	tests := []struct {
		data string
		want counts
	}{
		{``, counts{}},
		{`1`, counts{elements: 1}},
		{` "a" `, counts{elements: 1}},
		{`[]`, counts{elements: 1, containers: 1}},
		{`{}`, counts{elements: 1, containers: 1}},
		{`{"a":1}`, counts{1, 1, 1, 1}},
		{"{\"a\" :\n{\"b\": [] } }", counts{1, 2, 3, 2}},
		{`[1,-2.5e3,true,null,"a,b:[{}]\"",[],{}]`, counts{8, 0, 3, 0}},
		{`{"a:":":","b":[{"c":{}},"d"]}`, counts{3, 3, 4, 2}},
		{`["a","b"]`, counts{3, 0, 1, 0}},
		// no JSON, up to a byte at which all that was counted may have been read
		{`[{},{}::::::::`, counts{3, 0, 3, 0}},
		{`[{},"a":"b":"c":"d"`, counts{2, 3, 2, 0}},
		{`[{},{}}}}]]]]`, counts{3, 0, 3, 0}},
	}
	for _, test := range tests {
		text, err := strictjson.Scan([]byte(test.data))
		got := countsOf(text)
		require.NoError(t, err, "Scan(%s)", test.data)
		assert.Equal(t, test.want, got, "Scan(%s)", test.data)
	}
}

func TestScan_AllocatesNothing(t *testing.T) {
	data := []byte(`{"a":[1,-2.5e3,true,null,"b",{}],"c":12345678901234567890}`)
	if allocations := testing.AllocsPerRun(100, func() { _, _ = strictjson.Scan(data) }); allocations != 0 {
		t.Errorf("Scan allocates %v times", allocations)
	}
}

func TestScan_Refuses(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		strings.Repeat("[", 65):             "nests deeper than 64 levels",
		`{"a":` + strings.Repeat("1", 1101): "/a is a number or word that is too long",
	} {
		_, err := strictjson.Scan([]byte(data))
		got, ok := errors.AsType[*strictjson.Error](err)
		require.True(t, ok, "Scan(%.20s…)", data)
		assert.Equal(t, want, got.Error(), "Scan(%.20s…)", data)
	}
}

// FuzzScan holds that no value is read that was not counted, also of what turns out to be no JSON.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		`{"a":1}`, `[1,"a",[],{}]`, `{"a":{"b":[{"c":""}]},"d":null} `, `[{},{}:::`, `{"a" : "b" , "c":["d"]}`, `"a":"b"`,
		`{{}:1}`, `[,"a"]`, `["":`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text, err := strictjson.Scan(data)
		if err != nil {
			return
		}
		var value any
		refused := text.Unmarshal(&value)
		got, read := countsOf(text), counts{elements: 1}
		read.count(value)
		if refused == nil && got.elements == read.elements && got.members == read.members &&
			got.containers == read.containers && got.filled >= read.filled {
			return
		}
		// A string before a colon that makes the text no JSON is taken for a name, and the reader leaves an empty element
		// for the value at which it stops.
		const last = 2
		values := func(c counts) int { return c.elements + c.members }
		require.Error(t, refused, data)
		require.GreaterOrEqual(t, values(got)+last, values(read), data)
		require.GreaterOrEqual(t, got.containers, read.containers, data)
		require.GreaterOrEqual(t, got.filled, read.filled, data)
	})
}

// count adds what a value holds.
func (c *counts) count(value any) {
	switch value := value.(type) {
	case []any:
		c.containers++
		c.elements += len(value)
		for _, element := range value {
			c.count(element)
		}
	case map[string]any:
		c.containers++
		c.members += len(value)
		if len(value) > 0 {
			c.filled++
		}
		for _, member := range value {
			c.count(member)
		}
	}
}

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

// FuzzPath: whatever is wrong with a text, its place is found without an error of our own.
func FuzzPath(f *testing.F) {
	for _, data := range []string{`{"tags":["a",1]}`, `{"child":{"child":{"x":true}}}`, `{"attr":{"a/b":"c"}}`, `[1,`,
		`{"a":{"b":[1,{"c":1,"c":2}]}}`} {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var into sample
		failure, ok := errors.AsType[*strictjson.Error](strictjson.Unmarshal(data, &into))
		if !ok {
			return
		}
		path := strictjson.Path(data, failure.Pointer)
		if failure.Pointer != "" && strings.Trim(failure.Pointer, "/") != "" && path == "" {
			t.Errorf("%q leads nowhere", failure.Pointer)
		}
	})
}

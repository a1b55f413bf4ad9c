package restmap_test

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/restmap"
)

func TestParsePattern(t *testing.T) {
	t.Parallel()
	literal := func(s string) restmap.Segment { return restmap.Segment{Literal: s} }
	tests := []struct {
		path, canonical string
		segments        []restmap.Segment
	}{
		{"/", "/", []restmap.Segment{literal("")}},
		{"/add", "/add", []restmap.Segment{literal("add")}},
		{"/dir/", "/dir/", []restmap.Segment{literal("dir"), literal("")}},
		{"/a//b", "/a//b", []restmap.Segment{literal("a"), literal(""), literal("b")}},
		{"/a b/é", "/a%20b/%C3%A9", []restmap.Segment{literal("a b"), literal("é")}},
		{"/a%20b/%C3%A9", "/a%20b/%C3%A9", []restmap.Segment{literal("a b"), literal("é")}},
		{"/a%2Fb", "/a%2Fb", []restmap.Segment{literal("a/b")}},
		{"/%3Aid/a:b/12:%3F%23", "/%3Aid/a:b/12:%3F%23", []restmap.Segment{literal(":id"), literal("a:b"), literal("12:?#")}},
		{"/%7Bid%7D", "/%7Bid%7D", []restmap.Segment{literal("{id}")}},
		{"/products/{id}", "/products/{id}", []restmap.Segment{literal("products"), {Name: "id"}}},
		{"/{_a}/x/{größe1}", "/{_a}/x/{größe1}", []restmap.Segment{{Name: "_a"}, literal("x"), {Name: "größe1"}}},
		{"/files/{path+}", "/files/{path+}", []restmap.Segment{literal("files"), {Name: "path", Rest: true}}},
	}
	for _, test := range tests {
		p, err := restmap.ParsePattern(test.path)
		if err != nil {
			t.Errorf("ParsePattern(%q) = %v", test.path, err)
			continue
		}
		assert.Equal(t, test.canonical, p.String(), "ParsePattern(%q)", test.path)
		assert.Equal(t, test.segments, p.Segments(), "ParsePattern(%q)", test.path)
	}
}

func TestParsePattern_Refuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ path, want string }{
		{"", `path "": does not start with a slash`},
		{"add", `path "add": does not start with a slash`},
		{"/a/../b", `path "/a/../b": segment "..": browsers take it for another folder, and call another path`},
		{"/%2e/b", `path "/%2e/b": segment "%2e": browsers take it for another folder, and call another path`},
		{"/%zz", `path "/%zz": segment "%zz": a % needs two hexadecimal digits after it`},
		{"/a{id}",
			`path "/a{id}": segment "a{id}": a parameter is a whole segment, {name}, or {name+} at the end for all the rest`},
		{"/{id}.json",
			`path "/{id}.json": segment "{id}.json": a parameter is a whole segment, {name}, or {name+} at the end for all the rest`},
		{"/api/*",
			`path "/api/*": segment "*": write {name} for one segment, {name+} at the end for all the rest, or %2A for the character`},
		{"/x/:id", `path "/x/:id": segment ":id": write {id} for a parameter, or %3A for the character`},
		{"/:", `path "/:": segment ":": write {name} for a parameter, or %3A for the character`},
		{"/x?y=1", `path "/x?y=1": ends before "?": leave out the rest, or write %3F for the character`},
		{"/x/{id}#top", `path "/x/{id}#top": ends before "#": leave out the rest, or write %23 for the character`},
		{"/{}", `path "/{}": segment "{}": a parameter is a whole segment, {name}, or {name+} at the end for all the rest`},
		{"/{1a}",
			`path "/{1a}": segment "{1a}": a parameter is a whole segment, {name}, or {name+} at the end for all the rest`},
		{"/{path...}",
			`path "/{path...}": segment "{path...}": a parameter is a whole segment, {name}, or {name+} at the end for all the rest`},
		{"/{id",
			`path "/{id": segment "{id": a parameter is a whole segment, {name}, or {name+} at the end for all the rest`},
		{"/{a}/{a}", `path "/{a}/{a}": parameter "a" is given twice`},
		{"/{a+}/b", `path "/{a+}/b": {name+} takes all the rest, nothing may follow it`},
		{"/{a+}/", `path "/{a+}/": {name+} takes all the rest, nothing may follow it`},
	}
	for _, test := range tests {
		_, err := restmap.ParsePattern(test.path)
		assert.EqualError(t, err, test.want, "ParsePattern(%q)", test.path)
	}
}

func TestPattern_Match(t *testing.T) {
	t.Parallel()
	tests := []struct {
		pattern string
		path    string // its segments joined by slashes, no leading one
		values  string // joined by "|"; "-" is no match
	}{
		{"/", "", ""},
		{"/", "a", "-"},
		{"/add", "add", ""},
		{"/add", "add/", "-"},
		{"/add", "Add", "-"},
		{"/a//b", "a//b", ""},
		{"/products/{id}", "products/1", "1"},
		{"/products/{id}", "products/", "-"},
		{"/products/{id}", "products", "-"},
		{"/products/{id}", "products/1/2", "-"},
		{"/{a}/x/{b}", "1/x/2", "1|2"},
		{"/{id}", "", "-"},
		{"/{rest+}", "", ""},
		{"/files/{path+}", "files/a/b", "a/b"},
		{"/files/{path+}", "files/", ""},
		{"/files/{path+}", "files//a", "/a"},
		{"/files/{path+}", "files", "-"},
	}
	for _, test := range tests {
		values, ok := mustParse(t, test.pattern).Match(strings.Split(test.path, "/"), nil)
		got := strings.Join(values, "|")
		if !ok {
			got = "-"
		}
		if got != test.values {
			t.Errorf("%s on %q = %q, want %q", test.pattern, test.path, got, test.values)
		}
	}
	if _, ok := (restmap.Pattern{}).Match(nil, nil); ok {
		t.Error("the zero Pattern matches nothing, but it matched")
	}
}

func TestPattern_MatchAllocatesNothing(t *testing.T) {
	p := mustParse(t, "/shops/{shop}/products/{id}")
	segments, values := []string{"shops", "7", "products", "1"}, make([]string, 0, 2)
	if n := testing.AllocsPerRun(100, func() { values, _ = p.Match(segments, values[:0]) }); n != 0 {
		t.Errorf("Match allocates %v times", n)
	}
}

func TestPattern_Compare(t *testing.T) {
	t.Parallel()
	inOrder := []string{ // of being tried
		"/products/new", "/products/search/", "/products/search/{x}", "/products/{id}", "/products/{id}/tags",
		"/products/{id+}", "/{host}/products", "/{rest+}",
	}
	var shuffled []restmap.Pattern
	for _, path := range inOrder {
		shuffled = append([]restmap.Pattern{mustParse(t, path)}, shuffled...)
	}
	slices.SortFunc(shuffled, restmap.Pattern.Compare)
	for i, p := range shuffled {
		if p.String() != inOrder[i] {
			t.Errorf("place %d is taken by %s, want %s", i, p, inOrder[i])
		}
	}
}

func TestPattern_Same(t *testing.T) {
	t.Parallel()
	tests := []struct {
		a, b string
		same bool
	}{
		{"/a/{x}", "/a/{y}", true},
		{"/a/{x+}", "/a/{y+}", true},
		{"/%61", "/a", true},
		{"/a/{x}", "/a/{x+}", false},
		{"/a", "/a/", false},
		{"/a%2Fb", "/a/b", false},
	}
	for _, test := range tests {
		a, b := mustParse(t, test.a), mustParse(t, test.b)
		assert.Equal(t, test.same, a.Same(b))
		assert.Equal(t, test.same, b.Same(a))
	}
}

func TestPattern_Example(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"/": "/", "/products/{id}": "/products/1", "/a b/{path+}": "/a%20b/a/b",
	} {
		if got := mustParse(t, pattern).Example(); got != want {
			t.Errorf("Example of %s = %s, want %s", pattern, got, want)
		}
	}
}

func mustParse(t testing.TB, path string) restmap.Pattern {
	t.Helper()
	p, err := restmap.ParsePattern(path)
	require.NoError(t, err)
	return p
}

// FuzzPattern holds parsing against itself and matching against a naive oracle.
func FuzzPattern(f *testing.F) {
	for _, seed := range [][2]string{
		{"/", "/"}, {"/products/{id}", "/products/1"}, {"/files/{path+}", "/files//a%2Fb"}, {"/a%2fb/{x}", "/a%2Fb/"},
		{"/{a}/{b+}", "/x"}, {"/%3Aa/b:", "/:a"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, path string) {
		p, err := restmap.ParsePattern(text)
		if err != nil {
			return
		}
		again, err := restmap.ParsePattern(p.String())
		require.NoError(t, err, text)
		require.Equal(t, p.String(), again.String(), text)
		require.Equal(t, p.Segments(), again.Segments(), text)
		require.True(t, p.Same(again))
		require.Zero(t, p.Compare(again))
		example, ok := decodedSegments(p.Example())
		require.True(t, ok, "%s, %s", p, p.Example())
		require.True(t, matches(p, example), "%s, %s", p, p.Example())
		if segments, ok := decodedSegments(path); ok && matches(p, segments) != naiveMatch(p.Segments(), segments) {
			t.Fatalf("%s on %q: matches is %v, the oracle disagrees", p, path, matches(p, segments))
		}
		q, err := restmap.ParsePattern(path)
		if err == nil && cmp.Compare(p.Compare(q), 0) != -cmp.Compare(q.Compare(p), 0) {
			t.Fatalf("%s and %s: Compare is not antisymmetric", p, q)
		}
	})
}

func matches(p restmap.Pattern, segments []string) bool {
	values, ok := p.Match(segments, nil)
	return ok && len(values) == len(p.Names())
}

// naiveMatch is Match by recursion, one segment at a time.
func naiveMatch(pattern []restmap.Segment, path []string) bool {
	switch {
	case len(pattern) == 0 || len(path) == 0:
		return len(pattern) == len(path)
	case pattern[0].Rest:
		return true
	case pattern[0].Name == "" && pattern[0].Literal != path[0], pattern[0].Name != "" && path[0] == "":
		return false
	default:
		return naiveMatch(pattern[1:], path[1:])
	}
}

func decodedSegments(path string) ([]string, bool) {
	rest, rooted := strings.CutPrefix(path, "/")
	segments := strings.Split(rest, "/")
	for i, s := range segments {
		decoded, err := url.PathUnescape(s)
		if err != nil {
			return nil, false
		}
		segments[i] = decoded
	}
	return segments, rooted
}

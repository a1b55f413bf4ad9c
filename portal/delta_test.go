package portal_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/busline/busline/portal"
	"github.com/busline/busline/portal/internal/portaltest"
)

// applyMergePatch is MergePatch of RFC 7396, section 2.
func applyMergePatch(target, patch any) any {
	changes, is := patch.(map[string]any)
	if !is {
		return patch
	}
	object, is := target.(map[string]any)
	if !is {
		object = make(map[string]any)
	}
	object = maps.Clone(object)
	for name, value := range changes {
		if value == nil {
			delete(object, name)
		} else {
			object[name] = applyMergePatch(object[name], value)
		}
	}
	return object
}

func parseJSON(t require.TestingT, text []byte) (value any) {
	require.NoError(t, json.Unmarshal(text, &value), "%s", text)
	return value
}

// anyJSON draws a JSON value of some depth.
func anyJSON(depth int) *rapid.Generator[any] {
	simple := rapid.OneOf(rapid.Just[any](nil), rapid.Just[any](true), rapid.Just[any]("<text>"), rapid.Just[any](1.5), rapid.Just[any]([]any{map[string]any{"a": nil}, 1.0}))
	if depth == 0 {
		return simple
	}
	return rapid.OneOf(simple, rapid.Map(anyObject(depth-1), func(object map[string]any) any { return object }))
}

func anyObject(depth int) *rapid.Generator[map[string]any] {
	return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c", "~/d"}), anyJSON(depth), 0, 4)
}

// TestMergePatch_RoundTrip holds that a patch makes the new document of the old one, and that there is one if no member
// is null.
func TestMergePatch_RoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		from, err := json.Marshal(anyObject(3).Draw(t, "from"))
		require.NoError(t, err)
		to, err := json.Marshal(anyObject(3).Draw(t, "to"))
		require.NoError(t, err)
		patch, ok := portal.CreateMergePatch(from, to)
		if !ok {
			require.Contains(t, string(to), "null")
			return
		}
		require.Equal(t, parseJSON(t, to), applyMergePatch(parseJSON(t, from), parseJSON(t, patch)), "%s", patch)
	})
}

func TestMergePatch(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, from, to, want string }{
		{"nothing", `{"a":1}`, `{"a":1}`, `{}`},
		{"a member", `{"a":1,"b":{"c":1,"d":2}}`, `{"a":1,"b":{"c":1,"d":3}}`, `{"b":{"d":3}}`},
		{"removed", `{"a":1,"b":2}`, `{"b":2}`, `{"a":null}`},
		{"a large number", `{"a":1}`, `{"a":9223372036854775807}`, `{"a":9223372036854775807}`},
		{"spaces", `{"a":{"b":1}}`, ` { "a" : { "b" : 1 } } `, `{}`},
		{"an object becomes empty", `{"a":1}`, `{"a":{}}`, `{"a":{}}`},
		{"null as before", `{"a":null}`, `{"a":null,"b":1}`, `{"b":1}`},
		{"null in a list", `{"a":1}`, `{"a":[null,{"b":null}]}`, `{"a":[null,{"b":null}]}`},
		{"null", `{"a":1}`, `{"a":null}`, ""},
		{"null below", `{}`, `{"a":{"b":{"c":null}}}`, ""},
		{"no object", `[]`, `{}`, ""},
		{"to no object", `{}`, `1`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			patch, ok := portal.CreateMergePatch([]byte(test.from), []byte(test.to))
			assert.Equal(t, test.want != "", ok)
			assert.Equal(t, test.want, string(patch))
		})
	}
}

// TestVersions_Serve asks for a document with what a reader can say.
func TestVersions_Serve(t *testing.T) {
	t.Parallel()
	first, second := []byte(`{"a":1,"long":"`+strings.Repeat("a", 100)+`"}`), []byte(`{"a":2,"long":"`+strings.Repeat("a", 100)+`"}`)
	now := time.Now()
	serving := portal.NewVersions(func() time.Time { return now })
	ask := func(body []byte, salt string, header http.Header) *http.Response {
		request := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		maps.Copy(request.Header, header)
		recorder := httptest.NewRecorder()
		serving.Serve(recorder, request, body, salt)
		return recorder.Result()
	}
	old := ask(first, "x", nil).Header.Get("ETag")
	newest := ask(second, "x", nil).Header.Get("ETag")
	other := ask(second, "y", nil).Header.Get("ETag")
	require.Len(t, slices.Compact([]string{old, newest, other}), 3)
	strong := strings.TrimPrefix(old, "W/")
	for _, test := range []struct {
		name, ifNoneMatch, aim string
		want                   int
	}{
		{"no tag", "", "merge-patch", 200},
		{"the newest", newest, "", 304},
		{"the newest, strong", strings.TrimPrefix(newest, "W/"), "merge-patch", 304},
		{"any", "*", "merge-patch", 304},
		{"old", old, "merge-patch", 226},
		{"old, strong", strong, "merge-patch", 226},
		{"old, of several", `"x", ` + old + `,W/"y"`, "vcdiff, Merge-Patch;q=0.5", 226},
		{"several, one is the newest", old + ", " + newest, "merge-patch", 304},
		{"of another base URL", other, "merge-patch", 200},
		{"unknown", `"unknown"`, "merge-patch", 200},
		{"not wanted", old, "", 200},
		{"other methods", old, "vcdiff, gzip, merge-patches", 200},
		{"refused", old, "merge-patch;q=0", 200},
		{"refused, of no number", old, "merge-patch;q=x", 200},
		{"with a parameter", old, "merge-patch;a=b", 226},
		{"rubbish", `\x00"""W/,*`, "merge-patch", 200},
		{"no quotes", strings.Trim(strong, `"`), "merge-patch", 200},
		{"no end", strings.TrimSuffix(old, `"`), "merge-patch", 200},
		{"rubbish before", `rubbish, ` + old, "merge-patch", 200},
		{"very many", strings.Repeat(`"x", `, 10_000) + old, "merge-patch", 226},
	} {
		t.Run(test.name, func(t *testing.T) {
			header := make(http.Header)
			for name, value := range map[string]string{"If-None-Match": test.ifNoneMatch, "A-IM": test.aim} {
				if value != "" {
					header[http.CanonicalHeaderKey(name)] = []string{value}
				}
			}
			got := ask(second, "x", header)
			require.Equal(t, test.want, got.StatusCode)
			assert.Equal(t, newest, got.Header.Get("ETag"))
			body := new(strings.Builder)
			require.NoError(t, got.Write(body))
			if test.want == http.StatusIMUsed {
				assert.Equal(t, old, got.Header.Get("Delta-Base"))
				assert.Equal(t, "merge-patch", got.Header.Get("IM"))
				assert.Equal(t, "application/merge-patch+json", got.Header.Get("Content-Type"))
				assert.Contains(t, body.String(), `{"a":2}`)
				assert.NotContains(t, body.String(), "aaa")
			} else {
				assert.Empty(t, got.Header.Get("Delta-Base"))
			}
		})
	}
	now = now.Add(time.Minute)
	merge := http.Header{"If-None-Match": {old}, "A-Im": {"merge-patch"}}
	assert.Equal(t, http.StatusOK, ask(second, "x", merge).StatusCode, "it is forgotten")
	for at := range 100 {
		ask([]byte(strings.Repeat(" ", at)+`{}`), "", nil)
		require.LessOrEqual(t, serving.Count(), 4)
	}
}

// TestVersions_OfCallers holds that no caller gets the difference to what another one was shown.
func TestVersions_OfCallers(t *testing.T) {
	t.Parallel()
	i := portaltest.NewIssuer(t)
	entrance := openPortal(t, i)
	entrance.Keep("vault.example", i.Trust())
	keeper := i.In("keeper")
	all := entrance.Get("/portal/openapi.json", keeper)
	require.Contains(t, all.Text, "/gold")
	tag := "If-None-Match: " + all.Header.Get("ETag")
	assert.Equal(t, http.StatusNotModified, entrance.Get("/portal/openapi.json", keeper, tag, "A-IM: merge-patch").StatusCode)
	for _, header := range []string{"X: anonymous", i.In("cook")} {
		got := entrance.Get("/portal/openapi.json", header, tag, "A-IM: merge-patch")
		assert.Equal(t, http.StatusOK, got.StatusCode)
		assert.NotContains(t, got.Text, "old")
		assert.NotContains(t, got.Text, "null")
	}
}

// TestVersions_OverHTTP reads what has changed through the ingress, which compresses it.
func TestVersions_OverHTTP(t *testing.T) {
	t.Parallel()
	entrance := open(t)
	var later atomic.Int64
	entrance.register(portal.WithClock(func() time.Time { return time.Now().Add(time.Duration(later.Load())) }), portal.WithTimeouts(time.Minute))
	entrance.calculate("calculator.example")
	entrance.awaitAnnouncements()
	type reading struct {
		tag  string
		body any
	}
	documents := []string{"openapi.json", "instances.json", "live.json"}
	before := make(map[string]reading)
	for _, name := range documents {
		got := entrance.Get("/portal/" + name)
		require.Equal(t, http.StatusOK, got.StatusCode, got.Text)
		before[name] = reading{got.Header.Get("ETag"), parseJSON(t, []byte(got.Text))}
	}
	entrance.calculate("late.example")
	entrance.awaitAnnouncements()
	later.Add(int64(5 * time.Second))
	for _, name := range documents {
		old := before[name]
		got := entrance.Get("/portal/"+name, "If-None-Match: "+old.tag, "A-IM: merge-patch")
		require.Equal(t, http.StatusIMUsed, got.StatusCode, got.Text)
		assert.Equal(t, old.tag, got.Header.Get("Delta-Base"))
		assert.Contains(t, got.Text, "late.example")
		patched := applyMergePatch(old.body, parseJSON(t, []byte(got.Text)))
		whole := entrance.Get("/portal/" + name)
		require.Equal(t, got.Header.Get("ETag"), whole.Header.Get("ETag"))
		assert.Equal(t, parseJSON(t, []byte(whole.Text)), patched)
		assert.Equal(t, http.StatusNotModified, entrance.Get("/portal/"+name, "If-None-Match: "+whole.Header.Get("ETag")).StatusCode)
	}
	compressed := entrance.Get("/portal/openapi.json", "Accept-Encoding: gzip")
	assert.Equal(t, "gzip", compressed.Header.Get("Content-Encoding"))
}

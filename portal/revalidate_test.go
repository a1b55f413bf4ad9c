package portal_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/portal"
	"github.com/busline/busline/portal/internal/portaltest"
)

// TestServeDocument_Tags asks for a document with what a reader can say that it has.
func TestServeDocument_Tags(t *testing.T) {
	t.Parallel()
	ask := func(body string, tags ...string) *http.Response {
		request := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		request.Header["If-None-Match"] = tags
		recorder := httptest.NewRecorder()
		portal.ServeDocument(recorder, request, []byte(body))
		return recorder.Result()
	}
	old, newest := ask(`{"a":1}`).Header.Get("ETag"), ask(`{"a":2}`).Header.Get("ETag")
	require.NotEqual(t, old, newest)
	strong, weak := strings.CutPrefix(newest, "W/")
	require.True(t, weak)
	for _, test := range []struct {
		name string
		tags []string
		want int
	}{
		{"no tag", nil, 200},
		{"the newest", []string{newest}, 304},
		{"the newest, strong", []string{strong}, 304},
		{"any", []string{"*"}, 304},
		{"old", []string{old}, 200},
		{"several, one is the newest", []string{`"x", ` + old + `,` + newest + `,W/"y"`}, 304},
		{"several lines", []string{old, newest}, 304},
		{"unknown", []string{`"unknown"`}, 200},
		{"rubbish", []string{`\x00"""W/,`}, 200},
		{"no quotes", []string{strings.Trim(strong, `"`)}, 200},
		{"no end", []string{strings.TrimSuffix(newest, `"`)}, 200},
		{"very many", []string{strings.Repeat(`"x", `, 10_000) + newest}, 304},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := ask(`{"a":2}`, test.tags...)
			require.Equal(t, test.want, got.StatusCode)
			assert.Equal(t, newest, got.Header.Get("ETag"))
			assert.Equal(t, "private, no-cache", got.Header.Get("Cache-Control"))
			body := new(strings.Builder)
			require.NoError(t, got.Write(body))
			assert.Equal(t, test.want == http.StatusOK, strings.HasSuffix(body.String(), `{"a":2}`), body)
		})
	}
}

// TestServeDocument_OfCallers holds that a caller's tag is not that of a caller who is shown something else.
func TestServeDocument_OfCallers(t *testing.T) {
	t.Parallel()
	i := portaltest.NewIssuer(t)
	entrance := openPortal(t, i)
	entrance.Keep("vault.example", i.Trust())
	keeper := i.In("keeper")
	all := entrance.Get("/portal/openapi.json", keeper)
	require.Contains(t, all.Text, "/gold")
	tag := "If-None-Match: " + all.Header.Get("ETag")
	assert.Equal(t, http.StatusNotModified, entrance.Get("/portal/openapi.json", keeper, tag).StatusCode)
	for _, header := range []string{"X: anonymous", i.In("cook")} {
		got := entrance.Get("/portal/openapi.json", header, tag)
		assert.Equal(t, http.StatusOK, got.StatusCode)
		assert.NotContains(t, got.Text, "gold")
	}
}

// TestServeDocument_OverHTTP reads documents again, before and after they change, through the ingress, which compresses
// them.
func TestServeDocument_OverHTTP(t *testing.T) {
	t.Parallel()
	entrance := open(t)
	var later atomic.Int64
	entrance.register(portal.WithClock(func() time.Time { return time.Now().Add(time.Duration(later.Load())) }),
		portal.WithTimeouts(time.Minute))
	entrance.calculate("calculator.example")
	entrance.awaitAnnouncements()
	documents := []string{"openapi.json", "instances.json", "live.json"}
	tags := make(map[string]string)
	for _, name := range documents {
		got := entrance.Get("/portal/" + name)
		require.Equal(t, http.StatusOK, got.StatusCode, got.Text)
		tags[name] = got.Header.Get("ETag")
	}
	entrance.calculate("late.example")
	entrance.awaitAnnouncements()
	later.Add(int64(5 * time.Second))
	for _, name := range documents {
		got := entrance.Get("/portal/"+name, "If-None-Match: "+tags[name])
		require.Equal(t, http.StatusOK, got.StatusCode, got.Text)
		assert.Contains(t, got.Text, "late.example")
		tag := got.Header.Get("ETag")
		assert.NotEqual(t, tags[name], tag)
		assert.Equal(t, http.StatusNotModified, entrance.Get("/portal/"+name, "If-None-Match: "+tag).StatusCode)
	}
	compressed := entrance.Get("/portal/openapi.json", "Accept-Encoding: gzip")
	assert.Equal(t, "gzip", compressed.Header.Get("Content-Encoding"))
}

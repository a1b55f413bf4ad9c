package guesttest_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/gorilla/csrf"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/webdav"
)

// send makes a request with a header, given as name and value in turn, and returns the response and its body.
func send(t *testing.T, client *http.Client, method, address, body string, header ...string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := client.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, string(text)
}

// TestCSRF holds that gorilla/csrf admits a form of the service itself, by its Origin or its Referer, and no other.
func TestCSRF(t *testing.T) {
	t.Parallel()
	protect := csrf.Protect([]byte(strings.Repeat("k", 32)), csrf.Path("/"),
		csrf.ErrorHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, csrf.FailureReason(r).Error(), http.StatusForbidden)
		})))
	base, client := ingressTo(t, protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, csrf.Token(r))
	})))
	form, token := send(t, client, http.MethodGet, base+"/form", "")
	require.Len(t, form.Cookies(), 1)
	assert.True(t, form.Cookies()[0].Secure)
	cookie := form.Cookies()[0].String()
	parsed, err := url.Parse(base)
	require.NoError(t, err)
	origin := "https://" + parsed.Host
	for _, test := range []struct {
		name   string
		header []string
		status int
	}{
		{"Origin", []string{"Origin", origin}, http.StatusOK},
		{"Referer", []string{"Referer", base + "/form"}, http.StatusOK},
		{"neither", nil, http.StatusForbidden},
		{"Referer of another service", []string{"Referer", origin + "/other.example/form"}, http.StatusForbidden},
		{"Referer by plain HTTP", []string{"Referer", "http://" + parsed.Host + "/guest.example/form"}, http.StatusForbidden},
	} {
		t.Run(test.name, func(t *testing.T) {
			response, text := send(t, client, http.MethodPost, base+"/form", "",
				append(test.header, "Cookie", cookie, "X-Csrf-Token", token)...)
			assert.Equal(t, test.status, response.StatusCode, text)
		})
	}
	response, text := send(t, client, http.MethodPost, base+"/form", "", "Origin", origin, "Cookie", cookie,
		"X-Csrf-Token", "forged")
	assert.Equal(t, http.StatusForbidden, response.StatusCode, text)
}

// TestWebDAV moves and copies a file by the address that the client knows, and to another place, which is refused.
func TestWebDAV(t *testing.T) {
	t.Parallel()
	files := webdav.NewMemFS()
	base, client := ingressTo(t, &webdav.Handler{FileSystem: files, LockSystem: webdav.NewMemLS()})
	put, text := send(t, client, http.MethodPut, base+"/a.txt", "text")
	require.Equal(t, http.StatusCreated, put.StatusCode, text)
	for _, test := range []struct {
		method, from, destination string
		status                    int
	}{
		{"COPY", "/a.txt", base + "/b%20c.txt", http.StatusCreated},
		{"MOVE", "/b%20c.txt", "/guest.example/d.txt", http.StatusCreated},
		{"MOVE", "/a.txt", "https://elsewhere.example/e.txt", http.StatusBadGateway},
		{"MOVE", "/a.txt", strings.Replace(base, "guest.example", "other.example", 1) + "/e.txt", http.StatusBadGateway},
	} {
		response, text := send(t, client, test.method, base+test.from, "", "Destination", test.destination)
		assert.Equal(t, test.status, response.StatusCode, "%s to %s: %s", test.method, test.destination, text)
	}
	got, text := send(t, client, http.MethodGet, base+"/d.txt", "")
	assert.Equal(t, http.StatusOK, got.StatusCode)
	assert.Equal(t, "text", text)
	head, _ := send(t, client, http.MethodHead, base+"/d.txt", "")
	assert.Equal(t, int64(len("text")), head.ContentLength)
	_, err := files.Stat(t.Context(), "/e.txt")
	assert.Error(t, err)
}

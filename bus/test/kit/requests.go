package kit

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
)

// MustRequest returns a GET request.
func MustRequest(t *testing.T, url string) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	return request
}

// Do makes a call and returns the response with its body.
func Do(t *testing.T, conn *bus.Conn, method, url, contentType, body string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := conn.Do(request)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, string(read)
}

// MulticastIDs makes a multicast and returns the sorted ids of who answers.
func MulticastIDs(t *testing.T, conn *bus.Conn, url string) (ids []string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	for response, err := range conn.Multicast(request) {
		if err != nil {
			t.Fatalf("%s: %v", url, err)
		}
		_ = response.Body.Close()
		ids = append(ids, response.Header.Get("Bus-From-Id"))
	}
	slices.Sort(ids)
	return ids
}

// BodyOf returns the body of a response. Any goroutine may call it.
func BodyOf(t *testing.T, response *http.Response) string {
	t.Helper()
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	assert.NoError(t, err)
	return string(body)
}

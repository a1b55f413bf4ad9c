package ingress_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/portal/ingress"
	"github.com/busline/busline/portal/internal/portaltest"
)

// http2Client returns a client that speaks HTTP/2 without TLS, and nothing else.
func http2Client(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// sendHTTP2 makes a request whose body has no announced length, and returns the response with its body.
func sendHTTP2(t *testing.T, client *http.Client, method, address, host, body string) portaltest.Answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, io.MultiReader(strings.NewReader(body)))
	require.NoError(t, err)
	request.Host = host
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return portaltest.Answer{Response: response, Text: string(text)}
}

// TestUnencryptedHTTP2 holds that the ingress serves both protocols alike, with the same limits.
func TestUnencryptedHTTP2(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t, ingress.WithBodyLimit(1000))
	entrance.Serve("echo.example", 443, portaltest.Echo)
	server, stop := listenTo(t, entrance.Handler, ingress.WithUnencryptedHTTP2())
	client := http2Client(t)

	got := sendHTTP2(t, client, http.MethodPost, server.BaseURL()+"/echo.example/x", "", "body")
	assert.Equal(t, 2, got.ProtoMajor)
	seen := got.Echoed(t)
	assert.Equal(t, "body", seen.Body)
	assert.Equal(t, []string{"http"}, seen.Header["X-Forwarded-Proto"])

	head := sendHTTP2(t, client, http.MethodHead, server.BaseURL()+"/echo.example/x", "", "")
	assert.Equal(t, http.StatusOK, head.StatusCode)
	assert.Positive(t, head.ContentLength)

	for _, test := range []struct {
		name, method, path, host, body string
		status                         int
	}{
		{"too large", http.MethodPost, "/echo.example/x", "", strings.Repeat("x", 1001), http.StatusRequestEntityTooLarge},
		{"too long", http.MethodGet, "/echo.example/" + strings.Repeat("x", 8<<10), "", "", http.StatusRequestURITooLong},
		{"another host", http.MethodGet, "/echo.example/x", "evil.example", "", http.StatusMisdirectedRequest},
		{"TRACE", http.MethodTrace, "/echo.example/x", "", "", http.StatusNotImplemented},
		{"no service", http.MethodGet, "/none.example/x", "", "", http.StatusServiceUnavailable},
	} {
		got := sendHTTP2(t, client, test.method, server.BaseURL()+test.path, test.host, test.body)
		assert.Equal(t, test.status, got.StatusCode, "%s: %s", test.name, got.Text)
	}

	text, err := fetch(t, server.BaseURL()+"/echo.example/x") // by HTTP/1.1
	require.NoError(t, err)
	assert.Contains(t, text, `"method":"GET"`)
	require.NoError(t, stop())
}

// TestUnencryptedHTTP2_IsOff holds that a server speaks HTTP/1.1 alone without the option.
func TestUnencryptedHTTP2_IsOff(t *testing.T) {
	t.Parallel()
	server, stop := listen(t, portaltest.Echo)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.BaseURL(), http.NoBody)
	require.NoError(t, err)
	response, err := http2Client(t).Do(request)
	if err == nil {
		response.Body.Close()
	}
	assert.Error(t, err)
	text, err := fetch(t, server.BaseURL())
	require.NoError(t, err)
	assert.Contains(t, text, `"method":"GET"`)
	require.NoError(t, stop())
}

// TestUnencryptedHTTP2_AbortedUpload has a client break off its upload, which the service sees as it is.
func TestUnencryptedHTTP2_AbortedUpload(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	began, failed := make(chan struct{}), make(chan error, 1)
	entrance.Serve("upload.example", 443, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadFull(r.Body, make([]byte, 100_000))
		close(began)
		_, err := io.Copy(io.Discard, r.Body)
		failed <- err
	})
	server, stop := listenTo(t, entrance.Handler, ingress.WithUnencryptedHTTP2())
	reader, writer := io.Pipe()
	go func() {
		_, _ = writer.Write(make([]byte, 200_000))
		<-began
		_ = writer.CloseWithError(errors.New("aborted"))
	}()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.BaseURL()+"/upload.example/", reader)
	require.NoError(t, err)
	if response, err := http2Client(t).Do(request); err == nil {
		response.Body.Close()
	}
	assert.ErrorContains(t, <-failed, "unexpected EOF")
	require.NoError(t, stop())
}

package portal_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/portal"
)

// listen serves a handler on a free port until the returned function is called, which returns the server's error.
func listen(t *testing.T, handler http.HandlerFunc, options ...portal.ServerOption) (*portal.Server, func() error) {
	t.Helper()
	return listenTo(t, handler, options...)
}

func listenTo(t *testing.T, handler http.Handler, options ...portal.ServerOption) (*portal.Server, func() error) {
	t.Helper()
	server, err := portal.Listen(handler, append([]portal.ServerOption{portal.WithAddress("127.0.0.1:0")}, options...)...)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx) }()
	return server, func() error {
		cancel()
		return <-ended
	}
}

func fetch(t *testing.T, url string) (string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

// TestStop stops a server while a request is in flight.
func TestStop(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	server, stop := listen(t, func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-release
		_, _ = io.WriteString(w, "done")
	})
	type result struct {
		text string
		err  error
	}
	answered := make(chan result, 1)
	go func() {
		text, err := fetch(t, server.BaseURL()+"/")
		answered <- result{text, err}
	}()
	<-arrived
	ended := make(chan error, 1)
	go func() { ended <- stop() }()
	for { // until the server takes no more
		if _, err := fetch(t, server.BaseURL()+"/refused"); err != nil {
			break
		}
	}
	close(release)
	got := <-answered
	require.NoError(t, got.err)
	assert.Equal(t, "done", got.text)
	assert.NoError(t, <-ended)
}

func TestStop_CutsOff(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	server, stop := listen(t, func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
	}, portal.WithGracePeriod(time.Millisecond))
	go func() { _, _ = fetch(t, server.BaseURL()) }()
	<-arrived
	err := stop()
	assert.ErrorContains(t, err, "requests were cut off after 1ms")
}

// TestAddr holds that a port which the system has chosen is known, whatever address people use.
func TestAddr(t *testing.T) {
	t.Parallel()
	server, stop := listen(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("here")) }, portal.WithBaseURL("https://api.example.com"))
	text, err := fetch(t, "http://"+server.Addr().String())
	require.NoError(t, err)
	assert.Equal(t, "here", text)
	assert.NoError(t, stop())
}

func TestBaseURL(t *testing.T) {
	t.Parallel()
	tests := []struct {
		option portal.ServerOption
		want   string
	}{
		{portal.WithAddress("127.0.0.1:0"), "http://127.0.0.1:"},
		{portal.WithAddress("0.0.0.0:0"), "http://127.0.0.1:"},
		{portal.WithBaseURL("https://api.example.com/bus/"), "https://api.example.com/bus"},
	}
	for _, test := range tests {
		server, stop := listen(t, http.NotFound, test.option)
		got := server.BaseURL()
		assert.True(t, strings.HasPrefix(got, test.want), got)
		assert.False(t, strings.HasSuffix(got, ":0"), got)
		assert.NoError(t, stop())
	}
}

func TestListenErrors(t *testing.T) {
	t.Parallel()
	server, stop := listen(t, http.NotFound)
	taken := strings.TrimPrefix(server.BaseURL(), "http://")
	tests := []struct {
		option portal.ServerOption
		want   []string
	}{
		{portal.WithAddress(taken), []string{taken, "address already in use", "set BUS_HTTP_ADDR"}},
		{portal.WithAddress("nowhere"), []string{"nowhere", "set BUS_HTTP_ADDR"}},
		{portal.WithBaseURL("https://api.example.com/#bus"), []string{`"https://api.example.com/#bus" is not an address`}}, // no path can follow
		{portal.WithBaseURL("https://api.example.com/?"), []string{`"https://api.example.com/?" is not an address`}},
		{portal.WithBaseURL("api.example.com"), []string{`"api.example.com" is not an address`, "BUS_BASE_URL", "https://api.example.com"}},
		{portal.WithBaseURL("ftp://api.example.com"), []string{"not an address such as"}},
		{portal.WithGracePeriod(-time.Second), []string{"the grace period -1s is below zero", "portal.WithGracePeriod"}},
		{portal.WithMaxConnections(0), []string{"portal.WithMaxConnections: 0 connections are too few"}},
		{portal.WithSlog(nil), []string{"portal.WithSlog: the logger is nil"}},
	}
	for _, test := range tests {
		_, err := portal.Listen(http.NotFoundHandler(), portal.WithAddress("127.0.0.1:0"), test.option)
		for _, want := range test.want {
			assert.ErrorContains(t, err, want)
		}
	}
	assert.NoError(t, stop())
}

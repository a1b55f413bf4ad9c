package ingress_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/portal/ingress"
)

// listen serves a handler on a free port until the returned function is called, which returns the server's error.
func listen(t *testing.T, handler http.HandlerFunc, options ...ingress.ServerOption) (*ingress.Server, func() error) {
	t.Helper()
	return listenTo(t, handler, options...)
}

func listenTo(t *testing.T, handler http.Handler, options ...ingress.ServerOption) (*ingress.Server, func() error) {
	t.Helper()
	server, err := ingress.Listen(handler, append([]ingress.ServerOption{ingress.WithAddress("127.0.0.1:0")},
		options...)...)
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
	}, ingress.WithGracePeriod(time.Millisecond))
	go func() { _, _ = fetch(t, server.BaseURL()) }()
	<-arrived
	err := stop()
	assert.ErrorContains(t, err, "requests were cut off after 1ms")
}

// TestAddr holds that a port which the system has chosen is known, whatever address people use.
func TestAddr(t *testing.T) {
	t.Parallel()
	server, stop := listen(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("here")) },
		ingress.WithBaseURL("https://api.example.com"))
	text, err := fetch(t, "http://"+server.Addr().String())
	require.NoError(t, err)
	assert.Equal(t, "here", text)
	assert.NoError(t, stop())
}

func TestBaseURL(t *testing.T) {
	t.Parallel()
	tests := []struct {
		option ingress.ServerOption
		want   string
	}{
		{ingress.WithAddress("127.0.0.1:0"), "http://127.0.0.1:"},
		{ingress.WithAddress("0.0.0.0:0"), "http://127.0.0.1:"},
		{ingress.WithBaseURL("https://api.example.com/bus/"), "https://api.example.com/bus"},
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
	addr := strings.TrimPrefix(server.BaseURL(), "http://")
	tests := []struct {
		option ingress.ServerOption
		want   []string
	}{
		{ingress.WithAddress(addr), []string{addr, "address already in use", "set BUS_HTTP_ADDR"}},
		{ingress.WithAddress("nowhere"), []string{"nowhere", "set BUS_HTTP_ADDR"}},
		// no path can follow
		{ingress.WithBaseURL("https://api.example.com/#bus"), []string{`"https://api.example.com/#bus" is not an address`}},
		{ingress.WithBaseURL("https://api.example.com/?"), []string{`"https://api.example.com/?" is not an address`}},
		{ingress.WithBaseURL("api.example.com"), []string{`"api.example.com" is not an address`, "BUS_BASE_URL",
			"https://api.example.com"}},
		{ingress.WithBaseURL("ftp://api.example.com"), []string{"not an address such as"}},
		{ingress.WithGracePeriod(-time.Second), []string{"the grace period -1s is below zero", "ingress.WithGracePeriod"}},
		{ingress.WithMaxConnections(0), []string{"ingress.WithMaxConnections: 0 connections are too few"}},
		{ingress.WithSlog(nil), []string{"ingress.WithSlog: the logger is nil"}},
	}
	for _, test := range tests {
		_, err := ingress.Listen(http.NotFoundHandler(), ingress.WithAddress("127.0.0.1:0"), test.option)
		for _, want := range test.want {
			assert.ErrorContains(t, err, want)
		}
	}
	assert.NoError(t, stop())
}

// TestIngress_LogsErrors has a handler panic, which net/http reports.
func TestIngress_LogsErrors(t *testing.T) {
	t.Parallel()
	var toZerolog, toSlog, unused kit.Lines
	for _, test := range []struct {
		options []ingress.ServerOption
		written *kit.Lines
		want    []string
	}{
		{[]ingress.ServerOption{ingress.WithLogger(zerolog.New(&toZerolog))}, &toZerolog,
			[]string{`{"message":"http: panic serving`, "not again"}},
		{
			[]ingress.ServerOption{ingress.WithLogger(zerolog.New(&unused)),
				ingress.WithSlog(slog.New(slog.NewTextHandler(&toSlog, nil)))}, &toSlog,
			[]string{"level=ERROR", `msg="http: panic serving`, "not again"},
		},
	} {
		server, stop := listen(t, func(http.ResponseWriter, *http.Request) { panic("not again") }, test.options...)
		if text, err := fetch(t, server.BaseURL()+"/"); err == nil {
			t.Errorf("got %q", text)
		}
		if err := stop(); err != nil { // when it has returned, it has been logged
			t.Error(err)
		}
		for _, want := range test.want {
			if got := test.written.String(); !strings.Contains(got, want) {
				t.Errorf("got %q, want %s", got, want)
			}
		}
	}
	if got := unused.String(); got != "" {
		t.Errorf("%q went to the logger that was replaced", got)
	}
}

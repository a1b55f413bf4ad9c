package portal_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/portal"
)

// TestStream_ServerStops has a server stop while a service sends events without an end.
func TestStream_ServerStops(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	service := b.Connect("events.example")
	require.NoError(t, service.Handle("GET", "/endless", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: one\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})))
	ingress, err := portal.NewIngress(b.Connect("ingress"))
	require.NoError(t, err)
	server, err := portal.Listen(ingress, portal.WithAddress("127.0.0.1:0"))
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.BaseURL()+"/events.example/endless", nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	line, err := bufio.NewReader(response.Body).ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "data: one\n", line)
	stop()
	require.NoError(t, <-served, "it was cut off")
	_, err = io.Copy(io.Discard, response.Body)
	require.Error(t, err)
}

// TestStream_Relayed relays a stream as it comes, with its trailers, and breaks the connection where it breaks off.
func TestStream_Relayed(t *testing.T) {
	t.Parallel()
	ingress := open(t)
	wasRead := make(chan struct{})
	ingress.serve("stream.example", 443, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "first")
		_ = http.NewResponseController(w).Flush()
		<-wasRead
		if strings.HasSuffix(r.URL.Path, "/broken") {
			panic(http.ErrAbortHandler)
		}
		fmt.Fprintln(w, "last")
		w.Header().Set(http.TrailerPrefix+"X-Late", "yes")
		w.Header().Set(http.TrailerPrefix+"X-Accel-Redirect", "/secret")
	})
	for path, want := range map[string]string{"/whole": "last\n", "/broken": ""} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, ingress.server.URL+"/stream.example"+path, nil)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		body := bufio.NewReader(response.Body)
		line, err := body.ReadString('\n')
		require.NoError(t, err)
		assert.Equal(t, "first\n", line)
		wasRead <- struct{}{}
		rest, err := io.ReadAll(body)
		assert.Equal(t, want, string(rest))
		if want == "" {
			require.Error(t, err)
		} else {
			require.NoError(t, err)
			assert.Equal(t, http.Header{"X-Late": {"yes"}}, response.Trailer)
		}
		response.Body.Close()
	}
}

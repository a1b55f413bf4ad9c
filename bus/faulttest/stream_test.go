package faulttest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
)

// serveStream answers with a stream that ends as the path says.
func serveStream(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n, err)
		return
	}
	flush := http.NewResponseController(w).Flush
	_, err := io.WriteString(w, strings.Repeat("a", 100))
	if err = errors.Join(err, flush()); err != nil {
		return
	}
	switch r.PathValue("end") {
	case "panic":
		panic("the stream ends here")
	case "endless":
		for err == nil {
			_, err = w.Write(make([]byte, 10_000))
		}
	case "idle":
		<-r.Context().Done()
	default:
		_, _ = io.WriteString(w, strings.Repeat("b", 100))
	}
}

// streams returns what makes calls whose streams end in one way after the other.
func streams() func(*testing.T, *bus.Conn) {
	var next atomic.Int64
	get := func(ctx context.Context, from *bus.Conn, end string) (*http.Response, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+host+"/stream/"+end, nil)
		if err != nil {
			return nil, err
		}
		return from.Do(request)
	}
	read := func(response *http.Response, want string) error {
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if !strings.HasPrefix(string(text), want) {
			return fmt.Errorf("%d bytes came: %w", len(text), err)
		}
		return err
	}
	fails := func(err error) error {
		if err == nil {
			return errors.New("half of a stream came as the whole")
		}
		return nil
	}
	half := strings.Repeat("a", 100)
	ways := []func(context.Context, *bus.Conn) error{
		func(ctx context.Context, from *bus.Conn) error {
			response, err := get(ctx, from, "whole")
			if err != nil {
				return err
			}
			return read(response, half+strings.Repeat("b", 100))
		},
		func(ctx context.Context, from *bus.Conn) error {
			response, err := get(ctx, from, "panic")
			if err != nil {
				return err
			}
			return fails(read(response, half))
		},
		func(ctx context.Context, from *bus.Conn) error { // it leaves while parts come
			response, err := get(ctx, from, "endless")
			if err != nil {
				return err
			}
			_, err = io.ReadFull(response.Body, make([]byte, 1000))
			return errors.Join(err, response.Body.Close())
		},
		func(ctx context.Context, from *bus.Conn) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			response, err := get(ctx, from, "idle")
			if err != nil {
				return err
			}
			defer time.AfterFunc(time.Millisecond, cancel).Stop()
			return fails(read(response, half))
		},
		func(ctx context.Context, from *bus.Conn) error {
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+host+"/stream/whole",
				io.LimitReader(endless{}, 200_000))
			if err != nil {
				return err
			}
			response, err := from.Do(request)
			if err != nil {
				return err
			}
			return read(response, "200000")
		},
	}
	return func(t *testing.T, from *bus.Conn) {
		t.Helper()
		assert.NoError(t, ways[next.Add(1)%int64(len(ways))](t.Context(), from))
	}
}

// endless is a body without an end.
type endless struct{}

func (endless) Read(data []byte) (int, error) { return len(data), nil }

// counted discards what comes, and counts it.
type counted struct{ bytes atomic.Int64 }

func (c *counted) Write(data []byte) (int, error) {
	c.bytes.Add(int64(len(data)))
	return len(data), nil
}

// TestStream_BrokerRestarted kills the broker in the middle of streams, both ways, and starts it again: each ends with
// an error for both sides, or continues, if nothing of it was lost.
func TestStream_BrokerRestarted(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, brokerConfig{})
	ended := make(chan error, 2)
	var uploaded, downloaded counted
	serving := s.connect(t, host, s.brokers.url(0))
	require.NoError(t, serving.Handle("*", "/endless", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var err error
		if r.Method == http.MethodPost {
			if _, err = io.Copy(&uploaded, r.Body); err != nil {
				w.WriteHeader(bus.StatusOf(err))
			}
		} else {
			_, err = io.Copy(w, endless{})
		}
		ended <- err
	})))
	caller := s.caller(t, 0)
	failed := make(chan error, 2)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		var body io.Reader
		if method == http.MethodPost {
			body = endless{}
		}
		request, err := http.NewRequestWithContext(ctx, method, "https://"+host+"/endless", body)
		require.NoError(t, err)
		go func() {
			response, err := caller.Do(request)
			if err == nil {
				_, err = io.Copy(&downloaded, response.Body)
				response.Body.Close()
				if response.StatusCode >= http.StatusBadRequest {
					err = errors.New(response.Status)
				}
			}
			failed <- err
		}()
	}
	until(t, "the streams are under way", func() bool { return serving.Stats().InFlight == 2 })
	began := time.Now()
	s.brokers.kill(0)
	s.brokers.start(t, 0)
	const more = 8 << 20
	goOn := []int64{uploaded.bytes.Load() + more, downloaded.bytes.Load() + more}
	until(t, "each stream has failed, or goes on", func() bool {
		done := len(failed)
		for i, each := range []*counted{&uploaded, &downloaded} {
			if each.bytes.Load() >= goOn[i] {
				done++
			}
		}
		return done >= 2
	})
	cancel()
	var callers, handlers []time.Duration
	for range 2 {
		require.Error(t, <-failed, "half of a stream came as the whole")
		callers = append(callers, time.Since(began))
	}
	for range 2 {
		require.Error(t, <-ended)
		handlers = append(handlers, time.Since(began))
	}
	until(t, "the handlers have ended", func() bool { return serving.Stats().InFlight == 0 })
	figures.addRow(t, "broker killed in the middle of a download and an upload", "an error on both sides ≤ 25 s",
		"callers: %s; handlers: %s", spread(callers), spread(handlers))
}

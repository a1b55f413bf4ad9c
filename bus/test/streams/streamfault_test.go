package streams_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/bus/wire"
)

// TestStream_Idle has a handler that is silent for an hour, and a caller that waits for it.
func TestStream_Idle(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		b.Handle(t, "GET /idle", func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			time.Sleep(time.Hour)
			assert.NoError(t, r.Context().Err())
			fmt.Fprint(w, "at last")
		})
		response, err := kit.Get(t.Context(), b.Connect("caller.example"), "/idle")
		require.NoError(t, err)
		began := time.Now()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		assert.Equal(t, "at last", string(text))
		assert.Less(t, time.Since(began), time.Hour+time.Second)
	})
}

// TestStream_ReaderStops has a caller that reads nothing: the handler's write fails after the time budget, and the
// caller gets an error after what came before.
func TestStream_ReaderStops(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		ended := make(chan error, 1)
		b.Handle(t, "GET /endless", func(w http.ResponseWriter, r *http.Request) {
			for {
				if _, err := w.Write(make([]byte, 10_000)); err != nil {
					ended <- err
					panic(http.ErrAbortHandler)
				}
			}
		})
		began := time.Now()
		response, err := kit.Get(t.Context(), b.Connect("caller.example"), "/endless")
		require.NoError(t, err)
		require.ErrorIs(t, <-ended, bus.ErrTimeout)
		assert.Less(t, time.Since(began), 30*time.Second)
		synctest.Wait()
		n, err := io.Copy(io.Discard, response.Body)
		require.Error(t, err)
		assert.LessOrEqual(t, n, int64(2<<20))
	})
}

// TestStream_EndpointLimit has an endpoint whose handlers may be silent for a second.
func TestStream_EndpointLimit(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		b.Handle(t, "GET /slow", func(w http.ResponseWriter, r *http.Request) {
			for pause := 300 * time.Millisecond; ; pause *= 2 {
				fmt.Fprint(w, pause, " ")
				if http.NewResponseController(w).Flush() != nil {
					break
				}
				select {
				case <-r.Context().Done():
				case <-time.After(pause):
				}
			}
		}, bus.TimeBudget(time.Second))
		response, err := kit.Get(t.Context(), b.Connect("caller.example"), "/slow")
		require.NoError(t, err)
		text, err := io.ReadAll(response.Body)
		assert.Equal(t, "300ms 600ms 1.2s ", string(text))
		kit.CheckError(t, err, http.StatusGatewayTimeout, bus.ExecutedYes)
	})
}

// TestStream_CallerGone has a caller that vanishes without a word.
func TestStream_CallerGone(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		ended := make(chan error, 1)
		b.Handle(t, "GET /idle", func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			ended <- context.Cause(r.Context())
		})
		raw := kit.RawClient(t, b.World)
		request := wire.Request{
			Method: "GET", Target: "/idle", Host: kit.StreamHost, FromHost: "gone.example", FromID: "g1aaaaaaaa",
			MsgID:      strings.Repeat("m", 26),
			TimeBudget: 20 * time.Second, Window: 1000,
		}
		began := time.Now()
		require.NoError(t, raw.Publish(subject.Subscription(b.Plane(), "443", kit.StreamHost, "GET", "idle"),
			wire.AppendRequest(nil, &request)))
		kit.Flush(t, raw)
		require.ErrorIs(t, <-ended, bus.ErrCallerLeft)
		assert.Less(t, time.Since(began), 30*time.Second)
	})
}

// TestStream_UploadSourceFails has a body that cannot be read to its end: the handler gets no whole.
func TestStream_UploadSourceFails(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		ended := make(chan error, 1)
		b.Handle(t, "POST /upload", func(w http.ResponseWriter, r *http.Request) {
			_, err := io.Copy(io.Discard, r.Body)
			ended <- err
		})
		broken := errors.New("the source is broken")
		body := io.MultiReader(kit.NewNumbered(1<<20), iotestError{broken})
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+kit.StreamHost+"/upload", body)
		require.NoError(t, err)
		_, err = b.Connect("caller.example").Do(request) //nolint:bodyclose // there is no response
		// within the process the handler itself has read the error, and may have answered
		if err != nil {
			require.ErrorIs(t, err, broken)
		}
		require.Error(t, <-ended)
	})
}

type iotestError struct{ err error }

func (e iotestError) Read([]byte) (int, error) { return 0, e.err }

// TestStream_Close closes both ends in the middle of a stream.
func TestStream_Close(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		begun := make(chan struct{})
		service := b.Handle(t, "GET /slow", func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "a")
			_ = http.NewResponseController(w).Flush()
			close(begun)
			time.Sleep(5 * time.Second)
			fmt.Fprint(w, "b")
		})
		response, err := kit.Get(t.Context(), b.Connect("caller.example"), "/slow")
		require.NoError(t, err)
		<-begun
		closed := make(chan error, 1)
		go func() { closed <- service.Close(t.Context()) }()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err, "a stream is not cut off by Close")
		assert.Equal(t, "ab", string(text))
		require.NoError(t, <-closed)
	})
}

// TestStream_CloseCutsOff has a stream that lasts longer than Close may.
func TestStream_CloseCutsOff(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		service := b.Handle(t, "GET /endless", func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "a")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		})
		response, err := kit.Get(t.Context(), b.Connect("caller.example"), "/endless")
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		require.Error(t, service.Close(ctx))
		text, err := io.ReadAll(response.Body)
		assert.Equal(t, "a", string(text))
		require.Error(t, err)
	})
}

// TestStream_CloseDuringUpload closes a service in the middle of a request.
func TestStream_CloseDuringUpload(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		begun := make(chan struct{})
		service := b.Handle(t, "POST /upload", func(w http.ResponseWriter, r *http.Request) {
			close(begun)
			n, err := io.Copy(io.Discard, r.Body)
			assert.NoError(t, err)
			fmt.Fprint(w, n)
		})
		read, write := io.Pipe()
		closed := make(chan error, 1)
		go func() {
			_, _ = write.Write(make([]byte, 100_000))
			<-begun
			go func() { closed <- service.Close(t.Context()) }()
			time.Sleep(5 * time.Second)
			_, _ = write.Write(make([]byte, 100_000))
			_ = write.Close()
		}()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+kit.StreamHost+"/upload", read)
		require.NoError(t, err)
		response, err := b.Connect("caller.example").Do(request)
		require.NoError(t, err)
		assert.Equal(t, "200000", kit.BodyOf(t, response))
		require.NoError(t, <-closed)
	})
}

// TestStream_SlowReader has a caller that reads a byte a second: it is slow, and not gone.
func TestStream_SlowReader(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		b.Handle(t, "GET /large", func(w http.ResponseWriter, r *http.Request) {
			_, err := io.Copy(w, kit.NewNumbered(3<<20))
			assert.NoError(t, err)
		})
		response, err := kit.Get(t.Context(), b.Connect("caller.example"), "/large")
		require.NoError(t, err)
		for range 100 {
			_, err := io.ReadFull(response.Body, make([]byte, 1))
			require.NoError(t, err)
			time.Sleep(time.Second)
		}
		n, err := io.Copy(io.Discard, response.Body)
		require.NoError(t, err)
		assert.EqualValues(t, 3<<20-100, n)
	})
}

// TestStream_UploadLength has a body that is not as long as it was announced: no handler takes it for the whole.
func TestStream_UploadLength(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		ended := make(chan error, 1)
		b.Handle(t, "POST /upload", func(w http.ResponseWriter, r *http.Request) {
			_, err := io.Copy(io.Discard, r.Body)
			ended <- err
			w.WriteHeader(bus.StatusOf(err))
		})
		caller := b.Connect("caller.example")
		for _, size := range []int64{40<<20 - 1, 40<<20 + 1} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+kit.StreamHost+"/upload",
				kit.NewNumbered(size))
			require.NoError(t, err)
			request.ContentLength = 40 << 20
			response, err := caller.Do(request)
			if err == nil {
				assert.GreaterOrEqual(t, response.StatusCode, 400)
			}
			require.Error(t, <-ended, size)
		}
	})
}

// TestStream_Closing has a stream without an end that ends when its instance closes.
func TestStream_Closing(t *testing.T) {
	t.Parallel()
	assert.Nil(t, bus.Closing(t.Context()))
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		service := b.Handle(t, "GET /endless", func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			<-bus.Closing(r.Context())
			fmt.Fprint(w, "bye")
		})
		response, err := kit.Get(t.Context(), b.Connect("caller.example"), "/endless")
		require.NoError(t, err)
		closed := make(chan error, 1)
		go func() { closed <- service.Close(t.Context()) }()
		assert.Equal(t, "bye", kit.BodyOf(t, response))
		require.NoError(t, <-closed)
	})
}

// TestStream_UploadOutage has a caller that loses the broker in the middle of a request: its handler has run, so the
// error of the part that was not sent does not say that none has.
func TestStream_UploadOutage(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		running, ended := make(chan struct{}), make(chan error, 1)
		b.Handle(t, "POST /upload", func(_ http.ResponseWriter, r *http.Request) {
			close(running)
			_, err := io.Copy(io.Discard, r.Body)
			ended <- err
		})
		caller, way := b.ConnectFragile("caller.example")
		read, write := io.Pipe()
		go func() {
			_, _ = write.Write(make([]byte, 100_000)) // the caller may be gone
			<-running
			way.Cut(true)
			_, _ = write.Write(make([]byte, 1000)) // as above
		}()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+kit.StreamHost+"/upload", read)
		require.NoError(t, err)
		_, err = caller.Do(request)
		kit.CheckError(t, err, http.StatusServiceUnavailable, bus.ExecutedUnknown)
		require.Error(t, <-ended)
	})
}

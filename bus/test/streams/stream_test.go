// Package streams_test has bodies that are read while they are written.
package streams_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/test/kit"
)

// TestStream_Flush has a handler that waits for its caller to read each line before it writes the next.
func TestStream_Flush(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		wasRead := make(chan struct{})
		w.Handle(t, "GET /lines", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Trailer", "X-Count")
			for i := range 3 {
				fmt.Fprintln(w, "line", i)
				assert.NoError(t, http.NewResponseController(w).Flush())
				<-wasRead
			}
			w.Header().Set("X-Count", "3")
			w.Header().Set(http.TrailerPrefix+"X-Late", "yes")
		})
		response, err := kit.Get(t.Context(), w.Connect("caller.example"), "/lines")
		require.NoError(t, err)
		assert.EqualValues(t, -1, response.ContentLength)
		assert.Empty(t, response.Header.Get("Trailer"))
		lines := bufio.NewScanner(response.Body)
		for i := range 3 {
			require.True(t, lines.Scan(), lines.Err())
			assert.Equal(t, fmt.Sprint("line ", i), lines.Text())
			wasRead <- struct{}{}
		}
		assert.False(t, lines.Scan())
		require.NoError(t, lines.Err())
		require.NoError(t, response.Body.Close())
		assert.Equal(t, http.Header{"X-Count": {"3"}, "X-Late": {"yes"}}, response.Trailer)
	})
}

const large = 50 << 20 // bytes, above what a message may have

// TestStream_Download has a body that fits into no message.
func TestStream_Download(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		body := kit.NewNumbered(large)
		w.Handle(t, "GET /large", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(int64(large)))
			_, err := io.Copy(w, body)
			assert.NoError(t, err)
		})
		response, err := kit.Get(t.Context(), w.Connect("caller.example"), "/large")
		require.NoError(t, err)
		assert.EqualValues(t, large, response.ContentLength)
		sum := sha256.New()
		n, err := io.Copy(sum, response.Body)
		require.NoError(t, err)
		assert.EqualValues(t, large, n)
		assert.Equal(t, body.Sum.Sum(nil), sum.Sum(nil))
	})
}

// TestStream_Upload has such a request.
func TestStream_Upload(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		w.Handle(t, "POST /large", func(w http.ResponseWriter, r *http.Request) {
			assert.EqualValues(t, -1, r.ContentLength)
			sum := sha256.New()
			n, err := io.Copy(sum, r.Body)
			assert.NoError(t, err)
			fmt.Fprintf(w, "%d %x", n, sum.Sum(nil))
		})
		body := kit.NewNumbered(large)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+kit.StreamHost+"/large",
			io.NopCloser(body))
		require.NoError(t, err)
		response, err := w.Connect("caller.example").Do(request)
		require.NoError(t, err)
		answer, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		assert.Equal(t, fmt.Sprintf("%d %x", int64(large), body.Sum.Sum(nil)), string(answer))
	})
}

// TestStream_Panic has a handler that fails after its first part: the caller gets that part, and an error in place of
// the end.
func TestStream_Panic(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		w.Handle(t, "GET /half", func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "half")
			assert.NoError(t, http.NewResponseController(w).Flush())
			panic("the other half is missing")
		})
		response, err := kit.Get(t.Context(), w.Connect("caller.example"), "/half")
		require.NoError(t, err)
		read, err := io.ReadAll(response.Body)
		assert.Equal(t, "half", string(read))
		kit.CheckError(t, err, http.StatusInternalServerError, bus.ExecutedYes)
	})
}

// TestStream_CallerLeaves has a caller that reads one line of an endless stream.
func TestStream_CallerLeaves(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(cancel func(), body io.Closer){
		"close":  func(_ func(), body io.Closer) { _ = body.Close() },
		"cancel": func(cancel func(), _ io.Closer) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kit.OverBoth(t, func(t *testing.T, w *kit.World) {
				ended := make(chan error, 1)
				w.Handle(t, "GET /endless", func(w http.ResponseWriter, r *http.Request) {
					for {
						if _, err := io.WriteString(w, strings.Repeat("x", 1000)+"\n"); err != nil {
							break
						}
						_ = http.NewResponseController(w).Flush()
					}
					ended <- context.Cause(r.Context())
				})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				response, err := kit.Get(ctx, w.Connect("caller.example"), "/endless")
				require.NoError(t, err)
				_, err = response.Body.Read(make([]byte, 10))
				require.NoError(t, err)
				leave(cancel, response.Body)
				require.Error(t, <-ended)
				_, err = io.Copy(io.Discard, response.Body)
				require.Error(t, err)
			})
		})
	}
}

// TestStream_CloseNotify has a handler that learns of it as before there were contexts, as those of gin do.
func TestStream_CloseNotify(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		left := make(chan bool, 1)
		w.Handle(t, "GET /endless", func(w http.ResponseWriter, r *http.Request) {
			notifier, ok := w.(interface{ CloseNotify() <-chan bool })
			if assert.True(t, ok) {
				assert.NoError(t, http.NewResponseController(w).Flush())
				left <- <-notifier.CloseNotify()
			}
		})
		response, err := kit.Get(t.Context(), w.Connect("caller.example"), "/endless")
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.True(t, <-left)
	})
}

// TestStream_UploadRefused has a handler that answers without reading its request.
func TestStream_UploadRefused(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		w.Handle(t, "POST /refuse", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusConflict) })
		w.Handle(t, "POST /small", func(w http.ResponseWriter, r *http.Request) {
			_, err := io.Copy(io.Discard, r.Body)
			w.WriteHeader(bus.StatusOf(err))
		}, bus.MaxBodyBytes(100<<10))
		for path, want := range map[string]int{"/refuse": http.StatusConflict, "/small": http.StatusRequestEntityTooLarge} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+kit.StreamHost+path,
				io.NopCloser(kit.NewNumbered(1<<40)))
			require.NoError(t, err)
			response, err := w.Connect("caller.example").Do(request)
			require.NoError(t, err, path)
			assert.Equal(t, want, response.StatusCode, path)
		}
	})
}

// TestStream_Function has a function whose arguments come as a stream.
func TestStream_Function(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		kit.Serve(t, w.Connect("words.example"), kit.Words{})
		for size, want := range map[int]int{1 << 20: http.StatusOK, 5 << 20: http.StatusRequestEntityTooLarge} {
			text := `{"text":"` + strings.Repeat("a", size) + `"}`
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://words.example/length",
				io.NopCloser(io.MultiReader(strings.NewReader(text))))
			require.NoError(t, err)
			request.Header.Set("Content-Type", "application/json")
			response, err := w.Connect("caller.example").Do(request)
			require.NoError(t, err)
			assert.Equal(t, want, response.StatusCode, size)
		}
	})
}

// counter streams.
type counter struct{ ended chan error }

func (c counter) Count(ctx context.Context, n, size int, fail bool) iter.Seq2[kit.Tick, error] {
	return func(yield func(kit.Tick, error) bool) {
		for i := range n {
			if !yield(kit.Tick{N: i, Text: strings.Repeat("a", size)}, nil) {
				c.ended <- context.Cause(ctx)
				return
			}
		}
		if fail {
			yield(kit.Tick{}, bus.Errorf(http.StatusConflict, "no more than %d", n))
		}
	}
}

type countArguments struct {
	N    int  `json:"n"`
	Size int  `json:"size"`
	Fail bool `json:"fail"`
}

// TestStream_Elements has a function that streams more elements than fit into the window.
func TestStream_Elements(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		service := counter{make(chan error, 1)}
		kit.Serve(t, w.Connect("counter.example"), service)
		count := bus.NewOperation[countArguments, kit.Tick](w.Connect("caller.example"), "POST https://counter.example/count")
		for _, n := range []int{0, 1, 20_000} {
			next := 0
			for each, err := range count.Stream(t.Context(), countArguments{N: n, Size: 100}) {
				require.NoError(t, err)
				require.Equal(t, next, each.N)
				next++
			}
			assert.Equal(t, n, next)
		}
		next := 0
		for each, err := range count.Stream(t.Context(), countArguments{N: 5, Fail: true}) {
			if next == 5 {
				kit.CheckError(t, err, http.StatusConflict, bus.ExecutedYes)
			} else {
				require.NoError(t, err)
				require.Equal(t, next, each.N)
			}
			next++
		}
		assert.Equal(t, 6, next)
		for _, err := range count.Stream(t.Context(), countArguments{N: 1 << 30}) {
			require.NoError(t, err)
			break
		}
		require.Error(t, <-service.ended)
		for _, err := range bus.NewOperation[struct{}, kit.Tick](w.Connect("caller.example"),
			"POST https://counter.example/openapi.json").Stream(t.Context(), struct{}{}) {
			kit.CheckError(t, err, http.StatusMethodNotAllowed, bus.ExecutedNo)
		}
	})
}

// TestStream_Events has a caller that asks for events, and one that takes no stream.
func TestStream_Events(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		kit.Serve(t, w.Connect("counter.example"), counter{})
		caller := w.Connect("caller.example")
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://counter.example/count?n=2", nil)
		require.NoError(t, err)
		request.Header.Set("Accept", "text/event-stream")
		response, err := caller.Do(request)
		require.NoError(t, err)
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		assert.Equal(t, "text/event-stream", response.Header.Get("Content-Type"))
		assert.Equal(t, "data: {\"n\":0}\n\ndata: {\"n\":1}\n\nid: end\nevent: end\ndata:\n\n", string(text))
		request.Header.Set("Last-Event-ID", "end")
		response, err = caller.Do(request)
		require.NoError(t, err)
		assert.Equal(t, http.StatusNoContent, response.StatusCode, "a browser does not run it again")
		assert.Empty(t, kit.BodyOf(t, response))
		for response, err := range caller.Multicast(kit.MustRequest(t, "https://counter.example/count?n=2")) {
			require.NoError(t, err)
			assert.Equal(t, http.StatusNotAcceptable, response.StatusCode)
		}
		err = caller.Call(t.Context(), "https://counter.example/count", bus.Args{"n": 2}, nil)
		require.ErrorContains(t, err,
			"406 Not Acceptable: it streams: call it by Operation.Stream, a generated client or Conn.Do")
	})
}

// TestStream_Controller has a handler use [http.ResponseController].
func TestStream_Controller(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		b.Handle(t, "* /controlled", func(w http.ResponseWriter, r *http.Request) {
			controller := http.NewResponseController(w)
			require.ErrorIs(t, controller.EnableFullDuplex(), http.ErrNotSupported)
			_, _, err := controller.Hijack()
			require.ErrorIs(t, err, http.ErrNotSupported)
			require.NoError(t, controller.Flush())
			require.NoError(t, controller.SetWriteDeadline(time.Now().Add(time.Second)))
			_, err = io.Copy(w, kit.NewNumbered(1<<40))
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			panic(http.ErrAbortHandler)
		})
		response, err := kit.Get(t.Context(), b.Connect("caller.example"), "/controlled")
		require.NoError(t, err)
		time.Sleep(2 * time.Second)
		_, err = io.Copy(io.Discard, response.Body)
		require.Error(t, err)
	})
}

// TestStream_ReadDeadline has a handler that waits for the rest of its request no longer than a second.
func TestStream_ReadDeadline(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, plain *bustest.Bus) { // within the process the body is that of the caller
		b := &kit.World{Bus: plain, Transport: bus.WithoutShortCircuit()}
		b.Handle(t, "POST /upload", func(w http.ResponseWriter, r *http.Request) {
			require.NoError(t, http.NewResponseController(w).SetReadDeadline(time.Now().Add(time.Second)))
			n, err := io.Copy(io.Discard, r.Body)
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			fmt.Fprint(w, n)
		})
		read, write := io.Pipe()
		go func() { _, _ = write.Write(make([]byte, 100_000)) }()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+kit.StreamHost+"/upload", read)
		require.NoError(t, err)
		response, err := b.Connect("caller.example").Do(request)
		require.NoError(t, err)
		assert.Equal(t, "100000", kit.BodyOf(t, response))
	})
}

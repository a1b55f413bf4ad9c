package streams_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/bus/wire"
)

// TestStream_SlowUpload holds that an upload may last longer than the time budget, on either transport, as long as it
// goes on.
func TestStream_SlowUpload(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		b.Handle(t, "POST /slow", func(w http.ResponseWriter, r *http.Request) {
			n, err := io.Copy(io.Discard, r.Body)
			fmt.Fprint(w, n, err)
		})
		reader, writer := io.Pipe()
		go func() {
			for range 12 {
				_, _ = writer.Write(make([]byte, 100_000))
				time.Sleep(10 * time.Second)
			}
			_ = writer.Close()
		}()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+kit.StreamHost+"/slow", reader)
		require.NoError(t, err)
		response, err := b.Connect("caller.example").Do(request)
		require.NoError(t, err)
		answer, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		assert.Equal(t, "1200000 <nil>", string(answer))
	})
}

// TestStream_DeadlineOfCaller holds that the deadline of a caller is no word of the service.
func TestStream_DeadlineOfCaller(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		kit.Serve(t, b.Connect("counter.example"), unending{})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		count := bus.NewOperation[struct{}, int](b.Connect("caller.example"), "POST https://counter.example/count")
		var last error
		for _, last = range count.Stream(ctx, struct{}{}) {
			_ = last // that of the end counts
		}
		require.ErrorIs(t, last, bus.ErrTimeout)
		require.ErrorIs(t, last, context.DeadlineExceeded)
		require.ErrorContains(t, last,
			"504 Gateway Timeout: the caller's deadline came before the end of the stream of counter.example")
	})
}

// unending has methods that stream.
type unending struct{}

// Count streams a number each second.
func (unending) Count() iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := 0; yield(i, nil); i++ {
			time.Sleep(time.Second)
		}
	}
}

// Burst streams five numbers, and panics.
func (unending) Burst() iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := range 5 {
			yield(i, nil)
		}
		panic("no more")
	}
}

// TestStream_PanicAfterElements holds that the elements before a panic arrive.
func TestStream_PanicAfterElements(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		kit.Serve(t, w.Connect("counter.example"), unending{})
		burst := bus.NewOperation[struct{}, int](w.Connect("caller.example"), "POST https://counter.example/burst")
		for range 20 {
			var elements int
			var last error
			for _, err := range burst.Stream(t.Context(), struct{}{}) {
				if last = err; err == nil {
					elements++
				}
			}
			assert.Equal(t, 5, elements)
			kit.CheckError(t, last, http.StatusInternalServerError, bus.ExecutedYes)
		}
	})
}

// TestCancel_AfterLateAck has an ack that comes when the caller has left: the instance is told.
func TestCancel_AfterLateAck(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		raw := kit.RawClient(t, b.World)
		requests, cancels := make(chan *nats.Msg, 1), make(chan *nats.Msg, 2)
		for published, channel := range map[string]chan *nats.Msg{
			".443.example.late.|.GET.late":               requests,
			".888.example.late.l1aaaaaaaa.|.POST.cancel": cancels,
		} {
			_, err := raw.ChanSubscribe(b.Plane()+published, channel)
			require.NoError(t, err)
		}
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		caller := b.Connect("caller.example")
		go func() { ended <- caller.Call(ctx, "GET https://late.example/late", nil, nil) }()
		var request wire.Request
		require.NoError(t, wire.ParseRequest((<-requests).Data, &request))
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
		ack := &wire.Response{
			Status: 202, OpCode: wire.OpAck, FromHost: "late.example", FromID: "l1aaaaaaaa", MsgID: request.MsgID,
			Queue: "late.example",
		}
		for range 2 {
			require.NoError(t, raw.Publish(subject.Response(b.Plane(), request.FromHost, request.FromID),
				wire.AppendResponse(nil, ack)))
		}
		var cancelled wire.Request
		require.NoError(t, wire.ParseRequest((<-cancels).Data, &cancelled))
		assert.Equal(t, "/cancel?id="+request.MsgID, cancelled.Target)
		synctest.Wait()
		assert.Empty(t, cancels, "one cancel is enough")
	})
}

// TestStream_UploadSourceEnds holds that a handler reads an unexpected end of a body whose source has failed.
func TestStream_UploadSourceEnds(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		ended := make(chan error, 1)
		b.Handle(t, "POST /upload", func(_ http.ResponseWriter, r *http.Request) {
			_, err := io.Copy(io.Discard, r.Body)
			ended <- err
		})
		body := io.MultiReader(io.LimitReader(kit.NewNumbered(1<<20), 1<<20), iotestError{errors.New("the client is gone")})
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+kit.StreamHost+"/upload", body)
		require.NoError(t, err)
		_, err = b.Connect("caller.example").Do(request) //nolint:bodyclose // there is none
		require.ErrorContains(t, err, "the client is gone")
		require.ErrorIs(t, <-ended, io.ErrUnexpectedEOF)
	})
}

// TestStream_TokenExpires holds that streams, in either direction, end with the token of their caller.
func TestStream_TokenExpires(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		i := kit.NewIssuer(t)
		callee := b.Connect("counter.example", i.Trust())
		kit.Serve(t, callee, unending{})
		ended := make(chan error, 1)
		require.NoError(t, callee.Handle("POST", "/upload", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, err := io.Copy(io.Discard, r.Body)
			ended <- err
		})))
		caller, began := b.Connect("caller.example"), time.Now()
		ctx := bus.WithActor(t.Context(), i.Token(claims.Claims{"exp": began.Add(time.Minute).Unix()}))
		var last error
		for _, last = range bus.NewOperation[struct{}, int](caller, "POST https://counter.example/count").Stream(ctx,
			struct{}{}) {
			_ = last // that of the end counts
		}
		require.ErrorContains(t, last, "401 Unauthorized: the token has expired, and the stream ends with it")
		assert.InDelta(t, 90, time.Since(began).Seconds(), 2, "with 30 s of leeway")

		ctx = bus.WithActor(t.Context(), i.Token(claims.Claims{"exp": time.Now().Add(time.Minute).Unix()}))
		reader, writer := io.Pipe()
		go func() {
			for {
				if _, err := writer.Write(make([]byte, 100_000)); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		}()
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://counter.example/upload", reader)
		require.NoError(t, err)
		response, err := caller.Do(request)
		require.NoError(t, err)
		assert.Equal(t, http.StatusUnauthorized, response.StatusCode)
		require.ErrorContains(t, <-ended, "the token has expired")
		time.Sleep(2 * time.Second) // until the writer has seen it
	})
}

// TestStreamLimit_Executed holds that a handler whose stream finds no place has run, so that its caller does not call
// again.
func TestStreamLimit_Executed(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		callee := b.Connect(kit.StreamHost, bus.WithMaxHandlers(16))
		require.NoError(t, callee.Handle("GET", "/events", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := http.NewResponseController(w).Flush(); err == nil {
				<-r.Context().Done()
			}
		})))
		caller := b.Connect("caller.example")
		for range 6 {
			response, err := kit.Get(t.Context(), caller, "/events")
			require.NoError(t, err)
			t.Cleanup(func() { _ = response.Body.Close() })
		}
		response, err := kit.Get(t.Context(), caller, "/events")
		require.NoError(t, err)
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		assert.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
		assert.Contains(t, string(text), "the limit of concurrent streams is reached")
		assert.NotContains(t, string(text), `"executed":"no"`)
	})
}

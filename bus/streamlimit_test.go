package bus_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
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

const (
	// memoryOfSender is what one sender may have a connection hold, in bytes.
	memoryOfSender = 36 << 20
	wordsHost      = "words.example"
)

// to returns a part of a request to another endpoint than that of part.
func (s *sender) to(host, path string, number int, body string) *wire.Request {
	part := s.part(number, 0, body)
	part.Host, part.Target = host, path
	if number > 1 {
		part.Host = s.callee.ID() + "." + host
	}
	return part
}

// countPrefix returns how many texts begin with prefix.
func countPrefix(texts []string, prefix string) (count int) {
	for _, text := range texts {
		if strings.HasPrefix(text, prefix) {
			count++
		}
	}
	return count
}

// TestStreamLimit_CollectedBodies has a sender that begins many bodies of a function, and sends no end. They count in
// the account of the sender, others find room, and their time is bounded.
func TestStreamLimit_CollectedBodies(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		callee := b.Connect(wordsHost)
		kit.Serve(t, callee, kit.Words{})
		s, body := newSender(t, b.World, callee), strings.Repeat("b", 900_000)
		for i := range 100 {
			part := s.to(wordsHost, "/length", 1, body)
			part.MsgID, part.TimeBudget = fmt.Sprintf("m%d", i), 10*time.Minute
			s.send(part)
		}
		rejected := countPrefix(s.heard(), "503 ")
		assert.Greater(t, rejected, 40)
		assert.Less(t, rejected, 90)
		assert.LessOrEqual(t, bus.HeldByParts(callee), memoryOfSender)
		var out struct{ Length int }
		require.NoError(t, b.Connect("caller.example").Call(t.Context(), "https://"+wordsHost+"/length", bus.Args{"text": "four"}, &out))
		assert.Equal(t, 4, out.Length)
		time.Sleep(61 * time.Second)
		assert.Equal(t, 100-rejected, countPrefix(s.heard(), "408 "))
		checkNothingLeft(t, callee)
	})
}

// TestStreamLimit_Handlers holds that streams have a share of the handlers, and one sender half of it, so that calls
// find room.
func TestStreamLimit_Handlers(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		callee := b.Connect("bytes.example", bus.WithMaxHandlers(16))
		handleBytes(t, callee)
		require.NoError(t, callee.Handle("GET", "/events", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := http.NewResponseController(w).Flush(); err == nil {
				<-r.Context().Done()
			}
		})))
		s := newSender(t, b.World, callee)
		for i := range 40 {
			part := s.part(1, 0, "a")
			part.MsgID, part.TimeBudget = fmt.Sprintf("m%d", i), 10*time.Minute
			s.send(part)
		}
		assert.Equal(t, 34, countPrefix(s.heard(), "503 "), "six are half of three quarters")
		caller := b.Connect("caller.example")
		checkEcho(t, caller, 1000)
		for i := range 20 {
			request := s.to("bytes.example", "/events", 0, "")
			request.Method, request.Fragment, request.Window = http.MethodGet, wire.Fragment{}, 1000
			request.MsgID, request.FromID = fmt.Sprintf("e%d", i), "s8aaaaaaaa"
			s.send(request)
		}
		synctest.Wait()
		assert.Equal(t, 12, callee.Stats().InFlight, "all streams together have three quarters")
		checkEcho(t, caller, 1000)
		time.Sleep(10*time.Minute + time.Second)
		assert.Zero(t, callee.Stats().InFlight)
		checkNothingLeft(t, callee)
	})
}

// TestStreamLimit_Control holds that requests of the framework have no bodies that are streams: nothing is kept of
// them.
func TestStreamLimit_Control(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		callee := b.Connect("bytes.example")
		s := newSender(t, b.World, callee)
		to, err := subject.Address{Port: 888, Host: "bytes.example", Method: "GET", Path: "/ping"}.Subject(s.plane)
		require.NoError(t, err)
		idle := b.Goroutines()
		for i := range 1000 {
			part := s.to("bytes.example:888", "/ping", 1, "a")
			part.Method, part.MsgID = http.MethodGet, fmt.Sprintf("m%d", i)
			require.NoError(t, s.raw.Publish(to, wire.AppendRequest(nil, part)))
		}
		answers := s.heard()
		assert.Equal(t, 1000, countPrefix(answers, "400 "))
		assert.Contains(t, answers[1], "requests to port 888 have no body that is a stream")
		assert.LessOrEqual(t, b.Goroutines(), idle)
		checkNothingLeft(t, callee)
	})
}

// TestStreamLimit_SlowReaders has a sender that asks for large responses, and opens its window by a byte.
func TestStreamLimit_SlowReaders(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		callee := b.Connect("bytes.example")
		handleBytes(t, callee)
		require.NoError(t, callee.Handle("GET", "/pieces", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.CopyBuffer(struct{ io.Writer }{w}, io.LimitReader(neverEnds{}, 1_100_000), make([]byte, 32<<10))
		})))
		s := newSender(t, b.World, callee)
		for i := range 200 {
			request := s.to("bytes.example", "/pieces", 0, "")
			request.Method, request.Fragment, request.Window, request.MsgID = http.MethodGet, wire.Fragment{}, 1, fmt.Sprintf("m%d", i)
			s.send(request)
		}
		assert.Zero(t, countPrefix(s.heard(), "503 "), "a handler waits, and keeps little")
		assert.LessOrEqual(t, bus.HeldByParts(callee), memoryOfSender)
		assert.Greater(t, bus.HeldByParts(callee), 1<<20)
		checkEcho(t, b.Connect("caller.example"), 1000)
		time.Sleep(30 * time.Second)
		checkNothingLeft(t, callee)
	})
}

// neverEnds is a body without an end.
type neverEnds struct{}

func (neverEnds) Read(data []byte) (int, error) { return len(data), nil }

// TestStreamLimit_BudgetOfEndpoint has an upload that drips parts without content: the endpoint's budget ends it.
func TestStreamLimit_BudgetOfEndpoint(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		ended := make(chan error, 1)
		callee := b.Connect("bytes.example")
		require.NoError(t, callee.Handle("POST", "/echo", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, err := io.Copy(io.Discard, r.Body)
			ended <- err
		}), bus.TimeBudget(time.Second)))
		s := newSender(t, b.World, callee)
		began := time.Now()
		for number := range 10 {
			body := "a"
			if number > 3 {
				body = ""
			}
			s.send(s.part(number+1, 0, body))
			time.Sleep(400 * time.Millisecond)
		}
		err := <-ended
		assert.InDelta(t, 2.2, time.Since(began).Seconds()-(10*0.4-2.2), 0.1) // it had ended before the last parts
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.ErrorIs(t, err, bus.ErrTimeout)
		assert.Equal(t, http.StatusGatewayTimeout, bus.StatusOf(err))
	})
}

// TestStream_WrongParts holds that a handler reads an unexpected end where parts contradict each other.
func TestStream_WrongParts(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		ended := make(chan error, 1)
		callee := b.Connect("bytes.example")
		require.NoError(t, callee.Handle("POST", "/echo", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, err := io.Copy(io.Discard, r.Body)
			ended <- err
		})))
		s := newSender(t, b.World, callee)
		for i, change := range []func(first, second *wire.Request){
			func(_, second *wire.Request) { second.Target = "/echo?another=query" },
			func(first, _ *wire.Request) { first.ContentLength = 10 },
			func(first, _ *wire.Request) { first.ContentLength = 1 },
			func(_, second *wire.Request) { second.Fragment.Count = 5 },
		} {
			first, second := s.part(1, 0, "a"), s.part(2, 2, "b")
			change(first, second)
			first.MsgID = fmt.Sprintf("m%d", i)
			second.MsgID = first.MsgID
			s.send(first)
			s.send(second)
			require.ErrorIs(t, <-ended, io.ErrUnexpectedEOF, i)
		}
	})
}

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
		require.ErrorContains(t, last, "504 Gateway Timeout: the caller's deadline came before the end of the stream of counter.example")
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
			Status: 202, OpCode: wire.OpAck, FromHost: "late.example", FromID: "l1aaaaaaaa", MsgID: request.MsgID, Queue: "late.example",
		}
		for range 2 {
			require.NoError(t, raw.Publish(subject.Response(b.Plane(), request.FromHost, request.FromID), wire.AppendResponse(nil, ack)))
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
		for _, last = range bus.NewOperation[struct{}, int](caller, "POST https://counter.example/count").Stream(ctx, struct{}{}) {
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

// TestLimit_WholeBodies holds that large bodies of handlers that run count, too, and that the sender alone has to wait.
func TestLimit_WholeBodies(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		callee := b.Connect("bytes.example")
		handleBytes(t, callee)
		require.NoError(t, callee.Handle("POST", "/slow", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
		})))
		s, body := newSender(t, b.World, callee), strings.Repeat("b", 900_000)
		for i := range 100 {
			request := s.to("bytes.example", "/slow", 0, body)
			request.Fragment, request.MsgID = wire.Fragment{}, fmt.Sprintf("m%d", i)
			s.send(request)
		}
		assert.Equal(t, 59, countPrefix(s.heard(), "503 "))
		assert.LessOrEqual(t, bus.HeldByParts(callee), memoryOfSender)
		checkEcho(t, b.Connect("caller.example"), 1_000_000)
		time.Sleep(11 * time.Second)
		checkNothingLeft(t, callee)
	})
}

// TestStreamLimit_Announced holds that a body that announces more than its endpoint takes is refused before it is sent.
func TestStreamLimit_Announced(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		callee := b.Connect(wordsHost)
		kit.Serve(t, callee, kit.Words{})
		handleBytes(t, callee, bus.MaxBodyBytes(4<<20))
		caller, began := b.Connect("caller.example"), time.Now()
		for _, path := range []string{"/length", "/echo"} {
			reader, writer := io.Pipe()
			body := io.MultiReader(strings.NewReader(strings.Repeat(" ", 64<<10)), reader)
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+wordsHost+path, body)
			require.NoError(t, err)
			request.ContentLength = 5 << 20
			request.Header.Set("Content-Type", "application/json")
			response, err := caller.Do(request)
			require.NoError(t, err)
			assert.Equal(t, http.StatusRequestEntityTooLarge, response.StatusCode, path)
			require.NoError(t, writer.Close())
		}
		assert.Zero(t, time.Since(began))
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

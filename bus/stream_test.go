package bus_test

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

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/bus/wire"
)

// TestStream_Parts answers with parts of a stream in any order.
func TestStream_Parts(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller := b.Connect("caller.example")
		from := func(id string, part *wire.Response) *wire.Response {
			part.FromID = id
			return part
		}
		announced := func(length string, part *wire.Response) *wire.Response {
			part.ContentLength = length
			return part
		}
		malformed := answerPart(2, 0, "b")
		malformed.OpCode = "Nope"
		failed := answerPart(0, 0, `{"title":"x","status":409,"detail":"no more"}`)
		failed.Status, failed.Header = 409, wire.Header{{Name: "Content-Type", Value: "application/problem+json"}}
		for _, test := range []struct {
			name   string
			parts  []*wire.Response
			read   string
			status int
			told   string
		}{
			{"as they should be", []*wire.Response{answerPart(1, 0, "a"), answerPart(2, 0, "b"), answerPart(3, 3, "c")},
				"abc", 200, ""},
			{"alive between", []*wire.Response{answerPart(1, 0, ""), answerPart(2, 0, ""), answerPart(3, 0, "a"),
				answerPart(4, 4, "")}, "a", 200, ""},
			{"repeated", []*wire.Response{answerPart(1, 0, "a"), answerPart(1, 0, "x"), answerPart(2, 2, "b"),
				answerPart(2, 2, "b")}, "ab", 200, ""},
			{"forged", []*wire.Response{answerPart(1, 0, "a"), from("s2aaaaaaaa", answerPart(2, 0, "x")), answerPart(2, 2, "b")},
				"ab", 200, ""},
			{"lost", []*wire.Response{answerPart(1, 0, "a"), answerPart(3, 3, "c")}, "a", 502, "part 2 was lost on the way"},
			{"the first is lost", []*wire.Response{answerPart(2, 0, "b"), answerPart(3, 3, "c")}, "", 502,
				"part 1 was lost on the way"},
			{"reordered", []*wire.Response{answerPart(1, 0, "a"), answerPart(3, 0, "c"), answerPart(2, 0, "b")}, "a", 502,
				"part 2 was lost on the way"},
			{"another count", []*wire.Response{answerPart(1, 0, "a"), answerPart(2, 7, "b")}, "a", 502,
				"part 2 of the stream says that it has 7 parts"},
			{"longer than announced", []*wire.Response{announced("1", answerPart(1, 0, "a")), answerPart(2, 2, "b")}, "a", 502,
				"not as long as announced: 1 bytes"},
			{"shorter than announced", []*wire.Response{announced("3", answerPart(1, 0, "a")), answerPart(2, 2, "b")}, "a", 502,
				"not as long as announced: 3 bytes"},
			{"malformed", []*wire.Response{answerPart(1, 0, "a"), malformed}, "a", 502, "the response is malformed"},
			{"an error", []*wire.Response{answerPart(1, 0, "a"), failed}, "a", 409, "no more"},
			{"another response", []*wire.Response{answerPart(1, 0, "a"), answerPart(0, 0, "whole")}, "a", 502,
				"the stream was replaced by another response"},
			{"silence", []*wire.Response{answerPart(1, 0, "a")}, "a", 504,
				"nothing came of the stream of scripted.example for 20s"},
		} {
			a := newAnswerer(t, b.World, test.parts)
			var text []byte
			response, err := caller.Do(kit.MustRequest(t, strings.TrimPrefix(kit.ScriptedURL, "GET ")))
			status := bus.StatusOf(err)
			if err == nil {
				text, err = io.ReadAll(response.Body)
				if status = response.StatusCode; err != nil {
					status = bus.StatusOf(err)
				} else if status >= 400 {
					err, text = errors.New(string(text)), nil
				}
			}
			assert.Equal(t, test.status, status, test.name)
			if test.told != "" {
				assert.ErrorContains(t, err, test.told, test.name)
			} else {
				require.NoError(t, err, test.name)
			}
			assert.Equal(t, test.read, string(text), test.name)
			synctest.Wait()
			checkNothingLeft(t, caller)
			assert.Zero(t, caller.PendingCalls(), test.name)
			a.raw.Close()
			synctest.Wait()
		}
	})
}

// TestStream_InstanceGone has an instance that vanishes in the middle of a stream.
func TestStream_InstanceGone(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		a := newAnswerer(t, b.World, []*wire.Response{answerPart(1, 0, "a"), answerPart(2, 0, "b")})
		caller := b.Connect("caller.example")
		response, err := caller.Do(kit.MustRequest(t, strings.TrimPrefix(kit.ScriptedURL, "GET ")))
		require.NoError(t, err)
		a.raw.Close()
		began := time.Now()
		text, err := io.ReadAll(response.Body)
		assert.Equal(t, "ab", string(text))
		require.ErrorIs(t, err, bus.ErrInstanceLost)
		assert.Less(t, time.Since(began), 12*time.Second)
		synctest.Wait()
		checkNothingLeft(t, caller)
	})
}

// TestStream_UploadTakerGone has an instance that takes the first part of a request, opens the window, and vanishes.
func TestStream_UploadTakerGone(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		raw := kit.RawClient(t, b.World)
		_, err := raw.Subscribe(subject.Subscription(b.Plane(), "443", kit.ScriptedHost, "POST", "upload"),
			func(message *nats.Msg) {
				var request wire.Request
				if wire.ParseRequest(message.Data, &request) != nil {
					return
				}
				ack := &wire.Response{Status: 202, OpCode: wire.OpAck, FromHost: kit.ScriptedHost, FromID: kit.ScriptedID,
					MsgID: request.MsgID, Queue: kit.ScriptedHost, Window: 1 << 30}
				_ = raw.Publish(subject.Response(b.Plane(), request.FromHost, request.FromID), wire.AppendResponse(nil, ack))
			})
		require.NoError(t, err)
		kit.Flush(t, raw)
		caller, body := b.Connect("caller.example"), kit.NewNumbered(1<<40)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+kit.ScriptedHost+"/upload", body)
		require.NoError(t, err)
		_, err = caller.Do(request) //nolint:bodyclose // there is no response
		kit.CheckError(t, err, http.StatusGatewayTimeout, bus.ExecutedUnknown)
		require.ErrorIs(t, err, bus.ErrInstanceLost)
		synctest.Wait()
		checkNothingLeft(t, caller)
	})
}

// TestStream_InterceptorDropsIt has interceptors that do not pass on a stream: it ends.
func TestStream_InterceptorDropsIt(t *testing.T) {
	t.Parallel()
	for name, drop := range map[string]func(call *bus.Exchange) error{
		"for an error": func(*bus.Exchange) error { return bus.Errorf(http.StatusTeapot, "dropped") },
		"for another response": func(call *bus.Exchange) error {
			call.Response = &wire.Response{Status: http.StatusNoContent}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
				ended := make(chan struct{})
				b.Handle(t, "GET /idle", func(w http.ResponseWriter, r *http.Request) {
					_ = http.NewResponseController(w).Flush()
					<-r.Context().Done()
					close(ended)
				})
				caller := b.Connect("caller.example", bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
					return func(ctx context.Context, call *bus.Exchange) error {
						if err := next(ctx, call); err != nil {
							return err
						}
						assert.NotNil(t, call.Response.Stream)
						return drop(call)
					}
				}))
				_, _ = kit.Get(t.Context(), caller, "/idle") //nolint:bodyclose // there is none
				<-ended
				synctest.Wait()
				checkNothingLeft(t, caller)
			})
		})
	}
}

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
		require.NoError(t, b.Connect("caller.example").Call(t.Context(), "https://"+wordsHost+"/length",
			bus.Args{"text": "four"}, &out))
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
			request.Method, request.MsgID = http.MethodGet, fmt.Sprintf("m%d", i)
			request.Fragment, request.Window = wire.Fragment{}, 1
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

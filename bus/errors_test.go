package bus_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/test/kit"
)

// FuzzProblem passes a problem on twice: what one service has understood of it, the next one does, too.
func FuzzProblem(f *testing.F) {
	f.Add([]byte(`{"type":"urn:x","title":"x","status":409,"detail":"d","instance":"/x","host":"a.b","id":"a1","msgId":"m","traceId":"t"}`))
	f.Add([]byte(`{"type":"about:blank","executed":"no","internal":true,"errors":[{"name":"x","in":"body","detail":"y"}],"left":1.50}`))
	f.Add([]byte(`{"errors":[{"detail":"y","pointer":"#/x"}],"host":7,"status":"409","":null,"Type":"x","\u0074ype":"y"}`))
	f.Add([]byte("{\"errors\":null,\"more\":{\"a\":[1e400,\"\\ud83d\\ude00\\u2028<\"]},\"x\\ny\":\"\x7f\"}"))
	f.Fuzz(func(t *testing.T, body []byte) {
		first, passed := bus.PassedOn(body)
		second, again := bus.PassedOn(passed)
		require.True(t, json.Valid(passed), body)
		require.Equal(t, string(again), string(passed), body)
		var one, other map[string]json.RawMessage
		failed, failedToo := first.DecodeDetails(&one), second.DecodeDetails(&other)
		require.Equal(t, fmt.Sprint(failedToo), fmt.Sprint(failed), body)
		require.Equal(t, fmt.Sprint(other), fmt.Sprint(one), body)
		require.Equal(t, second.Type, first.Type, body)
		require.Equal(t, second.Detail, first.Detail, body)
	})
}

// TestTryAgain holds that the interceptor of the guide calls an instance again that had no room, after the time that it
// asked for, and one that has failed by itself not at all.
func TestTryAgain(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		seen := new(kit.Notes)
		callee := b.Connect(kit.CalculatorHost, bus.WithMaxHandlers(1))
		answer := func(path string, status int, wait time.Duration) {
			if err := callee.Handle("GET", path, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				seen.Addf("%s", path)
				time.Sleep(wait)
				w.WriteHeader(status)
			})); err != nil {
				t.Fatal(err)
			}
		}
		answer("/hold", http.StatusNoContent, time.Second/2)
		answer("/add", http.StatusNoContent, 0)
		answer("/missing", http.StatusNotFound, 0)
		answer("/closed", http.StatusServiceUnavailable, 0)
		caller := b.Connect("caller.example", bus.WithInterceptors(tryAgain))
		get := func(path string) int {
			return bus.StatusOf(caller.Call(t.Context(), "GET "+kit.CalculatorURL+path, nil, nil))
		}
		go get("/hold")
		synctest.Wait()
		began := time.Now()
		status, took := get("/add"), time.Since(began)
		assert.Equal(t, 200, status, "a call of a busy instance")
		assert.Equal(t, time.Second, took, "a call of a busy instance")
		for path, status := range map[string]int{"/missing": 404, "/closed": 503, "/nothing": 404} {
			if got := get(path); got != status {
				t.Errorf("%s: %d", path, got)
			}
		}
		got := seen.All()
		slices.Sort(got)
		if want := []string{"/add", "/closed", "/hold", "/missing"}; !slices.Equal(got, want) {
			t.Errorf("run were %q, want %q", got, want)
		}
	})
}

// plain answers with a status, and says nothing of why.
type plain struct{}

func (plain) Function(status int) (httpStatusCode int) { return status }

func (plain) Web(w http.ResponseWriter, r *http.Request) {
	status := map[string]int{"500": 500, "503": 503, "404": 404}[r.URL.Query().Get("status")]
	http.Error(w, "a page", status)
}

// TestStatus_WithoutAReason holds that the log and the metrics of an answer agree if a handler gives a status alone.
func TestStatus_WithoutAReason(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		for _, path := range []string{"function", "web"} {
			for status, level := range map[int]string{500: "error", 503: "debug", 404: "debug"} {
				logged := new(kit.Lines)
				conn := w.Connect("plain.example", bus.WithLogger(zerolog.New(logged).Level(zerolog.DebugLevel)))
				kit.Serve(t, conn, plain{})
				err := w.Connect("caller.example").Call(t.Context(),
					fmt.Sprintf("GET https://plain.example/%s?status=%d", path, status), nil, nil)
				if bus.StatusOf(err) != status {
					t.Fatalf("%s: %v", path, err)
				}
				line := logged.Line(t, "request failed")
				assert.Equal(t, level, line["level"], path)
				assert.Equal(t, float64(status), line["status"], path)
				assert.Nil(t, line["detail"], path)
				assert.Nil(t, line["type"], path)
				var failed, refused int64
				for _, served := range conn.Traffic().Served {
					failed, refused = failed+served.Failed, refused+served.Refused
				}
				isFailure := status >= 500
				assert.Equal(t, failed == 1, isFailure, "%s %d", path, status)
				assert.Equal(t, refused == 0, isFailure, "%s %d", path, status)
				kit.CloseConn(t, conn)
			}
		}
	})
}

// tooMuch answers with more than can be sent.
type tooMuch struct{}

func (tooMuch) Function() (text string) { return strings.Repeat("a", 64<<10) }

func (tooMuch) Web(w http.ResponseWriter, _ *http.Request) {
	_, _ = w.Write([]byte(tooMuch{}.Function() + "a"))
}

func (tooMuch) Fields(w http.ResponseWriter, _ *http.Request) {
	for i := range 300 {
		w.Header().Set(fmt.Sprintf("X-Field-%d", i), "1")
	}
}

// TestFailure_ResponseTooLarge holds that what cannot be sent is an error of its service: it counts as one, and its log
// says which limit it exceeds.
func TestFailure_ResponseTooLarge(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		for path, want := range map[string]string{
			"function": "the response cannot be sent: a body of 65547 bytes exceeds the limit of 65536 for messages; " +
				"see bus.WithMaxMessageBytes",
			"web": "the response cannot be sent: a body of 65537 bytes exceeds the limit of 65536 for messages; " +
				"see bus.WithMaxMessageBytes",
			"fields": "the response cannot be sent: the head has 316 fields and about",
		} {
			logged := new(kit.Lines)
			conn := w.Connect("large.example", bus.WithLogger(zerolog.New(logged).Level(zerolog.DebugLevel)),
				bus.WithMaxMessageBytes(64<<10))
			kit.Serve(t, conn, tooMuch{})
			err := w.Connect("caller.example").Call(t.Context(), "GET https://large.example/"+path, nil, nil)
			kit.CheckError(t, err, 500, bus.ExecutedYes)
			failed := kit.AsBusError(t, err)
			if !strings.HasPrefix(failed.Detail, want) {
				t.Errorf("%s: %v", path, err)
			}
			line := logged.Line(t, "request failed")
			assert.Equal(t, "error", line["level"], path)
			assert.Equal(t, 500.0, line["status"], path)
			assert.Equal(t, failed.Detail, line["detail"], path)
			assert.Zero(t, logged.Count("request served"), path)
			var count int64
			for _, served := range conn.Traffic().Served {
				count += served.Failed
			}
			if count != 1 {
				t.Errorf("%s: %d requests have failed", path, count)
			}
			kit.CloseConn(t, conn)
		}
	})
}

// TestEvent_OfClosedConnection has the metrics tell of an event that is fired too late, as they do of a call.
func TestEvent_OfClosedConnection(t *testing.T) {
	t.Parallel()
	closed := kit.NewBus(t).Connect("orders.example")
	require.NoError(t, closed.Close(t.Context()))
	for range 2 {
		if err := events.Publish(t.Context(), closed, "https://orders.example:417/on-ordered", nil); !errors.Is(err,
			bus.ErrClosed) {
			t.Error(err)
		}
	}
	made := closed.Traffic().Made
	require.Len(t, made, 1)
	assert.Equal(t, int64(2), made[0].Failed)
}

// TestFailedMulticast has the interceptors, the metrics and the log tell of a multicast that has reached no instance
// what its caller is told.
func TestFailedMulticast(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		callee := w.Connect(kit.CalculatorHost)
		kit.Serve(t, callee, kit.Calculator{ID: callee.ID()}, bus.Method("Who", bus.NoQueue()))
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		for _, test := range []struct {
			name            string
			ctx             context.Context
			body            string
			end             func(*bus.Conn)
			status          int
			refused, failed int64
		}{
			{"too large", t.Context(), strings.Repeat("x", 2<<20), func(*bus.Conn) {}, 413, 1, 0},
			{"cancelled", cancelled, "", func(*bus.Conn) {}, 503, 0, 1},
			{"not allowed", bus.WithOutgoingHeader(t.Context(), "Host", "x"), "", func(*bus.Conn) {}, 400, 1, 0},
			{"closed", t.Context(), "", func(c *bus.Conn) { _ = c.Close(t.Context()) }, 503, 0, 1},
		} {
			t.Run(test.name, func(t *testing.T) {
				log, seen := new(kit.Lines), 0
				caller := w.Connect("caller.example", bus.WithLogger(zerolog.New(log)),
					bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
						return func(ctx context.Context, call *bus.Exchange) error {
							err := next(ctx, call)
							seen = call.Status(err)
							return err
						}
					}))
				test.end(caller)
				request, err := http.NewRequestWithContext(test.ctx, http.MethodPost, kit.CalculatorURL+"/who",
					strings.NewReader(test.body))
				require.NoError(t, err)
				var told []int
				for _, err := range caller.Multicast(request) {
					told = append(told, bus.StatusOf(err))
				}
				require.Len(t, told, 1)
				assert.Equal(t, test.status, told[0])
				assert.Equal(t, test.status, seen)
				made := caller.Traffic().Made
				require.Len(t, made, 1)
				assert.Equal(t, test.refused, made[0].Refused)
				assert.Equal(t, test.failed, made[0].Failed)
				bus.FlushLog(caller)
				if !strings.Contains(log.String(), `"message":"call failed"`) {
					t.Errorf("logged as %s", log)
				}
			})
		}
	})
}

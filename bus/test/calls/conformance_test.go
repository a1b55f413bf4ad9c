// Package calls_test has calls to one instance: what arrives, what comes back, and what is known when nothing does.
package calls_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
)

func TestConformance_FunctionInEveryForm(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		caller, callee := kit.NewCalculator(t, w)
		for _, test := range []struct{ method, path, contentType, body string }{
			{"GET", "/add?x=5&y=6", "", ""},
			{"POST", "/add", "application/json", `{"x":5,"y":6}`},
			{"POST", "/add", "application/json; charset=utf-8", `{"x":5,"y":6}`},
			{"POST", "/add", "application/x-www-form-urlencoded", "x=5&y=6"},
			{"POST", "/add?x=1&y=6", "application/json", `{"x":5}`},
		} {
			response, body := kit.Do(t, caller, test.method, kit.CalculatorURL+test.path, test.contentType, test.body)
			assert.Equal(t, 200, response.StatusCode, test)
			assert.Equal(t, `{"sum":11}`, body, test)
			if got := response.Header.Get("Content-Type"); got != "application/json" {
				t.Errorf("%v: content type %q", test, got)
			}
			if got := response.Header.Get("Bus-From-Id"); got != callee.ID() {
				t.Errorf("%v: answered by %q", test, got)
			}
		}
	})
}

func TestCall_DecodesTheResult(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		caller, _ := kit.NewCalculator(t, w)
		var out struct{ Sum int }
		for _, address := range []string{kit.CalculatorURL + "/add", "GET " + kit.CalculatorURL + "/add",
			"https://Calculator.Example:443/add"} {
			out.Sum = 0
			err := caller.Call(t.Context(), address, bus.Args{"x": 5, "y": 6}, &out)
			require.NoError(t, err, address)
			assert.Equal(t, 11, out.Sum, address)
		}
	})
}

// query has arguments of the kinds that a query can hold.
type query struct{}

func (query) Kinds(number int64, list []int, text string, missing *int, yes bool) (told string) {
	return fmt.Sprintf("%d %v %q %v %v", number, list, text, missing == nil, yes)
}

func TestConformance_QueryLosesNothing(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		conn := w.Connect("query.example")
		kit.Serve(t, conn, query{})
		arguments := bus.Args{"number": int64(9007199254740993), "list": []int{1, 2, 3}, "text": "a b&c", "missing": nil,
			"yes": false}
		for _, method := range []string{"GET", "POST"} {
			var out struct{ Told string }
			err := conn.Call(t.Context(), method+" https://query.example/kinds", arguments, &out)
			require.NoError(t, err, method)
			assert.Equal(t, `9007199254740993 [1 2 3] "a b&c" true false`, out.Told, method)
		}
	})
}

func TestCall_SaysWhatItCannotFill(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		caller, _ := kit.NewCalculator(t, w)
		var missing *struct{ Sum int }
		for _, result := range []any{struct{ Sum int }{}, 7, missing} {
			err := caller.Call(t.Context(), kit.CalculatorURL+"/panic", nil, result)
			failed, _ := errors.AsType[*bus.Error](err)
			require.NotNil(t, failed, "%T", result)
			assert.Equal(t, bus.ExecutedNo, failed.Executed, "%T", result)
			assert.Contains(t, failed.Detail, "pass a non-nil pointer", "%T", result)
		}
	})
}

func TestConformance_RequestIsSentOnce(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		caller, _ := kit.NewCalculator(t, w)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, kit.CalculatorURL+"/add",
			strings.NewReader(`{"x":5}`))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		response, err := caller.Do(request)
		require.NoError(t, err)
		_ = response.Body.Close()
		_, err = caller.Do(request)
		assert.ErrorContains(t, err, "sent only once", "the second time")
	})
}

func TestErrors_KeepTheirStatusAndSender(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		caller, callee := kit.NewCalculator(t, w)
		for _, test := range []struct {
			address  string
			args     any
			status   int
			detail   string
			executed bus.Executed
		}{
			{"/divide", bus.Args{"x": 1, "y": 0}, 422, "1 cannot be divided by zero", bus.ExecutedYes},
			{"/broken", nil, 500, "the disk is full", bus.ExecutedYes},
			{"/panic", nil, 500, "the handler panicked: boom", bus.ExecutedYes},
			{"/exit", nil, 500, "the handler exited its goroutine", bus.ExecutedYes},
			{"/add", bus.Args{"x": "five"}, 400, "x", bus.ExecutedNo},
			{"/subtract", nil, 404, "serves nothing at /subtract", bus.ExecutedNo},
		} {
			err := caller.Call(t.Context(), kit.CalculatorURL+test.address, test.args, nil)
			failed, ok := errors.AsType[*bus.Error](err)
			if !ok {
				t.Errorf("%s: %v is no bus.Error", test.address, err)
				continue
			}
			assert.Equal(t, test.status, failed.Status, test.address)
			assert.Contains(t, failed.Error(), test.detail, test.address)
			assert.Equal(t, test.executed, failed.Executed, test.address)
			if failed.Path != test.address {
				t.Errorf("%s: instance %q", test.address, failed.Path)
			}
			if failed.Host != kit.CalculatorHost {
				t.Errorf("%s: failed at %s", test.address, failed.Host)
			}
			assert.Equal(t, callee.ID(), failed.ID, test.address)
			assert.NotEmpty(t, failed.MsgID, test.address)
		}
	})
}

func TestConformance_BadArgument(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		caller, _ := kit.NewCalculator(t, w)
		err := caller.Call(t.Context(), kit.CalculatorURL+"/add", bus.Args{"x": "five"}, nil)
		failed, ok := errors.AsType[*bus.Error](err)
		require.True(t, ok)
		require.Len(t, failed.Arguments, 1)
		assert.Equal(t, "x", failed.Arguments[0].Name)
		assert.Equal(t, "body", failed.Arguments[0].In)
	})
}

func TestCall_NoInstance(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		caller, callee := kit.NewCalculator(t, w)
		for _, address := range []string{"https://nobody.example/add", "https://k3aaaaaaaa.calculator.example/add",
			"https://nobody.example:888/allow"} {
			err := caller.Call(t.Context(), address, nil, nil)
			kit.CheckError(t, err, 503, bus.ExecutedNo)
			failed := kit.AsBusError(t, err)
			assert.ErrorIs(t, err, bus.ErrNoResponder, address)
			assert.NotEmpty(t, failed.MsgID, address)
		}
		response, body := kit.Do(t, caller, "DELETE", kit.CalculatorURL+"/add", "", "")
		assert.Equal(t, 405, response.StatusCode, "wrong method")
		assert.Equal(t, "GET, HEAD, POST", response.Header.Get("Allow"), "wrong method")
		assert.Contains(t, body, `"id":"`+callee.ID()+`","msgId":"`, "wrong method")
		response, body = kit.Do(t, caller, "GET", kit.CalculatorURL+":444/add", "", "")
		assert.Equal(t, 404, response.StatusCode, "wrong port")
		assert.Contains(t, body, "port 444", "wrong port")
		direct := "https://" + callee.ID() + "." + kit.CalculatorHost
		response, _ = kit.Do(t, caller, "GET", direct+"/nothing", "", "")
		if response.StatusCode != 404 {
			t.Errorf("wrong path of an instance: %d", response.StatusCode)
		}
		response, _ = kit.Do(t, caller, "PUT", direct+"/add", "", "")
		assert.Equal(t, 405, response.StatusCode, "wrong method of an instance")
		assert.Equal(t, "GET, HEAD, POST", response.Header.Get("Allow"), "wrong method of an instance")
	})
}

func TestUnicast_IsBalancedAndDirectAddressingIsNot(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		caller, first := kit.NewCalculator(t, w)
		second := w.Connect(kit.CalculatorHost)
		kit.Serve(t, second, kit.Calculator{ID: second.ID()}, bus.Method("Who", bus.NoQueue()))
		answered := make(map[string]int)
		for range 200 {
			response, _ := kit.Do(t, caller, "GET", kit.CalculatorURL+"/add?x=1", "", "")
			answered[response.Header.Get("Bus-From-Id")]++
		}
		require.Len(t, answered, 2)
		assert.GreaterOrEqual(t, answered[first.ID()], 20)
		assert.GreaterOrEqual(t, answered[second.ID()], 20)
		for _, path := range []string{"/add?x=1", "/who"} {
			for range 20 {
				response, _ := kit.Do(t, caller, "GET", "https://"+second.ID()+"."+kit.CalculatorHost+path, "", "")
				if got := response.Header.Get("Bus-From-Id"); got != second.ID() {
					t.Fatalf("%s answered by %s", path, got)
				}
			}
		}
	})
}

func TestMulticast_ReachesAllOnce(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		caller, first := kit.NewCalculator(t, w)
		all := []string{first.ID()}
		for range 3 {
			next := w.Connect(kit.CalculatorHost)
			kit.Serve(t, next, kit.Calculator{ID: next.ID()}, bus.Method("Who", bus.NoQueue()))
			all = append(all, next.ID())
			slices.Sort(all)
			// the newcomer is found at once, and again when the responders are known
			for range 3 {
				if ids := kit.MulticastIDs(t, caller, kit.CalculatorURL+"/who"); !slices.Equal(ids, all) {
					t.Fatalf("multicast answered by %v, want %v", ids, all)
				}
			}
		}
		if ids := kit.MulticastIDs(t, caller, "https://"+first.ID()+"."+kit.CalculatorHost+"/who"); !slices.Equal(ids,
			[]string{first.ID()}) {
			t.Errorf("direct multicast answered by %v", ids)
		}
		if ids := kit.MulticastIDs(t, caller, kit.CalculatorURL+"/add"); len(ids) != 1 {
			t.Errorf("multicast to a queue answered by %v", ids)
		}
		if ids := kit.MulticastIDs(t, caller, "https://nobody.example/who"); len(ids) != 0 {
			t.Errorf("no instance answered as %v", ids)
		}
	})
}

func TestHandler_KnowsItsCaller(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		caller, _ := kit.NewCalculator(t, w)
		var told struct {
			Host, ID string
			MsgID    string `json:"msgID"`
			Depth    int
			Left     time.Duration
		}
		told.ID = "?"
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		require.NoError(t, caller.Call(ctx, kit.CalculatorURL+"/context", nil, &told))
		assert.Equal(t, "caller.example", told.Host)
		assert.NotEmpty(t, told.MsgID)
		assert.Equal(t, 1, told.Depth)
		assert.Positive(t, told.Left)
		assert.LessOrEqual(t, told.Left, 7*time.Second)
	})
}

func TestConformance_DepthAndTimeBudgetOfAChain(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		conn := w.Connect("relay.example")
		kit.Serve(t, conn, kit.Relay{Conn: conn, Next: "https://relay.example/pass"})
		var out struct {
			Depth  int           `json:"depth"`
			Budget time.Duration `json:"budget"`
		}
		require.NoError(t, conn.Call(t.Context(), "https://relay.example/pass", bus.Args{"hops": 9}, &out))
		assert.Equal(t, 10, out.Depth)
		assert.Positive(t, out.Budget)
		assert.LessOrEqual(t, out.Budget, 20*time.Second)
		err := conn.Call(t.Context(), "https://relay.example/pass", bus.Args{"hops": 1000}, &out)
		if bus.StatusOf(err) != http.StatusLoopDetected {
			t.Errorf("an endless chain: %v", err)
		}
		if running := conn.Stats().InFlight; running != 0 {
			t.Errorf("%d handlers still run", running)
		}
	})
}

func TestConformance_TimeBudgetEndsTheCall(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller, _ := kit.NewCalculator(t, b.World)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		err := caller.Call(ctx, kit.CalculatorURL+"/wait", nil, nil)
		if bus.StatusOf(err) != http.StatusGatewayTimeout {
			t.Errorf("got %v", err)
		}
		ctx, cancel = context.WithCancel(t.Context())
		cancel()
		err = caller.Call(ctx, kit.CalculatorURL+"/wait", nil, nil)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	})
}

func TestConformance_TimeBudgetOfAnEndpoint(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		conn := b.Connect(kit.CalculatorHost)
		kit.Serve(t, conn, kit.Calculator{}, bus.Method("Wait", bus.TimeBudget(20*time.Millisecond)))
		err := conn.Call(t.Context(), kit.CalculatorURL+"/wait", nil, nil)
		kit.CheckError(t, err, http.StatusGatewayTimeout, bus.ExecutedYes)
	})
}

func TestHandler_Limit(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		callee := w.Connect(kit.CalculatorHost, bus.WithMaxHandlers(1))
		hold, held := make(chan struct{}), make(chan struct{})
		err := callee.Handle("GET", "/hold", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			held <- struct{}{}
			<-hold
		}))
		require.NoError(t, err)
		caller := w.Connect("caller.example")
		var calls sync.WaitGroup
		calls.Go(func() { kit.Do(t, caller, "GET", kit.CalculatorURL+"/hold", "", "") })
		<-held
		response, body := kit.Do(t, caller, "GET", kit.CalculatorURL+"/hold", "", "")
		assert.Equal(t, 503, response.StatusCode, "beyond the limit")
		assert.Equal(t, "1", response.Header.Get("Retry-After"), "beyond the limit")
		assert.Contains(t, body, "too busy", "beyond the limit")
		if refused := kit.AsBusError(t, caller.Call(t.Context(), "GET "+kit.CalculatorURL+"/hold", nil,
			nil)); refused.RetryAfter != time.Second {
			t.Errorf("beyond the limit: %v, after %s", refused, refused.RetryAfter)
		}
		close(hold)
		calls.Wait()
	})
}

func TestWebHandler(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		callee, caller := w.Connect("web.example"), w.Connect("caller.example")
		err := callee.Handle("", "/files/{dir}/{path+}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("X-Seen", r.Method+" "+r.URL.String())
			w.WriteHeader(http.StatusTeapot)
			fmt.Fprintf(w, "%s|%s|%s|%s", r.PathValue("dir"), r.PathValue("path"), body, r.Header.Get("X-Sent"))
		}))
		require.NoError(t, err)
		response, body := kit.Do(t, caller, "PATCH", "https://web.example/files/a%2Fb/c//d.txt?q=1", "text/plain", "hello")
		assert.Equal(t, http.StatusTeapot, response.StatusCode)
		assert.Equal(t, "a/b|c//d.txt|hello|", body)
		if got := response.Header.Get("X-Seen"); got != "PATCH /files/a%2Fb/c//d.txt?q=1" {
			t.Errorf("the handler saw %q", got)
		}
		response, body = kit.Do(t, caller, "HEAD", "https://web.example/files/a/b", "", "")
		assert.Equal(t, http.StatusTeapot, response.StatusCode, "HEAD")
		assert.Empty(t, body, "HEAD")
		assert.True(t, strings.HasPrefix(response.Header.Get("X-Seen"), "HEAD "), response.Header.Get("X-Seen"))
		response, _ = kit.Do(t, caller, "GET", "https://web.example/files//b", "", "")
		if response.StatusCode != 404 {
			t.Errorf("an empty segment matched {dir}: %d", response.StatusCode)
		}
	})
}

func TestHeaders_OfTheChainAreForwarded(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		front, back := w.Connect("front.example"), w.Connect("back.example")
		seen := make(chan http.Header, 1)
		err := back.Handle("GET", "/", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- r.Header }))
		require.NoError(t, err)
		client := http.Client{Transport: front}
		err = front.Handle("GET", "/", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			request, _ := http.NewRequestWithContext(r.Context(), http.MethodGet, "https://back.example/", nil)
			response, err := client.Do(request)
			if err != nil {
				t.Error(err)
				return
			}
			_ = response.Body.Close()
		}))
		require.NoError(t, err)
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://front.example/", nil)
		request.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
		request.Header.Set("Accept-Language", "de")
		request.Header.Set("X-Private", "stays")
		request.Header["Baggage"] = []string{"a=1", "b=2"}
		response, err := front.Do(request)
		require.NoError(t, err)
		_ = response.Body.Close()
		header := <-seen
		assert.NotEmpty(t, header.Get("Traceparent"))
		assert.Equal(t, "de", header.Get("Accept-Language"))
		assert.Empty(t, header.Get("X-Private"))
		assert.Len(t, header["Baggage"], 2)
	})
}

func TestConformance_MostSpecificEndpoint(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		callee, caller := w.Connect("routes.example"), w.Connect("caller.example")
		for _, route := range []string{"GET /a/{x}", "GET /a/search", "* /a/any", "GET /a/{rest+}", "GET /{x}/b",
			"POST /a/search"} {
			method, path, _ := strings.Cut(route, " ")
			err := callee.Handle(method, path, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(w, route)
			}))
			require.NoError(t, err)
		}
		for call, want := range map[string]string{
			"GET /a/search":  "GET /a/search",
			"POST /a/search": "POST /a/search",
			"GET /a/other":   "GET /a/{x}",
			"GET /a/any":     "* /a/any",
			"GET /a/b":       "GET /a/{x}",
			"GET /z/b":       "GET /{x}/b",
			"GET /a/b/c":     "GET /a/{rest+}",
			"GET /a/":        "GET /a/{rest+}",
		} {
			for range 20 {
				method, path, _ := strings.Cut(call, " ")
				if _, body := kit.Do(t, caller, method, "https://routes.example"+path, "", ""); body != want {
					t.Fatalf("%s answered by %s, want %s", call, body, want)
				}
			}
		}
	})
}

func TestConformance_OverlapWithoutQueueRunsOnce(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		callee, caller := w.Connect("routes.example"), w.Connect("caller.example")
		runs := make(chan string, 100)
		for _, path := range []string{"/a/{x}", "/a/search", "/{x}/search"} {
			err := callee.Handle("GET", path, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { runs <- path }),
				bus.NoQueue())
			require.NoError(t, err)
		}
		for range 10 {
			kit.Do(t, caller, "GET", "https://routes.example/a/search", "", "")
		}
		kit.Do(t, caller, "GET", "https://"+callee.ID()+".routes.example/a/search", "", "")
		if len(runs) != 11 {
			t.Errorf("%d runs for 11 calls", len(runs))
		}
	})
}

package calls_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/bus/wire"
)

// overwritten is how many calls overwrite makes.
const overwritten = 500

// overwrite makes calls that take whatever memory is free.
func overwrite(t *testing.T, conn *bus.Conn) {
	t.Helper()
	double := bus.NewOperation[kit.Single, kit.Doubled](conn, kit.KeeperURL+"/double")
	for n := range overwritten {
		response, err := double.Call(t.Context(), kit.Single{N: n})
		require.NoError(t, err, n)
		require.Equal(t, 2*n, response.Results.Doubled, n)
	}
}

func TestContext_OutlivesItsCall(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		k, caller := kit.NewKeeping(t, w)
		require.NoError(t, caller.Call(t.Context(), kit.KeeperURL+"/keep", nil, nil))
		ctx := <-k.Kept
		before, _ := bus.CallerOf(ctx)
		overwrite(t, w.Connect("other.example"))
		after, ok := bus.CallerOf(ctx)
		require.True(t, ok)
		assert.Equal(t, before, after)
		assert.Equal(t, "caller.example", after.Host)
		if !errors.Is(ctx.Err(), context.Canceled) {
			t.Errorf("the call has ended, and its context says %v", ctx.Err())
		}
	})
}

// TestInterceptors_KeepResponses has interceptors on both sides keep what they have seen, as one that caches would.
func TestInterceptors_KeepResponses(t *testing.T) {
	t.Parallel()
	type seen struct {
		request  *wire.Request
		response *wire.Response
		id       string
	}
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		var mu sync.Mutex // protects kept
		var kept []seen
		keep := bus.WithInterceptors(func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, call *bus.Exchange) error {
				err := next(ctx, call)
				if call.Side == bus.ServerSide {
					call.Response.Header.Add("Kept", call.Request.MsgID)
				}
				mu.Lock()
				defer mu.Unlock()
				kept = append(kept, seen{call.Request, call.Response, call.Request.MsgID})
				return err
			}
		})
		kit.Serve(t, w.Connect("keeper.example", keep), kit.NewKeeper())
		overwrite(t, w.Connect("caller.example", keep))
		mu.Lock()
		defer mu.Unlock()
		for _, call := range kept {
			require.Equal(t, call.id, call.request.MsgID, "%+v, %+v", *call.request, *call.response)
			require.Equal(t, http.StatusOK, call.response.Status, "%+v, %+v", *call.request, *call.response)
			require.Equal(t, call.id, call.response.Header.Get("Kept"), "%+v, %+v", *call.request, *call.response)
		}
	})
}

// TestHandlers_ThatWereLeft has handlers answer while others use what memory is free.
func TestHandlers_ThatWereLeft(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		k, caller := kit.NewKeeping(t, w)
		slowly := bus.NewOperation[kit.Single, kit.Doubled](caller, kit.KeeperURL+"/double-slowly")
		var leaving sync.WaitGroup
		for n := range 16 {
			ctx, leave := context.WithCancel(t.Context())
			leaving.Go(func() {
				if response, err := slowly.Call(ctx, kit.Single{N: n}); err == nil {
					t.Errorf("a call that was left is answered: %+v", response)
				}
			})
			<-k.Entered
			leave()
		}
		leaving.Wait()
		close(k.Release)
		var calling sync.WaitGroup
		for range 4 {
			calling.Go(func() { overwrite(t, caller) })
		}
		calling.Wait()
	})
}

// TestCall_Memory holds how many bytes a call takes, on both sides together: the least of many calls, as the collector,
// and the race detector, take something out of the pools now and then. Without them a call takes 1650.
func TestCall_Memory(t *testing.T) { //nolint:paralleltest // counts the allocations of the whole process
	const most = 200
	w := kit.Transports()["short circuit"](newUncheckedBus(t))
	_, caller := kit.NewKeeping(t, w)
	overwrite(t, caller)
	double := bus.NewOperation[kit.Single, kit.Doubled](caller, kit.KeeperURL+"/double")
	least := uint64(math.MaxUint64)
	for range 200 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := double.Call(t.Context(), kit.Single{N: 21})
		require.NoError(t, err)
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	if least > most {
		t.Errorf("a call takes %d bytes, want %d at most", least, most)
	}
	t.Log(least)
}

// gated has handlers that end when they are told.
type gated struct {
	entered chan int
	release [3]chan struct{}
}

func (g *gated) Double(n int) (doubled int) {
	g.entered <- n
	<-g.release[n]
	return 2 * n
}

// TestHandlers_ThatAnInterceptorLeft has an interceptor of the server give up on a handler, which ends while a later
// call of the same caller is under way.
func TestHandlers_ThatAnInterceptorLeft(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		g := &gated{make(chan int, 1), [3]chan struct{}{nil, make(chan struct{}), make(chan struct{})}}
		ended, goOn := make(chan struct{}), make(chan struct{})
		first := make(chan bool, 1)
		impatient := func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, call *bus.Exchange) error {
				if <-first {
					go func() {
						_ = next(ctx, call)
						ended <- struct{}{}
					}()
					if n := <-g.entered; n != 1 {
						t.Errorf("a handler runs with the arguments of another call, %d", n)
					}
					return bus.Errorf(http.StatusGatewayTimeout, "it takes too long")
				}
				err := next(ctx, call)
				ended <- struct{}{}
				<-goOn
				return err
			}
		}
		kit.Serve(t, w.Connect("keeper.example"), g, bus.Intercept(impatient))
		double := bus.NewOperation[kit.Single, kit.Doubled](w.Connect("caller.example"), kit.KeeperURL+"/double")
		for range 50 {
			first <- true
			if _, err := double.Call(t.Context(), kit.Single{N: 1}); bus.StatusOf(err) != http.StatusGatewayTimeout {
				t.Fatal(err)
			}
			first <- false
			called := make(chan struct{})
			go func() {
				defer close(called)
				response, err := double.Call(t.Context(), kit.Single{N: 2})
				assert.NoError(t, err)
				assert.Equal(t, 4, response.Results.Doubled)
			}()
			<-g.entered
			g.release[2] <- struct{}{}
			<-ended // the handler of the second call
			g.release[1] <- struct{}{}
			<-ended // that of the first
			goOn <- struct{}{}
			<-called
		}
	})
}

// gauge takes and returns nothing by reference, so that its calls can do without text.
type gauge struct{ release chan struct{} }

type spot struct {
	Row   int
	Label string
}

func (gauge) Echo(text string, small int8, count uint, ratio float64, flag bool,
	at spot) (echoed string, tiny int8, much uint, part float64, there spot) {
	if flag {
		part = -ratio
	}
	return text, small, count, part, at
}

func (gauge) Nothing()                                {}
func (gauge) Infinite() (part float64)                { return math.Inf(1) }
func (gauge) Garbled() (text string)                  { return "\xff" }
func (gauge) Long(length int) (text string)           { return strings.Repeat("\x01", length) }
func (gauge) Fail(text string) (same string, _ error) { return "", bus.Errorf(418, "no %s", text) }
func (gauge) List(list []int) (sum int)               { return len(list) }

// Late answers when no caller waits any more.
func (g gauge) Late() (text string) {
	<-g.release
	return "too late"
}

const gaugeURL = "https://gauge.example"

type gauged struct {
	Echoed string  `json:"echoed"`
	Tiny   int8    `json:"tiny"`
	Much   uint    `json:"much"`
	Part   float64 `json:"part"`
	There  spot    `json:"there"`
}

// gaugeCalls are calls that take the short way where they can, and others that look like them.
func gaugeCalls(ctx context.Context, conn *bus.Conn) map[string]func() (any, error) {
	call := func(path string, arguments, result any) func() (any, error) {
		return func() (any, error) {
			err := conn.Call(ctx, gaugeURL+path, arguments, result)
			return result, err
		}
	}
	type arguments struct {
		Text  string  `json:"text"`
		Small int8    `json:"small"`
		Count uint    `json:"count,omitempty"`
		Ratio float64 `json:"ratio"`
		Flag  bool    `json:"flag"`
		At    spot    `json:"at"`
		Else  int     `json:"Else"`
	}
	full := arguments{"a\x00é\u2028<", -5, 7, -0.1, true, spot{3, "b"}, 9}
	operation := bus.NewOperation[arguments, gauged](conn, gaugeURL+"/echo")
	infinite := bus.NewOperation[struct{}, struct{}](conn, gaugeURL+"/infinite")
	fail := bus.NewOperation[arguments, struct{}](conn, gaugeURL+"/fail")
	return map[string]func() (any, error){
		"struct":  call("/echo", full, &gauged{}),
		"pointer": call("/echo", &full, &gauged{}),
		"members": call("/echo", bus.Args{"text": "a", "small": -5, "count": int64(7), "ratio": 1.5,
			"flag": true, "else": 1}, &gauged{}),
		"map":                     call("/echo", map[string]any{"text": "a"}, &gauged{}),
		"nothing":                 call("/echo", nil, &gauged{}),
		"nil pointer":             call("/echo", (*arguments)(nil), &gauged{}),
		"no arguments, no result": call("/nothing", nil, nil),
		"filled before":           call("/echo", bus.Args{"text": "a"}, &gauged{Echoed: "x", Part: 3}),
		"another case, a part":    call("/echo", full, &struct{ ECHOED, Missing string }{Missing: "there"}),
		"another type":            call("/echo", full, &struct{ Tiny float64 }{}),
		"a type that misfits":     call("/echo", full, &struct{ Tiny string }{}),
		"into a map":              call("/echo", full, &map[string]any{}),
		"into anything":           call("/echo", full, new(any)),
		"number for a text":       call("/echo", bus.Args{"text": 5}, &gauged{}),
		"fraction":                call("/echo", bus.Args{"small": 1.5}, &gauged{}),
		"whole fraction":          call("/echo", bus.Args{"small": 2.0}, &gauged{}),
		"out of range":            call("/echo", bus.Args{"small": 200}, &gauged{}),
		"negative":                call("/echo", bus.Args{"count": -1}, &gauged{}),
		"whole for a fraction":    call("/echo", bus.Args{"ratio": 5}, &gauged{}),
		"not a number":            call("/echo", bus.Args{"ratio": math.NaN()}, &gauged{}),
		"garbled":                 call("/echo", bus.Args{"text": "\xff"}, &gauged{}),
		"garbled, unknown":        call("/echo", bus.Args{"unknown": "\xff"}, &gauged{}),
		"garbled field":           call("/echo", arguments{At: spot{Label: "\xff"}}, &gauged{}),
		"unknown channel":         call("/echo", bus.Args{"unknown": make(chan int)}, &gauged{}),
		"wrong case":              call("/echo", bus.Args{"TEXT": "a"}, &gauged{}),
		"null":                    call("/echo", bus.Args{"text": nil}, &gauged{}),
		"magic":                   call("/echo", bus.Args{"httpRequestBody": "a"}, &gauged{}),
		"too long":                call("/echo", bus.Args{"text": strings.Repeat("a", 5<<20)}, &gauged{}),
		"too long as text":        call("/echo", bus.Args{"text": strings.Repeat("\x01", 1<<20)}, &gauged{}),
		"long answer":             call("/long", bus.Args{"length": 1 << 20}, &struct{ Text string }{}),
		"too long answer":         call("/long", bus.Args{"length": 6 << 20}, &struct{ Text string }{}),
		"infinite":                call("/infinite", nil, &struct{ Part float64 }{}),
		"infinite for nobody":     call("/infinite", nil, nil),
		"garbled answer":          call("/garbled", nil, &struct{ Text string }{}),
		"failed":                  call("/fail", bus.Args{"text": "tea"}, &struct{ Same string }{}),
		"list":                    call("/list", bus.Args{"list": []int{1, 2}}, &struct{ Sum int }{}),
		"list of anything":        call("/list", bus.Args{"list": "a"}, &struct{ Sum int }{}),
		"GET":                     func() (any, error) { return nil, conn.Call(ctx, "GET "+gaugeURL+"/echo", full, nil) },
		"wrong path":              call("/none", full, &gauged{}),
		"query":                   call("/echo?text=a&small=3", nil, &gauged{}),
		"query and members":       call("/echo?text=a&small=3", bus.Args{"small": 4}, &gauged{}),
		"operation":               func() (any, error) { return anyOf(operation.Call(ctx, full)) },
		"operation, garbled":      func() (any, error) { return anyOf(operation.Call(ctx, arguments{Text: "\xff"})) },
		"operation, infinite":     func() (any, error) { return anyOf(infinite.Call(ctx, struct{}{})) },
		"operation, failed":       func() (any, error) { return anyOf(fail.Call(ctx, arguments{Text: "tea"})) },
	}
}

// anyOf returns what does not differ from call to call.
func anyOf[R any](response bus.Response[R], err error) (any, error) {
	return fmt.Sprintf("%s %d %+v", response.Host, response.Status, response.Results), err
}

// TestValues_AreLikeText makes the same calls over each transport: all have to come out as over the broker.
func TestValues_AreLikeText(t *testing.T) {
	t.Parallel()
	outcomes := make(map[string]map[string]string)
	for name, transport := range kit.Transports() {
		w := transport(bustest.New(t))
		w.AllowUnknownFields()
		kit.Serve(t, w.Connect("gauge.example"), gauge{})
		caller := w.Connect("caller.example")
		outcomes[name] = make(map[string]string)
		for called, call := range gaugeCalls(t.Context(), caller) {
			outcomes[name][called] = outcomeOf(call())
		}
	}
	for name, some := range outcomes {
		for called, got := range some {
			if want := outcomes["broker"][called]; got != want {
				t.Errorf("%s, %s: %.500s, over the broker %.500s", name, called, got, want)
			}
		}
	}
	if good := outcomes["broker"]["struct"]; !strings.Contains(good, "{Row:3 Label:b}") {
		t.Errorf("nothing was echoed: %s", good)
	}
}

func outcomeOf(result any, err error) string {
	if anything, ok := result.(*any); ok {
		result = *anything
	}
	failed, ok := errors.AsType[*bus.Error](err)
	if !ok {
		return fmt.Sprintf("%+v, %v", result, err)
	}
	detail := failed.Detail
	if failed.Status == http.StatusRequestEntityTooLarge {
		detail = "" // over the broker it is refused before all of it has come
	}
	return fmt.Sprintf("%+v, %d %s %v", result, failed.Status, detail, failed.Executed)
}

// TestValues_HaveTheHeaderOfText looks at the header of a response, which says what its body is, even if that was never
// written.
func TestValues_HaveTheHeaderOfText(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		kit.Serve(t, w.Connect("gauge.example"), gauge{})
		var header http.Header
		ctx := bus.CaptureResponseHeader(t.Context(), &header)
		require.NoError(t, w.Connect("caller.example").Call(ctx, gaugeURL+"/nothing", nil, nil))
		if want := (http.Header{"Content-Type": {"application/json"}}); !maps.EqualFunc(header, want, slices.Equal) {
			t.Errorf("got %v, want %v", header, want)
		}
	})
}

// TestValues_KeepToTheLimitOfTheCaller calls a service that takes and sends more than its caller: what would be too
// large as text for the caller is, whichever way it travels.
func TestValues_KeepToTheLimitOfTheCaller(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		const limit = 64 << 10
		kit.Serve(t, w.Connect("gauge.example"), gauge{})
		caller := w.Connect("caller.example", bus.WithMaxMessageBytes(limit))
		for _, call := range []struct {
			name      string
			path      string
			arguments bus.Args
			executed  bus.Executed
		}{
			{"the request", "/echo", bus.Args{"text": strings.Repeat("a", limit)}, bus.ExecutedNo},
			{"the response", "/long", bus.Args{"length": limit / 2}, bus.ExecutedYes},
		} {
			t.Run(call.name, func(t *testing.T) {
				err := caller.Call(t.Context(), gaugeURL+call.path, call.arguments, &struct{ Text string }{})
				kit.CheckError(t, err, http.StatusRequestEntityTooLarge, call.executed)
			})
		}
	})
}

// TestCall_LateValuesAreIgnored has a handler answer when its caller has left: nothing is filled any more.
func TestCall_LateValuesAreIgnored(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		release := make(chan struct{})
		kit.Serve(t, b.Connect("gauge.example"), gauge{release})
		caller := b.Connect("caller.example")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		result := struct{ Text string }{"before"}
		kit.WantFailed(t, "the call", caller.Call(ctx, gaugeURL+"/late", nil, &result), 504, bus.ErrTimeout,
			context.DeadlineExceeded)
		close(release)
		synctest.Wait()
		if result.Text != "before" {
			t.Errorf("the result became %q", result.Text)
		}
	})
}

package bus_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/test/kit"
)

// TestMetrics_OfOneName counts the requests of endpoints that have the same name together: the format permits a series
// once.
func TestMetrics_OfOneName(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	callee := b.Connect(kit.CalculatorHost)
	caller := b.Connect("caller.example")
	for _, port := range []int{443, 444} {
		kit.Serve(t, callee, kit.Calculator{ID: callee.ID()}, bus.Port(port))
		require.NoError(t, callee.Handle(http.MethodGet, "/x", http.NotFoundHandler(), bus.Port(port)))
	}
	kit.Serve(t, callee, twofold{}, bus.Method("ReadNote", bus.RPCAndREST()))
	for _, address := range []string{
		kit.CalculatorURL + "/add", kit.CalculatorURL + ":444/add", kit.CalculatorURL + ":444/add",
		"GET " + kit.CalculatorURL + "/x", "GET " + kit.CalculatorURL + ":444/x",
		kit.CalculatorURL + "/read-note", "GET " + kit.CalculatorURL + "/notes/{id}",
	} {
		_ = caller.Call(t.Context(), address, bus.Args{"id": 1}, nil)
	}
	for _, source := range []string{kit.OrdersHost, "returns.example"} {
		require.NoError(t, events.Subscribe[kit.OrderEvents](callee, source, kit.NewSink()))
		publisher, err := events.NewPublisher(caller, source)
		require.NoError(t, err)
		for _, err := range events.NewEvent[kit.Ordered](publisher, "/on-ordered").Outcomes(t.Context(),
			kit.Ordered{Number: 7}) {
			assert.NoError(t, err)
		}
	}
	page, own := httptest.NewRecorder(), httptest.NewRecorder()
	bus.MetricsHandler(callee).ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	callee.ServeMetrics(own, nil)
	if page.Code != http.StatusOK {
		t.Fatalf("answered %d, %s", page.Code, page.Body)
	}
	instance := `{host="` + kit.CalculatorHost + `",id="` + callee.ID() + `",`
	for of, text := range map[string]string{"MetricsHandler": page.Body.String(), "ServeMetrics": own.Body.String()} {
		for series, want := range map[string]string{
			`busline_server_duration_seconds_count` + instance +
				`endpoint="Calculator.Add",caller="caller.example"} `: "3",
			`busline_server_duration_seconds_count` + instance +
				`endpoint="twofold.ReadNote",caller="caller.example"} `: "2",
			`busline_server_duration_seconds_count` + instance +
				`endpoint="OrderEvents.OnOrdered",caller="caller.example"} `: "2",
			`busline_server_refused_total` + instance + `endpoint="GET /x",caller="caller.example"} `: "2",
		} {
			assert.Equal(t, 1, strings.Count(text, series), of)
			assert.Contains(t, text, series+want+"\n", of)
		}
	}
}

// twofold has a method that can be served as RPC and as REST.
type twofold struct{}

func (twofold) ReadNote(id int) (text string) { return "" }

// TestMetrics_InventedHostsAreNotCounted has a caller be asked for many hosts that are not there, as an ingress is.
// They fill neither its counters, and a host that is there is counted under its name.
func TestMetrics_InventedHostsAreNotCounted(t *testing.T) {
	t.Parallel()
	const madeUp, most = 300, 200
	b := kit.NewBus(t)
	caller := b.Connect("caller.example")
	callee := b.Connect(kit.CalculatorHost)
	kit.Serve(t, callee, kit.Calculator{ID: callee.ID()})
	var calls sync.WaitGroup
	for i := range madeUp {
		calls.Go(func() {
			_ = caller.Call(t.Context(), fmt.Sprintf("https://made-up-%d.example/x", i), nil, nil)
		})
	}
	calls.Wait()
	kit.Add(t, caller, kit.CalculatorHost)
	found := false
	made := caller.Traffic().Made
	for _, each := range made {
		found = found || each.Callee == kit.CalculatorHost && each.Total() == 1
	}
	require.True(t, found)
	assert.LessOrEqual(t, len(made), most)
}

// TestTraffic_WithOneInstance counts calls to a certain instance as calls to its host, whatever becomes of them:
// instances come and go, and each would take a label of its own.
func TestTraffic_WithOneInstance(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		for _, shortCircuit := range []bool{true, false} {
			callee := b.Connect(kit.CalculatorHost)
			kit.Serve(t, callee, kit.Calculator{ID: callee.ID()}, bus.Method("Who", bus.NoQueue()))
			caller := b.Connect("caller.example", kit.WithShortCircuit(shortCircuit))
			one := callee.ID() + "." + kit.CalculatorHost
			kit.MulticastIDs(t, caller, "https://"+one+"/who")
			kit.Add(t, caller, one)
			soon, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := caller.Call(soon, "https://"+one+"/wait", nil, nil); bus.StatusOf(err) != http.StatusGatewayTimeout {
				t.Error(err)
			}
			cancel()
			made := caller.Traffic().Made
			require.Len(t, made, 1, "short circuit %t", shortCircuit)
			assert.Equal(t, kit.CalculatorHost, made[0].Callee, "short circuit %t", shortCircuit)
			assert.Equal(t, int64(3), made[0].Total(), "short circuit %t", shortCircuit)
			assert.Equal(t, int64(1), made[0].Failed, "short circuit %t", shortCircuit)
		}
	})
}

// TestTraffic_WithoutTheFramework leaves out what is asked on port 888, the collector of metrics included.
func TestTraffic_WithoutTheFramework(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		caller, _ := kit.NewCalculator(t, w)
		kit.Do(t, caller, http.MethodGet, kit.CalculatorURL+":888/metrics", "", "")
		_ = caller.Call(t.Context(), "GET https://nobody.example:888/ping", nil, nil)
		for _, err := range caller.Multicast(kit.MustRequest(t, "https://all:888/ping")) {
			assert.NoError(t, err)
		}
		if made := caller.Traffic().Made; len(made) > 0 {
			t.Errorf("%+v", made)
		}
	})
}

// TestTraffic_TellsThePortOfDocuments has a service on two ports, each with a document of its own.
func TestTraffic_TellsThePortOfDocuments(t *testing.T) {
	t.Parallel()
	b := kit.NewBus(t)
	callee := b.Connect(kit.CalculatorHost)
	kit.Serve(t, callee, kit.Calculator{ID: callee.ID()}, bus.Method("Who", bus.Port(444)))
	var ports []int
	for _, served := range callee.Traffic().Served {
		if served.Path == "/openapi.json" {
			ports = append(ports, served.Port)
		}
	}
	if !slices.Equal(ports, []int{443, 444}) {
		t.Errorf("documents on ports %v", ports)
	}
}

// TestStats_CountInterceptedCalls holds that a call counts once, whatever the caller's own interceptors do with it.
func TestStats_CountInterceptedCalls(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		b.NewCalculators(2)
		interceptors := map[string]bus.Interceptor{
			"none": func(next bus.CallFunc) bus.CallFunc { return next },
			"one that calls next twice": func(next bus.CallFunc) bus.CallFunc {
				return func(ctx context.Context, call *bus.Exchange) error {
					if err := next(ctx, call); err != nil {
						return err
					}
					return next(ctx, call)
				}
			},
			"one that refuses": func(bus.CallFunc) bus.CallFunc {
				return func(context.Context, *bus.Exchange) error {
					return bus.Errorf(http.StatusServiceUnavailable, "the circuit is open")
				}
			},
		}
		for name, interceptor := range interceptors {
			caller := b.Connect("caller.example", bus.WithInterceptors(interceptor))
			for _, test := range []struct {
				name  string
				make  func()
				count int64
			}{
				{"a call", func() { _ = caller.Call(t.Context(), kit.CalculatorURL+"/add", bus.Args{"x": 1, "y": 2}, nil) }, 1},
				{"an http.Request", func() { _, _ = caller.Do(kit.MustRequest(t, kit.CalculatorURL+"/add")) }, 1}, //nolint:bodyclose // it is in memory
				{"unwritable arguments", func() {
					_ = caller.Call(t.Context(), kit.CalculatorURL+"/add",
						bus.Args{"x": make(chan int)}, nil)
				}, 0},
				{"a multicast", func() {
					for _, err := range caller.Multicast(kit.MustRequest(t, kit.CalculatorURL+"/who")) {
						_ = err
					}
				}, 1},
				{"an event", func() { _ = events.Publish(t.Context(), caller, "https://"+kit.OrdersHost+":417/on-ordered", nil) },
					1},
			} {
				if name == "one that refuses" && test.name == "unwritable arguments" {
					continue // which of both refuses it first depends on where the callee is
				}
				before := caller.Stats().Calls
				test.make()
				if made := caller.Stats().Calls - before; made != test.count {
					t.Errorf("%s with %s: counted %d times, want %d", test.name, name, made, test.count)
				}
			}
		}
	})
}

// quitter ends with its caller.
type quitter struct{}

func (quitter) Wait(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func (quitter) Fail(ctx context.Context) error {
	<-ctx.Done()
	return errors.New("the disk is full")
}

func (quitter) Tick(ctx context.Context) iter.Seq2[kit.Tick, error] {
	return func(yield func(kit.Tick, error) bool) {
		if yield(kit.Tick{}, nil) {
			<-ctx.Done()
			yield(kit.Tick{}, ctx.Err())
		}
	}
}

func (quitter) TickOn(context.Context) iter.Seq2[kit.Tick, error] {
	return func(yield func(kit.Tick, error) bool) {
		for yield(kit.Tick{}, nil) {
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// TestTraffic_CallerLeaves holds that a handler that ends because its caller left has not failed, and one with another
// reason has.
func TestTraffic_CallerLeaves(t *testing.T) {
	t.Parallel()
	for path, failed := range map[string]int64{"/wait": 0, "/fail": 1, "/tick": 0, "/tick-on": 0, "/abort": 0} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
				log := new(kit.Lines)
				callee := b.Connect("quitter.example", bus.WithLogger(zerolog.New(log)))
				kit.Serve(t, callee, quitter{})
				require.NoError(t, callee.Handle("POST", "/abort", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					<-r.Context().Done()
					panic(http.ErrAbortHandler)
				})))
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				for _, err := range bus.NewOperation[struct{}, kit.Tick](b.Connect("caller.example"),
					"POST https://quitter.example"+path).Stream(ctx, struct{}{}) {
					if err == nil {
						continue
					}
					assert.Equal(t, http.StatusServiceUnavailable, bus.StatusOf(err))
				}
				synctest.Wait()
				time.Sleep(time.Second)
				for _, served := range callee.Traffic().Served {
					if served.Path == path {
						assert.Equal(t, int64(1), served.Total())
						assert.Equal(t, failed, served.Failed)
						assert.Zero(t, served.Refused)
					}
				}
				bus.FlushLog(callee)
				assert.Equal(t, failed == 1, log.Count(`"level":"error"`) > 0, log)
			})
		})
	}
}

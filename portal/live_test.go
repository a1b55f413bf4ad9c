package portal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/examples/payroll/payrollsvc"
	"github.com/busline/busline/portal"
	"github.com/busline/busline/portal/internal/portaltest"
)

// liveAnswer is the response of /live.json.
type liveAnswer struct {
	Taken    time.Time
	Window   float64
	Services map[string]*liveService // by host
	Edges    map[string]*liveEdge    // by "from to"
	Lost     []struct {
		From, To string
		Calls    int64
		Rate     float64
	}
	LeftOut []string
}

type liveService struct {
	Ports     []int
	Instances []struct {
		ID, Version string
		Started     *time.Time
	}
	liveFigures
}

type liveEdge struct {
	From, To   string
	Operations []struct {
		Name, Path string
		Port       int
		liveFigures
	}
	liveFigures
}

type liveFigures struct {
	Calls, Refused, Failed int64
	Recent                 struct {
		Calls, Refused, Failed        int64
		Rate, RefusedRate, FailedRate float64
		P50, P99                      *float64
	}
}

// names returns the hosts that are shown.
func (l liveAnswer) names() string {
	return strings.Join(slices.Sorted(maps.Keys(l.Services)), " ")
}

// edge returns the edge between two hosts, nil if there is none.
func (l liveAnswer) edge(from, to string) *liveEdge { return l.Edges[from+" "+to] }

// watched is a portal on a bus, which the test calls over the bus.
type watched struct {
	t      *testing.T
	bus    *bustest.Bus
	viewer *bus.Conn
}

// watch serves a portal.
func watch(t *testing.T, b *bustest.Bus, options ...bus.ConnectOption) *watched {
	t.Helper()
	require.NoError(t, portal.Register(b.Connect("portal", options...)))
	return &watched{t, b, b.Connect("viewer.example")}
}

// get requests the traffic with the given header of the caller.
func (w *watched) get(header string) (status int, body string) {
	w.t.Helper()
	return w.getPath("/live.json", header)
}

// getPath requests a document of the portal.
func (w *watched) getPath(path, header string) (status int, body string) {
	w.t.Helper()
	token := strings.TrimPrefix(header, "Authorization: Bearer ")
	request, err := http.NewRequestWithContext(bus.WithActor(w.t.Context(), token), http.MethodGet,
		"https://portal"+path, http.NoBody)
	require.NoError(w.t, err)
	response, err := w.viewer.Do(request)
	require.NoError(w.t, err)
	defer response.Body.Close()
	got := new(strings.Builder)
	require.NoError(w.t, response.Write(got))
	_, body, _ = strings.Cut(got.String(), "\r\n\r\n")
	return response.StatusCode, body
}

// look requests the traffic as a caller, "" for an anonymous one.
func (w *watched) look(header string) (got liveAnswer) {
	w.t.Helper()
	status, body := w.get(header)
	err := json.Unmarshal([]byte(body), &got)
	require.NoError(w.t, err, body)
	require.Equal(w.t, http.StatusOK, status, body)
	return got
}

// call makes a number of calls, and ignores their results.
func call(t *testing.T, caller *bus.Conn, times int, address string) {
	t.Helper()
	for range times {
		_ = caller.Call(t.Context(), address, nil, nil)
	}
}

// counter is a service whose calls end in every way.
type counter struct{}

// Slow takes 30 ms.
func (counter) Slow() { time.Sleep(30 * time.Millisecond) }

// Refused is never allowed.
func (counter) Refused() error { return bus.Errorf(http.StatusConflict, "no") }

// Failed fails.
func (counter) Failed() error { return bus.Errorf(http.StatusBadGateway, "no") }

// Page is a handler.
func (counter) Page(w http.ResponseWriter, r *http.Request) { portaltest.Echo(w, r) }

func serveCounter(t *testing.T, conn *bus.Conn, options ...bus.ServeOption) {
	t.Helper()
	require.NoError(t, bus.Serve(conn, counter{}, options...))
}

// TestLive watches calls for a while.
func TestLive(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		caller, callee := b.Connect("caller.example"), b.Connect("counter.example", bus.WithVersion("7"))
		serveCounter(t, callee)
		call(t, caller, 5, "https://counter.example/slow")
		call(t, b.Connect("reader.example"), 2, "GET https://counter.example/page")
		w := watch(t, b)
		first := w.look("")
		require.Zero(t, first.Window)
		require.Equal(t, "counter.example", first.names())
		require.Len(t, first.Services["counter.example"].Instances, 1)
		instance := first.Services["counter.example"].Instances[0]
		assert.Equal(t, callee.ID(), instance.ID)
		assert.Equal(t, "7", instance.Version)
		require.NotNil(t, instance.Started)
		assert.Equal(t, "[443]", fmt.Sprint(first.Services["counter.example"].Ports))
		edge := first.edge("caller.example", "counter.example")
		require.NotNil(t, edge, "what was before is recent")
		assert.Equal(t, int64(5), edge.Calls, "what was before is recent")
		assert.Zero(t, edge.Recent.Calls, "what was before is recent")
		assert.Nil(t, edge.Recent.P50, "what was before is recent")
		edge = first.edge("reader.example", "counter.example")
		require.NotNil(t, edge)
		assert.Equal(t, int64(2), edge.Calls)
		assert.Equal(t, "counter.Page", edge.Operations[0].Name)
		for range 20 {
			time.Sleep(time.Second)
			call(t, caller, 2, "https://counter.example/slow")
			call(t, caller, 1, "https://counter.example/refused")
			call(t, caller, 1, "https://counter.example/failed")
			w.look("")
		}
		time.Sleep(time.Second)
		got := w.look("")
		edge = got.edge("caller.example", "counter.example")
		require.GreaterOrEqual(t, got.Window, float64(13))
		require.LessOrEqual(t, got.Window, float64(15))
		require.NotNil(t, edge)
		require.Len(t, edge.Operations, 3)
		assert.Equal(t, int64(85), edge.Calls)
		assert.Equal(t, int64(20), edge.Refused)
		assert.Equal(t, int64(20), edge.Failed)
		assert.Equal(t, 4*edge.Recent.Failed, edge.Recent.Calls)
		rate := edge.Recent.Rate
		assert.GreaterOrEqual(t, rate, float64(3))
		assert.LessOrEqual(t, rate, 4.5)
		assert.Equal(t, rate, edge.Recent.FailedRate*4)
		assert.Equal(t, rate, edge.Recent.RefusedRate*4)
		slow := edge.Operations[2]
		assert.Equal(t, "counter.Slow", slow.Name)
		assert.Equal(t, "/slow", slow.Path)
		assert.Equal(t, 443, slow.Port)
		assert.Equal(t, int64(45), slow.Calls)
		assert.Zero(t, slow.Failed)
		p50, p99 := slow.Recent.P50, slow.Recent.P99
		require.NotNil(t, p50, slow.Recent)
		assert.GreaterOrEqual(t, *p50, 0.025, slow.Recent)
		assert.LessOrEqual(t, *p50, 0.05, slow.Recent)
		assert.GreaterOrEqual(t, *p99, *p50, slow.Recent)
		assert.LessOrEqual(t, *p99, 0.05, slow.Recent)
		sum := got.Services["counter.example"].liveFigures
		assert.Equal(t, int64(87), sum.Calls)
		assert.Equal(t, edge.Recent.Calls, sum.Recent.Calls)
		time.Sleep(time.Minute) // no page is open
		late := w.look("")
		assert.Zero(t, late.Window, "after a minute")
		assert.Zero(t, late.edge("caller.example", "counter.example").Recent.Calls, "after a minute")
	})
}

// TestLiveOf_InstancesThatComeAndGo starts and stops instances while a page is open.
func TestLiveOf_InstancesThatComeAndGo(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		caller := b.Connect("caller.example")
		w := watch(t, b)
		got := w.look("")
		require.Empty(t, got.Services, "without a token")
		require.Empty(t, got.Edges, "without a token")
		require.Empty(t, got.Lost, "without a token")
		time.Sleep(2 * time.Second)
		stays, leaves := b.Connect("counter.example"), b.Connect("counter.example")
		serveCounter(t, stays)
		serveCounter(t, leaves)
		call(t, caller, 3, "https://"+stays.ID()+".counter.example/slow")
		call(t, caller, 4, "https://"+leaves.ID()+".counter.example/slow")
		edge := w.look("").edge("caller.example", "counter.example")
		require.NotNil(t, edge, "of those who just came")
		require.Equal(t, int64(7), edge.Calls, "of those who just came")
		require.Equal(t, int64(7), edge.Recent.Calls, "of those who just came")
		require.NoError(t, leaves.Close(t.Context()))
		call(t, caller, 1, "https://"+leaves.ID()+".counter.example/slow")
		time.Sleep(2 * time.Second)
		got = w.look("")
		edge = got.edge("caller.example", "counter.example")
		assert.Equal(t, int64(3), edge.Calls, "one has left")
		assert.Equal(t, int64(7), edge.Recent.Calls, "one has left")
		assert.Len(t, got.Services["counter.example"].Instances, 1, "one has left")
		require.Len(t, got.Lost, 1, "a call of the one that has left")
		assert.Equal(t, "counter.example", got.Lost[0].To, "a call of the one that has left")
		assert.Equal(t, int64(1), got.Lost[0].Calls, "a call of the one that has left")
		require.NoError(t, stays.Close(t.Context()))
		call(t, caller, 2, "https://counter.example/slow")
		call(t, caller, 5, "https://never.example/slow")
		time.Sleep(2 * time.Second)
		got = w.look("")
		assert.Zero(t, len(got.Services)+len(got.Edges), "all have left")
		require.Len(t, got.Lost, 1, "all have left")
		assert.Equal(t, "caller.example", got.Lost[0].From, "all have left")
		assert.Equal(t, int64(3), got.Lost[0].Calls, "all have left")
		assert.Positive(t, got.Lost[0].Rate, "all have left")
		again := b.Connect("counter.example")
		serveCounter(t, again)
		call(t, caller, 6, "https://counter.example/slow")
		time.Sleep(2 * time.Second)
		edge = w.look("").edge("caller.example", "counter.example")
		require.NotNil(t, edge, "it came again")
		assert.Equal(t, int64(6), edge.Calls, "it came again")
		assert.Equal(t, int64(13), edge.Recent.Calls, "it came again")
		time.Sleep(14 * time.Second)
		w.look("")
		time.Sleep(3 * time.Second)
		edge = w.look("").edge("caller.example", "counter.example")
		require.NotNil(t, edge, "much later")
		assert.Equal(t, int64(6), edge.Calls, "much later")
		assert.Zero(t, edge.Recent.Calls, "much later")
	})
}

// TestLive_SlowLook holds that a look that takes long keeps readers waiting for half a second, but for the first one.
func TestLive_SlowLook(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		portaltest.NewForeignInstance(t, b, "foreign.example").Tells("/traffic", "hang")
		w := watch(t, b)
		first := w.look("")
		look := func() time.Duration {
			asked := time.Now()
			got := w.look("")
			assert.Equal(t, first.Taken, got.Taken)
			assert.Equal(t, "foreign.example", got.names())
			return time.Since(asked)
		}
		time.Sleep(time.Second)
		assert.Equal(t, 500*time.Millisecond, look(), "it starts a look")
		assert.Zero(t, look(), "it finds one that runs")
		time.Sleep(2 * time.Second)
		assert.True(t, w.look("").Taken.After(first.Taken), "the look has ended")
		time.Sleep(time.Minute)
		asked := time.Now()
		w.look("")
		assert.GreaterOrEqual(t, time.Since(asked), time.Second, "the last view is too old")
	})
}

// TestLive_LostCallsOfShownServices names no host that the viewer has not been shown.
func TestLive_LostCallsOfShownServices(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		caller := b.Connect("counter.example")
		serveCounter(t, caller)
		w := watch(t, b)
		w.look("")
		call(t, caller, 3, "https://canary-one.example/slow")
		call(t, caller, 1, "https://canary-two.example/slow")
		call(t, b.Connect("canary-caller.example"), 2, "https://canary-two.example/slow")
		time.Sleep(2 * time.Second)
		got := w.look("")
		require.Len(t, got.Lost, 1)
		assert.Equal(t, "counter.example", got.Lost[0].From)
		assert.Empty(t, got.Lost[0].To)
		assert.Equal(t, int64(4), got.Lost[0].Calls)
		if _, body := w.get(""); strings.Contains(body, "canary") {
			t.Error(body)
		}
	})
}

// TestLive_IsFiltered shows to each caller what its document shows, and no byte of anything else.
func TestLive_IsFiltered(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, checkFilter)
}

func checkFilter(t *testing.T, b *bustest.Bus) {
	t.Helper()
	i := portaltest.NewIssuer(t)
	w := watch(t, b, i.Trust())
	payroll := b.Connect("payroll.example", i.Trust(), bus.WithVersion("canary-version"))
	require.NoError(t, payrollsvc.Serve(payroll))
	hidden := b.Connect("canary.example", i.Trust())
	serveCounter(t, hidden, bus.RequireClaims(`"keeper" in roles`))
	internal := b.Connect("canary-internal.example")
	serveCounter(t, internal, bus.Port(444))
	web := b.Connect("web.example", i.Trust())
	for route, options := range map[string][]bus.HandleOption{
		"* /open": nil, "GET /hidden-canary": {bus.Undocumented()}, "GET /both": {bus.RequireClaims(`"keeper" in roles`)},
		"* /both":           nil,
		"GET /files/{name}": {bus.RequireClaims(`"keeper" in roles`)}, "GET /files/{path+}": nil,
	} {
		method, path, _ := strings.Cut(route, " ")
		require.NoError(t, web.Handle(method, path, http.HandlerFunc(portaltest.Echo), options...))
	}
	clerk := bus.WithActor(t.Context(), strings.TrimPrefix(i.Bearer(map[string]any{"roles": []string{"hr"}, "level": 3}),
		"Authorization: Bearer "))
	ordinary, secret := b.Connect("ordinary.example"), b.Connect("canary-caller.example")
	callAs := func(ctx context.Context, from *bus.Conn, addresses ...string) {
		for _, address := range addresses {
			_ = from.Call(ctx, address, nil, nil)
		}
	}
	callAs(t.Context(), ordinary, "https://payroll.example/headcount", "GET https://web.example/open",
		"GET https://web.example/both",
		"GET https://web.example/files/a", "GET https://web.example/files/a/b", "GET https://web.example/hidden-canary")
	callAs(clerk, secret, "GET https://payroll.example/salary?employee=ada",
		"GET https://payroll.example/raise?employee=ada&percent=1",
		"https://canary.example/slow", "https://canary-internal.example:444/slow", "GET https://web.example/hidden-canary")
	for _, test := range []struct {
		name, header, services, operations string
		canary                             []string // that it does see
	}{
		{"anonymous", "", "payroll.example web.example", "/files/{path+} /headcount /open", []string{"canary-version"}},
		{"hr", i.In("hr"), "payroll.example web.example", "/files/{path+} /headcount /open /salary",
			[]string{"canary-version", "canary-caller.example", "Salary"}},
		{"level 3", i.Bearer(map[string]any{"roles": []string{"hr"}, "level": 3}), "payroll.example web.example",
			"/files/{path+} /headcount /open /raise /salary",
			[]string{"canary-version", "canary-caller.example", "Salary", "Raise"}},
		{"keeper", i.In("keeper"), "canary.example payroll.example web.example", "/both /files/{name} /headcount /open /slow",
			[]string{"canary-version", "canary-caller.example", "canary.example"}},
	} {
		got := w.look(test.header)
		_, body := w.get(test.header)
		if got.names() != test.services {
			t.Errorf("%s sees %s, want %s", test.name, got.names(), test.services)
		}
		called := make(map[string]bool)
		for i := range got.Edges {
			for at := range got.Edges[i].Operations {
				called[got.Edges[i].Operations[at].Path] = true
			}
		}
		var paths []string
		for path := range called {
			paths = append(paths, path)
		}
		slices.Sort(paths)
		if all := strings.Join(paths, " "); all != test.operations {
			t.Errorf("%s sees %s, want %s", test.name, all, test.operations)
		}
		for _, canary := range []string{"canary-internal", "hidden-canary", "canary-version", "canary-caller.example",
			"canary.example", "Salary", "Raise"} {
			if strings.Contains(body, canary) != slices.Contains(test.canary, canary) {
				t.Errorf("%s is there: %t, in %s", canary, strings.Contains(body, canary), body)
			}
		}
	}
	if status, body := w.get("Authorization: Bearer x"); status != http.StatusUnauthorized {
		t.Errorf("a bad token: %d %s", status, body)
	}
}

// TestLive_IsShared has many look at once.
func TestLive_IsShared(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		foreign := portaltest.NewForeignInstance(t, b, "foreign.example")
		w := watch(t, b)
		for range 5 {
			before := foreign.Asked("/traffic")
			for range 4 {
				var looking sync.WaitGroup
				for range 20 {
					looking.Go(func() { w.look("") })
				}
				looking.Wait()
			}
			if asked := foreign.Asked("/traffic") - before; asked != 1 {
				t.Errorf("80 looks within a second had it asked %d times", asked)
			}
			time.Sleep(1100 * time.Millisecond) // a second, and 4 ms for each instance
		}
		before := foreign.Asked("/traffic")
		time.Sleep(time.Hour)
		if asked := foreign.Asked("/traffic") - before; asked != 0 {
			t.Errorf("while no page was open it was asked %d times", asked)
		}
	})
}

// TestLive_OverHTTP has what everything on the portal has.
func TestLive_OverHTTP(t *testing.T) {
	t.Parallel()
	entrance := open(t)
	entrance.register()
	entrance.calculate("calculator.example")
	got := entrance.Get("/portal/live.json")
	assert.Equal(t, http.StatusOK, got.StatusCode, got.Text)
	assert.Equal(t, "private, no-cache", got.Header.Get("Cache-Control"), got.Text)
	assert.Equal(t, "application/json", got.Header.Get("Content-Type"), got.Text)
	checkSecurity(t, "live.json", got.Header)
	if text := entrance.Get("/portal/openapi.json").Text; strings.Contains(text, "live.json") {
		t.Error("the document speaks of it")
	}
}

// TestLive_WithoutBroker holds that the portal reports nothing without a broker, and continues when the broker is back.
// Time is real here: nats.go keeps timers for the whole process when it connects again.
func TestLive_WithoutBroker(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	way := &kit.Fragile{InProcessConnProvider: b.Broker()}
	serveCounter(t, b.Connect("counter.example"))
	conn := b.Connect("portal", bus.WithBroker(way))
	began, looks := time.Now(), atomic.Int64{}
	clock := portal.WithClock(func() time.Time { return began.Add(time.Duration(looks.Add(2)) * time.Second) })
	require.NoError(t, portal.Register(conn, append(longTimeouts(), clock)...))
	w := &watched{t, b, b.Connect("viewer.example", bus.WithBroker(way))}
	w.look("")
	changes := conn.NATS().StatusChanged(nats.CONNECTED, nats.RECONNECTING)
	await := func(wanted nats.Status) {
		for status := range changes {
			if status == wanted {
				return
			}
		}
	}
	way.Cut(true)
	await(nats.RECONNECTING)
	status, body := w.get("")
	assert.Equal(t, http.StatusServiceUnavailable, status)
	assert.Contains(t, body, `"status":503`)
	assert.Contains(t, body, "broker")
	way.Come()
	await(nats.CONNECTED)
	for status != http.StatusOK { // until the connection has noticed, too
		status, _ = w.get("")
	}
	if got := w.look(""); got.names() != "counter.example" {
		t.Errorf("%+v", got)
	}
}

// servedBy is a row of counts that a hostile instance reports.
func servedBy(caller, more string) string {
	return `{"endpoint":"Stranger.Add","path":"/add","port":443,"caller":"` + caller + `",` + more + `}`
}

func traffic(served ...string) string {
	return `{"started":"2000-01-01T00:00:00Z","served":[` + strings.Join(served, ",") + `],"made":[]}`
}

// TestLiveOf_UnknownHosts makes one of two services report what cannot be. The other one is shown all the same.
func TestLiveOf_UnknownHosts(t *testing.T) {
	t.Parallel()
	const fine = `"buckets":[1],"took":1,"refused":0,"failed":0`
	callers := make([]string, 10_000)
	for at := range callers {
		callers[at] = servedBy(fmt.Sprintf("caller%d.example", at), fine)
	}
	for _, test := range []struct {
		name          string
		text, leftOut string
	}{
		{"no JSON", `<script>alert(1)</script>`, "its answer cannot be read"},
		{"cut", traffic(servedBy("a", fine))[:40], "its answer cannot be read"},
		{"nothing", ``, "its answer cannot be read"},
		{"a list", `[]`, "its answer cannot be read"},
		{"other types", `{"started":1,"served":{}}`, "its answer cannot be read"},
		{"negative", traffic(servedBy("a", `"buckets":[-1]`)), "it reports impossible requests"},
		{"more failed", traffic(servedBy("a", `"buckets":[1],"failed":2`)), "it reports impossible requests"},
		{"too many buckets", traffic(servedBy("a", `"buckets":[`+strings.Repeat("0,", 19)+`1]`)),
			"it reports impossible requests"},
		{"overflow", traffic(servedBy("a", `"buckets":[9223372036854775807,9223372036854775807]`)),
			"it reports impossible requests"},
		{"beyond 64 bits", traffic(servedBy("a", `"buckets":[1e30]`)), "its answer cannot be read"},
		{"no hostname", traffic(servedBy("<img src=x>", fine)), "it reports impossible requests"},
		{"upper case", traffic(servedBy("A", fine)), "it reports impossible requests"},
		{"no port", strings.Replace(traffic(servedBy("a", fine)), "443", "70000", 1), "it reports impossible requests"},
		{"no path", strings.Replace(traffic(servedBy("a", fine)), "/add", "add", 1), "it reports impossible requests"},
		{"a long path", strings.Replace(traffic(servedBy("a", fine)), "/add", "/"+strings.Repeat("a", 2000), 1),
			"it reports impossible requests"},
		{"a control character", strings.Replace(traffic(servedBy("a", fine)), "Stranger.Add", `a\u0000b`, 1),
			"it reports impossible requests"},
		{"thousands", traffic(callers...), "it reports 10000 callers and callees; the limit is 8192"},
		{"calls of nobody", `{"started":"2000-01-01T00:00:00Z","made":[{"callee":"","buckets":[1]}]}`,
			"it reports impossible calls"},
		{"negative calls", `{"started":"2000-01-01T00:00:00Z","made":[{"callee":"a","failed":-1}]}`,
			"it reports impossible calls"},
		{"huge", `{"x":"` + strings.Repeat("a", 4<<20) + `"}`, "the body has more than 4194304 bytes"},
		{"silence", "hang", "it did not answer in time"},
		{"fine", traffic(servedBy("a", fine)), ""},
		{"hundreds", traffic(callers[:300]...), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
				foreign := portaltest.NewForeignInstance(t, b, "foreign.example")
				foreign.Tells("/traffic", test.text)
				serveCounter(t, b.Connect("counter.example"))
				call(t, b.Connect("caller.example"), 3, "https://counter.example/slow")
				w := watch(t, b)
				got := w.look("")
				edge := got.edge("caller.example", "counter.example")
				require.NotNil(t, edge, "%.2000s", fmt.Sprint(got))
				assert.Equal(t, int64(3), edge.Calls, "%.2000s", fmt.Sprint(got))
				assert.Equal(t, "counter.example foreign.example", got.names(), "%.2000s", fmt.Sprint(got))
				want := "The counts of s1aaaaaaaa.foreign.example are left out: " + test.leftOut + "."
				if all := strings.Join(got.LeftOut, "\n"); test.leftOut == "" && all != "" || test.leftOut != "" && all != want {
					t.Errorf("%q, want %q", all, want)
				}
				if test.leftOut != "" && len(got.Edges) != 1 {
					t.Errorf("it is believed in part: %+v", got.Edges)
				}
				if test.name == "hundreds" && (len(got.Edges) != 1+257 || got.edge("others", "foreign.example").Calls != 44) {
					t.Errorf("%d edges", len(got.Edges))
				}
			}, broker.MaxPayload(8<<20))
		})
	}
}

// TestLiveOf_BackwardCounters uses a foreign instance that counts backwards, and that restarts again and again.
func TestLiveOf_BackwardCounters(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		foreign := portaltest.NewForeignInstance(t, b, "foreign.example")
		w := watch(t, b)
		for at, count := range []int64{5, 3, 4398046511104, 0, 4398046511104, 1} {
			report := traffic(servedBy("a", fmt.Sprintf(`"buckets":[%d]`, count)))
			foreign.Tells("/traffic", strings.Replace(report, "2000", fmt.Sprint(1990+at/2), 1))
			_, body := w.get("")
			var got liveAnswer
			err := json.Unmarshal([]byte(body), &got)
			require.NoError(t, err)
			require.NotContains(t, body, ":-")
			edge := got.edge("a", "foreign.example")
			require.NotNil(t, edge, got.Edges)
			assert.Equal(t, count, edge.Calls, got.Edges)
			time.Sleep(2 * time.Second)
		}
	})
}

// FuzzTraffic holds that whatever an instance reports becomes a view that can be read and has nothing in it that cannot
// be.
func FuzzTraffic(f *testing.F) {
	for _, seed := range []string{
		traffic(servedBy("a", `"buckets":[1,2],"took":1,"failed":1`)), traffic(servedBy("", `"buckets":[]`)),
		`{"started":"2026-01-01T00:00:00Z","made":[{"callee":"b.example","buckets":[0,4],"failed":4}]}`, `{}`, `null`,
		strings.Replace(traffic(servedBy("a", `"buckets":[4398046511104]`)), "Stranger.Add", "* /add", 1),
	} {
		f.Add([]byte(seed), []byte(traffic(servedBy("a", `"buckets":[1]`))))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		body, err := portal.LiveOf(first, second)
		require.NoError(t, err)
		var got liveAnswer
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		for at := range got.Edges {
			edge := got.Edges[at]
			for _, count := range []int64{edge.Calls, edge.Failed, edge.Refused, edge.Recent.Calls, edge.Recent.Failed} {
				if count < 0 {
					t.Errorf("%q, %q: %+v", first, second, edge)
				}
			}
		}
	})
}

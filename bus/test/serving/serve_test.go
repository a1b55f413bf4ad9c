// Package serving_test registers endpoints, calls them and closes their connections: functions, handlers and programs.
package serving_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/events"
	internalstatus "github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/stream"
	"github.com/busline/busline/bus/test/kit"
)

// malformed has methods that cannot be endpoints.
type malformed struct{}

func (malformed) Channel(c chan int) {}

func (malformed) Pair() (int, string) { return 0, "" }

func TestServe_ReportsEveryError(t *testing.T) {
	t.Parallel()
	conn := kit.NewBus(t).Connect("malformed.example")
	err := bus.Serve(conn, malformed{})
	for _, told := range []string{"malformed.example", "Channel", "Pair", "bus.ExcludeMethods"} {
		assert.ErrorContains(t, err, told)
	}
	err = bus.Serve(conn, malformed{}, bus.ExcludeMethods("Channel", "Pair"))
	assert.ErrorContains(t, err, "no exported method", "nothing left")
}

func TestServe_Refuses(t *testing.T) {
	t.Parallel()
	conn := kit.NewBus(t).Connect("calculator.example")
	kit.Serve(t, conn, kit.Calculator{})
	handler := http.NotFoundHandler()
	for _, test := range []struct {
		name     string
		register func() error
		told     string
	}{
		{"twice", func() error { return bus.Serve(conn, kit.Calculator{}) },
			"Calculator.Add is served by this connection already, as GET /add on port 443: serve it once, " +
				"or give one of them another path\nCalculator."},
		{"a handler on a function",
			func() error {
				return conn.Handle("GET", "/add",
					handler)
			}, "GET /add and Calculator.Add both serve GET /add on port 443",
		},
		{"parameters alike", func() error {
			if err := conn.Handle("GET", "/x/{a}", handler); err != nil {
				return err
			}
			return conn.Handle("GET", "/x/{b}", handler)
		}, "GET /x/{b} and GET /x/{a} both serve GET /x/{b}, such as /x/1, on port 443: serve it once"},
		{"the documents' path", func() error { return conn.Handle("GET", "/openapi.json", handler) }, "/openapi.json"},
		{"port 0", func() error { return bus.Serve(conn, kit.Relay{}, bus.Port(0)) }, "bus.Port"},
		{"port 888", func() error { return bus.Serve(conn, kit.Relay{}, bus.Port(888)) }, "888"},
		{"port 417", func() error { return bus.Serve(conn, kit.Relay{}, bus.Port(417)) }, "reserved for events"},
		{"unknown method",
			func() error { return bus.Serve(conn, kit.Relay{}, bus.Method("Jump", bus.Undocumented())) }, "Jump",
		},
		{"bad path", func() error { return bus.Serve(conn, kit.Relay{}, bus.Method("Pass", bus.Path("pass"))) }, "pass"},
		{"a colon", func() error { return conn.Handle("GET", "/:id", handler) }, "write {id} for a parameter"},
		{"a query", func() error { return bus.Serve(conn, kit.Relay{}, bus.Method("Pass", bus.Path("/pass?x=1"))) },
			`ends before "?"`},
		{"bad method", func() error { return conn.Handle("get", "/y", handler) }, "capital"},
		{"HEAD", func() error { return conn.Handle("HEAD", "/y", handler) }, "serve GET"},
		{"endless path", func() error { return conn.Handle("GET", "/"+strings.Repeat("a", 5000), handler) },
			"shorten the path"},
		{"conflict elsewhere", func() error {
			if err := conn.Handle("GET", "/z", handler, bus.Port(7777)); err != nil {
				return err
			}
			return bus.Serve(conn, kit.Twins{}, bus.Port(7778), bus.Method("Two", bus.Path("/one")))
		}, "Twins.Two and Twins.One both serve GET /one on port 7778"},
		{"nil handler", func() error { return conn.Handle("GET", "/y", nil) }, "the handler is nil"},
		{"nil function",
			func() error {
				return conn.Handle("GET", "/y",
					http.HandlerFunc(nil))
			}, "handle GET /y on calculator.example: the handler is nil",
		},
		{"wrong names",
			func() error { return bus.Serve(conn, kit.Relay{}, bus.ParamNames("Pass", "a, b", "depth, budget")) }, "Pass",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.register()
			assert.ErrorContains(t, err, test.told)
		})
	}
	// nothing of what failed is left behind
	kit.Serve(t, conn, kit.Relay{})
	if _, body := kit.Do(t, conn, "GET", kit.CalculatorURL+":888/ping", "", ""); !strings.Contains(body,
		`"ports":[443,7777],"digest":"`) {
		t.Errorf("ping tells %s", body)
	}
}

func TestConnect_Errors(t *testing.T) {
	t.Parallel()
	b := kit.NewBus(t)
	for host, told := range map[string]string{
		"": "", "all": "reserved", "Upper.example": "", "a..b": "", "a_b": "", "-a.b": "", strings.Repeat("a", 254): "",
	} {
		_, err := bus.Connect(t.Context(), host, bus.WithBroker(b.Broker()))
		assert.ErrorContains(t, err, told, "host %q", host)
	}
	_, err := bus.Connect(t.Context(), "x.example", bus.WithBroker(b.Broker()), bus.WithPlane("a.b"))
	assert.ErrorContains(t, err, "BUS_PLANE", "plane")
	for told, option := range map[string]bus.ConnectOption{
		"BUS_BASE_URL": bus.WithBaseURL("nowhere"), "bus.WithMaxHandlers": bus.WithMaxHandlers(0),
		"bus.WithAckWait": bus.WithAckWait(0),
		"connect timeout -1ns is below zero: set how long to try with bus.WithConnectTimeout, or 0 to try once": bus.WithConnectTimeout(-1),
		"message limit of 65535 bytes is out of range: set 65536 to 536870912 with bus.WithMaxMessageBytes":     bus.WithMaxMessageBytes(64<<10 - 1),
		"message limit of 536870913 bytes": bus.WithMaxMessageBytes(512<<20 + 1),
		"bus.WithBroker: pass a pointer to a broker, such as the one that broker.Start returns":                    bus.WithBroker((*broker.Broker)(nil)),
		"base URL (BUS_BASE_URL or bus.WithBaseURL): it has a login, which all documents would show: leave it out": bus.WithBaseURL("https://user:secret@api.example.com"),
	} {
		_, err = bus.Connect(t.Context(), "x.example", bus.WithBroker(b.Broker()), option)
		assert.ErrorContains(t, err, told)
	}
	_, err = bus.Connect(t.Context(), "x.example", bus.WithURL("nats://user:secret@127.0.0.1:1"),
		bus.WithConnectTimeout(time.Millisecond))
	require.ErrorContains(t, err, "no broker at nats://127.0.0.1:1: ", "no broker")
	assert.True(t, strings.HasSuffix(err.Error(), "; start one, or set BUS_NATS_URL or bus.WithURL"), err.Error())
	assert.NotContains(t, err.Error(), "secret", "no broker")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = bus.Connect(ctx, "x.example", bus.WithURL("nats://127.0.0.1:1")); err == nil {
		t.Error("connected with a context that has ended")
	}
}

// store was a struct of a program before it was a service.
type store struct{}

func (*store) Load(key string) (value string)                 { return key }
func (*store) Close() error                                   { return nil }
func (*store) Shutdown(context.Context) error                 { return nil }
func (*store) String() string                                 { return "store" }
func (*store) ServeHTTP(http.ResponseWriter, *http.Request)   {}
func (*store) MarshalText() (text []byte, err error)          { return nil, nil }
func (*store) Error(ctx context.Context, of int) (err string) { return "" }
func (*store) Start()                                         {}
func (*store) Reset(key string)                               {}

// shelfAPI is what callers are offered.
type shelfAPI interface {
	Load(key string) (value string)
	Close() error
}

// TestServe_RefusesWhatIsNotMeant serves methods that are a program's own business.
func TestServe_RefusesWhatIsNotMeant(t *testing.T) {
	t.Parallel()
	conn := bustest.New(t).Connect("store.example")
	var lines []string
	for _, method := range []string{"Close", "MarshalText", "Reset", "ServeHTTP", "Shutdown", "Start", "String"} {
		lines = append(lines, fmt.Sprintf("method %[1]s would be served to callers: "+
			"leave it out with bus.ExcludeMethods(%[1]q), or add bus.Method(%[1]q) if that is intended", method))
	}
	require.EqualError(t, bus.Serve(conn, new(store)),
		"serve *serving_test.store on store.example: "+strings.Join(lines, "\n"))
	require.NoError(t, bus.Serve[shelfAPI](conn, new(store)))
	require.NoError(t, bus.Serve(conn, new(store), bus.Port(445),
		bus.ExcludeMethods("Close", "String", "MarshalText", "Start"), bus.Method("Shutdown"), bus.Method("Reset"),
		bus.Method("ServeHTTP")))
}

// TestServe_RefusesHandlers serves what Conn.Handle is for.
func TestServe_RefusesHandlers(t *testing.T) {
	t.Parallel()
	conn := bustest.New(t).Connect("web.example")
	for _, err := range []error{bus.Serve(conn, http.NotFoundHandler()), bus.Serve(conn, http.NewServeMux())} {
		require.Error(t, err)
		assert.True(t, strings.HasSuffix(err.Error(),
			" on web.example: an http.Handler is no service, and would be at /serve-http alone: use Conn.Handle"), err.Error())
	}
}

// draft has a tag that nothing reads.
type draft struct {
	Text string `json:"text" validate:"min=1"`
}

type drafts struct{}

func (drafts) Write(of draft) error                      { return nil }
func (drafts) OnWrite(_ context.Context, of draft) error { return nil }

// TestServe_WarnsOfTags logs them on both sides.
func TestServe_WarnsOfTags(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	for name, try := range map[string]func(*bus.Conn) error{
		"Serve": func(c *bus.Conn) error { return bus.Serve(c, drafts{}) },
		"Subscribe": func(c *bus.Conn) error {
			return events.Subscribe(c, "source.example", drafts{}, bus.ExcludeMethods("Write"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			logged := new(kit.Lines)
			require.NoError(t, try(b.Connect("drafts.example", bus.WithLogger(zerolog.New(logged).Level(zerolog.WarnLevel)))))
			assert.Equal(t, 1, logged.Count("type serving_test.draft: the validate or binding tag of Text is ignored"))
			assert.Equal(t, 1, logged.Count("\n"))
		})
	}
}

// TestHandle_WarnsOfWhatIsNotMeant serves an application under a path that is not all that it serves.
func TestHandle_WarnsOfWhatIsNotMeant(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, warnsOfWhatIsNotMeant)
}

func warnsOfWhatIsNotMeant(t *testing.T, b *bustest.Bus) {
	t.Helper()
	for _, test := range []struct {
		method, path string
		handler      http.Handler
		warns        bool
	}{
		{"*", "/old/", http.NotFoundHandler(), true},
		{"", "/", http.NotFoundHandler(), true},
		{"GET", "/old/", http.NewServeMux(), true},
		{"GET", "/", http.NotFoundHandler(), false},
		{"*", "/old/{path+}", http.NewServeMux(), false},
	} {
		logged := new(kit.Lines)
		conn := b.Connect("old.example", bus.WithLogger(zerolog.New(logged).Level(zerolog.WarnLevel)))
		require.NoError(t, conn.Handle(test.method, test.path, test.handler))
		kit.CloseConn(t, conn)
		assert.Empty(t, logged.String(), "more may be registered")

		conn = b.Connect("old.example", bus.WithLogger(zerolog.New(logged).Level(zerolog.WarnLevel)))
		require.NoError(t, conn.Handle(test.method, test.path, test.handler))
		time.Sleep(time.Minute)
		want := "only " + test.path + " itself is served, and nothing below it: write " + test.path + "{path+} for that"
		if warns := logged.Count(want) == 1; warns != test.warns || !warns && logged.String() != "" {
			t.Errorf("%s %s: %s", test.method, test.path, logged)
		}
	}
	logged := new(kit.Lines)
	conn := b.Connect("new.example", bus.WithLogger(zerolog.New(logged).Level(zerolog.WarnLevel)))
	for _, path := range []string{"/new/{path+}", "/new/", "/newer/", "/newer/{path+}"} {
		require.NoError(t, conn.Handle("", path, http.NotFoundHandler()))
	}
	time.Sleep(time.Minute)
	assert.Empty(t, logged.String(), "the rest is served, too")
	require.NoError(t, conn.Handle("", "/", http.NotFoundHandler()))
	time.Sleep(time.Minute)
	assert.Equal(t, 1, logged.Count("only / itself is served"), "the rest of another path is not that of this one")
}

type (
	tagged struct {
		X int `json:"x"`
	}
	around struct {
		tagged

		Y      int `json:"y,omitempty"`
		Hidden int `json:"-"`
		inside int
	}
	bare    struct{ X int }
	aroundB struct {
		*bare

		Y int `json:"y"`
	}
	nameless struct {
		X int `json:",omitempty"`
	}
	ownJSON struct{ X, Y int }
	Endless struct {
		*Endless

		X int `json:"x"`
	}
)

func (o ownJSON) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]int{"x": o.X, "y": o.Y})
}

// surveyor takes a type without tags, whose members have the names of its fields.
type surveyor struct{}

func (surveyor) Double(of bare, all []bare) (sum int) {
	for _, each := range append(all, of) {
		sum += 2 * each.X
	}
	return sum
}

// TestValues_NeedNoTags has values in the arguments pass as the callee reads them, with tags or without.
func TestValues_NeedNoTags(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		conn := w.Connect("surveyor.example")
		kit.Serve(t, conn, surveyor{})
		type arguments struct {
			Of  bare   `json:"of"`
			All []bare `json:"all"`
		}
		for name, given := range map[string]any{
			"a struct": arguments{bare{1}, []bare{{2}}},
			"a map":    bus.Args{"of": &bare{1}, "all": []bare{{2}}},
		} {
			t.Run(name, func(t *testing.T) {
				var result struct{ Sum int }
				err := conn.Call(t.Context(), "https://surveyor.example/double", given, &result)
				require.NoError(t, err)
				assert.Equal(t, 6, result.Sum)
			})
		}
	})
}

// TestArguments_HaveTags has calls with arguments that would not arrive be refused, by name, instead of computing with
// zeros.
func TestArguments_HaveTags(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		caller, _ := kit.NewCalculator(t, w)
		for _, call := range []struct {
			name      string
			arguments any
			err       string
		}{
			{"tags", tagged{1}, ""},
			{"embedded", &around{tagged: tagged{1}, Y: 2, Hidden: 3, inside: 4}, ""},
			{"a map", map[string]int{"x": 1}, ""},
			{"nothing", nil, ""},
			{"itself", Endless{X: 1}, ""},
			{"JSON of its own", ownJSON{1, 2}, ""},
			{"none", bare{1}, `field X of serving_test.bare has no json tag`},
			{"none, embedded", aroundB{&bare{1}, 2}, `field X of serving_test.bare has no json tag`},
			{"two that hide each other", struct {
				waysLimit
				*WaysPaging
			}{}, `fields waysLimit.Most and WaysPaging.Limit of struct`},
			{"no name", &nameless{1}, `such as ` + "`json:\"x\"`"},
		} {
			t.Run(call.name, func(t *testing.T) {
				var result map[string]any
				err := caller.Call(t.Context(), kit.CalculatorURL+"/add", call.arguments, &result)
				if call.err == "" && err != nil || call.err != "" && (err == nil || !strings.Contains(err.Error(), call.err)) {
					t.Errorf("%v, want %q", err, call.err)
				}
			})
		}
		_, err := bus.NewOperation[bare, any](caller, kit.CalculatorURL+"/add").Call(t.Context(), bare{1})
		assert.Equal(t, http.StatusBadRequest, bus.StatusOf(err), "operation")
		assert.ErrorContains(t, err, "has no json tag", "operation")
	})
}

// TestError_OfInternalPackage holds that an error of a package below this one becomes an Error with all that it says,
// also if it is wrapped.
func TestError_OfInternalPackage(t *testing.T) {
	t.Parallel()
	full := internalstatus.Error{
		Status: 503, Detail: "too busy", Host: "bytes.example", ID: "b1aaaaaaaa", MsgID: "m1",
		Executed:   internalstatus.ExecutedNo,
		RetryAfter: time.Second, Internal: true, Cause: stream.ErrMemoryFull,
	}
	for detail, err := range map[string]error{
		"too busy":                 &full,
		"part 2: too busy":         fmt.Errorf("part 2: %w", &full),
		"call 7: part 2: too busy": fmt.Errorf("call 7: %w", fmt.Errorf("part 2: %w", &full)),
	} {
		kit.CheckError(t, bus.ErrorWithDetails(err, "", nil), full.Status, bus.ExecutedNo)
		failed := kit.AsBusError(t, bus.ErrorWithDetails(err, "", nil))
		if failed.Detail != detail {
			t.Fatalf("%v becomes %#v", err, failed)
		}
		assert.Equal(t, full.Host, failed.Host)
		assert.Equal(t, full.ID, failed.ID)
		assert.Equal(t, full.MsgID, failed.MsgID)
		assert.Equal(t, full.RetryAfter, failed.RetryAfter)
		assert.Equal(t, full.Status, bus.StatusOf(err))
		assert.True(t, bus.IsInternal(err))
		assert.True(t, bus.IsInternal(failed))
		assert.ErrorIs(t, failed, stream.ErrMemoryFull)
	}
}

// TestExecuted_Values holds that the packages below this one number the values alike.
func TestExecuted_Values(t *testing.T) {
	t.Parallel()
	for below, want := range map[internalstatus.Executed]bus.Executed{
		internalstatus.ExecutedUnknown: bus.ExecutedUnknown, internalstatus.ExecutedNo: bus.ExecutedNo,
		internalstatus.ExecutedYes: bus.ExecutedYes,
	} {
		failed, _ := errors.AsType[*bus.Error](bus.ErrorWithDetails(&internalstatus.Error{Status: 503, Executed: below},
			"", nil))
		require.NotNil(t, failed, below)
		assert.Equal(t, want, failed.Executed, below)
	}
}

// TestPostOnly holds that GET is told what to use instead, and that a method can be opened for it.
func TestPostOnly(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		kit.Serve(t, w.Connect(kit.CalculatorHost), kit.Calculator{}, bus.PostOnly(),
			bus.Method("Who", bus.HTTPMethod("GET")))
		caller := w.Connect("caller.example")
		for _, test := range []struct {
			method, path string
			status       int
		}{
			{http.MethodPost, "/add", 200}, {http.MethodGet, "/add?x=1", 405}, {http.MethodHead, "/add", 405},
			{http.MethodGet, "/who", 200}, {http.MethodPost, "/who", 405},
		} {
			if got := kit.StatusOf(t, t.Context(), caller, test.method,
				"https://"+kit.CalculatorHost+test.path); got != test.status {
				t.Errorf("%s %s: status %d, want %d", test.method, test.path, got, test.status)
			}
		}
	})
}

// TestStrict holds that a strict service tells a caller what it does not know, within the process, too.
func TestStrict(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		kit.Serve(t, w.Connect(kit.CalculatorHost), kit.Calculator{}, bus.DisallowUnknownFields())
		caller := w.Connect("caller.example")
		var out struct{ Sum int }
		err := caller.Call(t.Context(), "https://calculator.example/add", bus.Args{"x": 1, "y": 2}, &out)
		require.NoError(t, err)
		assert.Equal(t, 3, out.Sum)
		err = caller.Call(t.Context(), "https://calculator.example/add", bus.Args{"x": 1, "yy": 2}, &out)
		assert.Equal(t, http.StatusBadRequest, bus.StatusOf(err), "misspelled")
		assert.ErrorContains(t, err, "yy (body): is unknown", "misspelled")
	})
}

// parcel asks for something by its tags, and can be given by value.
type parcel struct {
	Weight int    `json:"weight" jsonschema:"minimum=1,maximum=30"`
	Street string `json:"street" jsonschema:"minLength=2"`
}

// label is told from its JSON alone.
type label struct {
	Text string `json:"text" jsonschema:"required"`
}

type post struct{}

func (post) Send(p parcel) (weight int)   { return p.Weight }
func (post) Print(l label) (text string)  { return l.Text }
func (post) Refund(amount int) (paid int) { return amount }

// TestConstraints: what breaks a constraint is 422, with all that is wrong, however the call travels.
func TestConstraints(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		conn, caller := w.Connect("post.example"), w.Connect("caller.example")
		kit.Serve(t, conn, post{}, bus.ParamNames("Send", "p", "weight"), bus.ParamNames("Print", "l", "text"),
			bus.ParamNames("Refund", "amount", "paid"))
		for _, call := range []struct {
			name string
			path string
			args any
			want string // "" for an answer
		}{
			{"fine", "/send", bus.Args{"p": parcel{5, "Oak"}}, ""},
			{"a struct", "/send", struct {
				P parcel `json:"p"`
			}{parcel{31, "A"}}, "p.street (body): expects at least 2 characters; p.weight (body): expects at most 30"},
			{"arguments", "/send", bus.Args{"p": parcel{31, "A"}},
				"p.street (body): expects at least 2 characters; p.weight (body): expects at most 30"},
			{"missing", "/send", nil, "p (body): is missing"},
			{"missing, in query", "/send?p.weight=3", nil, "p.street (query): is missing"},
			{"text", "/print", struct {
				L label `json:"l"`
			}{}, ""},
			{"no text", "/print", bus.Args{"l": bus.Args{}}, "l.text (body): is missing"},
		} {
			t.Run(call.name, func(t *testing.T) {
				err := caller.Call(t.Context(), "https://post.example"+call.path, call.args, nil)
				failed, _ := errors.AsType[*bus.Error](err)
				switch {
				case (call.want == "") != (failed == nil):
					t.Errorf("%v", err)
				case failed != nil && (failed.Status != 422 || failed.Detail != call.want || failed.Executed != bus.ExecutedNo ||
					len(failed.Arguments) != 1+strings.Count(call.want, ";")):
					t.Errorf("%#v", failed)
				}
			})
		}
	})
}

type mistaken struct{}

func (mistaken) Send(p struct {
	Weight int `json:"weight" jsonschema:"minimum=one"`
}) {
}

func TestServe_RefusesMalformedConstraints(t *testing.T) {
	t.Parallel()
	b := kit.NewBus(t)
	err := bus.Serve(b.Connect("post.example"), mistaken{}, bus.ParamNames("Send", "p", ""))
	assert.ErrorContains(t, err, `.Weight: jsonschema "minimum=one": expects a number`)
}

// TestHandle_DocumentTaken says what to do where another handler is in the place of the document, as beside the portal.
func TestHandle_DocumentTaken(t *testing.T) {
	t.Parallel()
	conn := bustest.New(t).Connect("taken.example")
	require.NoError(t, conn.Handle("GET", "/openapi.json", http.NotFoundHandler(), bus.Undocumented()))
	err := conn.Handle("GET", "/x", http.NotFoundHandler())
	assert.EqualError(t, err, "handle GET /x on taken.example: its document is served at GET /openapi.json on port 443, "+
		"where this connection serves another handler: add bus.Undocumented()")
	require.NoError(t, conn.Handle("GET", "/x", http.NotFoundHandler(), bus.Undocumented()))
}

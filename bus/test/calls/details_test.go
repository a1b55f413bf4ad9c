package calls_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
)

const (
	soldOut = "https://shop.example/problems/sold-out"
	stopped = "https://shop.example/problems/stopped"
)

// shortage are the details of soldOut.
type shortage struct {
	SKU   string            `json:"sku"`
	Left  uint64            `json:"left"`
	Where []string          `json:"where"`
	Price json.Number       `json:"price"`
	More  map[string]string `json:"more"`
}

// precise has numbers that a float64 would round.
var precise = shortage{"t\"é\u2028", math.MaxUint64, []string{"a", "b"}, "1.10",
	map[string]string{"title": "nested names are free"}}

// merchant fails in two ways with one status, and is three services in a row.
type merchant struct{ conn *bus.Conn }

func (merchant) Order(why string) error {
	switch why {
	case "sold out":
		return bus.ErrorWithDetails(bus.Errorf(http.StatusConflict, "none left"), soldOut, precise)
	case "stopped":
		return bus.ErrorWithDetails(bus.Errorf(http.StatusConflict, "no longer made"), stopped, nil)
	case "plain":
		return bus.Errorf(http.StatusConflict, "no")
	case "literal":
		return &bus.Error{Status: http.StatusConflict, Type: stopped}
	case "internal":
		return bus.ErrorWithDetails(errors.New("the disk is full"), soldOut, precise)
	case "wrapped":
		return fmt.Errorf("order 7: %w", bus.ErrorWithDetails(bus.Errorf(http.StatusConflict, "none left"), soldOut, precise))
	case "another status":
		return bus.Errorf(http.StatusBadGateway, "asked: %w",
			bus.ErrorWithDetails(bus.Errorf(http.StatusConflict, "none left"), soldOut, precise))
	default:
		return bus.ErrorWithDetails(bus.Errorf(http.StatusConflict, "none left"), soldOut,
			map[string]any{"id": 7, "left": 1, "title": "Sold out"})
	}
}

func (s merchant) Relay(ctx context.Context, why string, hops int) error {
	path := "order"
	if hops > 0 {
		path = "relay"
	}
	return s.conn.Call(ctx, "https://shop.example/"+path, bus.Args{"why": why, "hops": hops - 1}, nil)
}

// TestDetails_Travel holds what arrives at the far end of a chain of calls, from a handler that passes on the errors of
// others.
func TestDetails_Travel(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		w.AllowUnknownFields()
		conn := w.Connect("shop.example")
		kit.Serve(t, conn, merchant{conn})
		caller := w.Connect("caller.example")
		for _, test := range []struct {
			name     string
			status   int
			kind     string
			detail   string
			details  bool
			internal bool
		}{
			{"sold out", 409, soldOut, "none left", true, false},
			{"stopped", 409, stopped, "no longer made", false, false},
			{"plain", 409, "", "no", false, false},
			{"literal", 409, stopped, "", false, false},
			{"internal", 500, soldOut, "the disk is full", true, true},
			{"wrapped", 409, soldOut, "order 7: none left", true, false},
			{"another status", 502, "", "asked: none left", false, false},
		} {
			t.Run(test.name, func(t *testing.T) {
				for hops := range 3 {
					err := caller.Call(t.Context(), "https://shop.example/relay", bus.Args{"why": test.name, "hops": hops}, nil)
					failed := kit.AsBusError(t, err)
					assert.Equal(t, test.status, failed.Status, "%s over %d hops", test.name, hops)
					assert.Equal(t, test.kind, failed.Type, "%s over %d hops", test.name, hops)
					assert.Equal(t, test.detail, failed.Detail, "%s over %d hops", test.name, hops)
					assert.Equal(t, test.internal, bus.IsInternal(err), "%s over %d hops", test.name, hops)
					assert.Equal(t, "/order", failed.Path, "%s over %d hops", test.name, hops)
					assert.Equal(t, "shop.example", failed.Host, "%s over %d hops", test.name, hops)
					var got shortage
					err = failed.DecodeDetails(&got)
					if test.details && (err != nil || fmt.Sprint(got) != fmt.Sprint(precise)) {
						t.Errorf("%s over %d hops: %+v, %v", test.name, hops, got, err)
					}
					if !test.details && (err == nil || err.Error() != "the error has no details") {
						t.Errorf("%s over %d hops has details: %+v, %v", test.name, hops, got, err)
					}
				}
			})
		}
	})
}

// TestDetails_AreNotShared holds that what one who gets an error does with its details is seen by no other.
func TestDetails_AreNotShared(t *testing.T) {
	t.Parallel()
	given := map[string]any{"where": []string{"a"}}
	err := bus.ErrorWithDetails(bus.Errorf(http.StatusConflict, "none left"), soldOut, given)
	given["where"].([]string)[0] = "changed"
	failed := kit.AsBusError(t, err)
	for range 2 {
		var members map[string]json.RawMessage
		err := failed.DecodeDetails(&members)
		require.NoError(t, err, members)
		assert.Equal(t, `["a"]`, string(members["where"]), members)
		copy(members["where"], `["b"]`)
		members["more"] = nil
	}
}

func TestErrors_OfOneTypeAreAlike(t *testing.T) {
	t.Parallel()
	kind := &bus.Error{Type: soldOut}
	wrapped := bus.Errorf(http.StatusBadGateway, "asked: %w", merchant{}.Order("sold out"))
	for _, test := range []struct {
		name        string
		err, target error
		want        bool
	}{
		{"the same", merchant{}.Order("sold out"), kind, true},
		{"wrapped", merchant{}.Order("wrapped"), kind, true},
		{"inside another", wrapped, kind, true},
		{"another", merchant{}.Order("stopped"), kind, false},
		{"none", merchant{}.Order("plain"), kind, false},
		{"neither", merchant{}.Order("plain"), &bus.Error{Status: http.StatusConflict}, false},
		{"no error", errors.New("x"), kind, false},
		{"a sentinel", merchant{}.Order("sold out"), bus.ErrTimeout, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := errors.Is(test.err, test.target); got != test.want {
				t.Errorf("%s: %t", test.name, got)
			}
		})
	}
}

func TestWithDetails(t *testing.T) {
	t.Parallel()
	if err := bus.ErrorWithDetails(nil, soldOut, precise); err != nil {
		t.Errorf("no error became %v", err)
	}
	cause := errors.New("cause")
	before := bus.Errorf(http.StatusConflict, "no: %w", cause)
	after := bus.ErrorWithDetails(bus.ErrorWithDetails(before, stopped, map[string]int{"a": 1}), soldOut, nil)
	failed := kit.AsBusError(t, after)
	assert.Equal(t, soldOut, failed.Type)
	require.Error(t, failed.DecodeDetails(&struct{}{}))
	assert.Equal(t, "no: cause", failed.Detail)
	assert.ErrorIs(t, after, cause)
	if kit.AsBusError(t, before).Type != "" {
		t.Error("the error was changed")
	}
	failed = kit.AsBusError(t, bus.ErrorWithDetails(conflictError{cause}, soldOut, nil))
	assert.Equal(t, 409, failed.Status)
	assert.ErrorIs(t, failed, cause)
}

// cyclic refers to itself.
type cyclic struct{ Next *cyclic }

// TestDetails_LeftOut holds which details do not travel, and how an author is told.
func TestDetails_LeftOut(t *testing.T) {
	t.Parallel()
	endless := new(cyclic)
	endless.Next = endless
	nested := any(1)
	for range 70 {
		nested = []any{nested}
	}
	var nothing *shortage
	for _, test := range []struct {
		name    string
		details any
		want    string // JSON; "" for none
		told    string // of DecodeDetails, when there are none
	}{
		{"nothing", nil, "", "the error has no details"},
		{"a nil pointer", nothing, "", "the error has no details"},
		{"an empty object", struct{}{}, "", "the error has no details"},
		{"a nil map", map[string]int(nil), "", "the error has no details"},
		{"a list", []int{1}, "", "left out: []int is no JSON object"},
		{"a text", "x", "", "left out: string is no JSON object"},
		{"a function", map[string]any{"a": func() {}}, "", "left out: map[string]interface {} is no JSON object"},
		{"not a number", map[string]float64{"a": math.NaN()}, "", "left out: map[string]float64 is no JSON object"},
		{"endless", endless, "", "left out: *calls_test.cyclic is no JSON object"},
		{"too deep", map[string]any{"a": nested}, "", "nests deeper than 64 levels"},
		{"too large", map[string]string{"a": strings.Repeat("x", 64<<10)}, "",
			"they are 65544 bytes of JSON; the limit is 65536"},
		{"not UTF-8", map[string]string{"a": "x\xffy"}, `{"a":"x�y"}`, ""},
		{"names of others", map[string]any{"id": 7, "status": 1, "ID": 8, "": nil}, `{"":null,"ID":8}`, ""},
		{"only others", map[string]any{"errors": 7, "title": 1}, "",
			"left out: every error has members of these names: errors, title"},
		{"digits", map[string]json.Number{"a": "1e400", "b": "0.10", "c": "12345678901234567890123"},
			`{"a":1e400,"b":0.10,"c":12345678901234567890123}`, ""},
		{"raw", json.RawMessage(`{ "a": [1.50] }`), `{"a":[1.50]}`, ""},
		{"almost too long", map[string]string{"a": strings.Repeat("x", 64<<10-8)},
			`{"a":"` + strings.Repeat("x", 64<<10-8) + `"}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			failed := kit.AsBusError(t, bus.ErrorWithDetails(bus.Errorf(http.StatusConflict, "no"), soldOut, test.details))
			assert.Equal(t, soldOut, failed.Type, test.name)
			assert.Equal(t, 409, failed.Status, test.name)
			members := map[string]json.RawMessage{}
			err := failed.DecodeDetails(&members)
			if test.want == "" {
				assert.ErrorContains(t, err, test.told, test.name)
				return
			}
			got, failure := json.Marshal(members)
			require.NoError(t, err, test.name)
			require.NoError(t, failure, test.name)
			assert.Equal(t, test.want, string(got), test.name)
		})
	}
}

func TestDetails_ThatDoNotFit(t *testing.T) {
	t.Parallel()
	failed := kit.AsBusError(t, bus.ErrorWithDetails(bus.Errorf(http.StatusConflict, "no"), soldOut,
		map[string]string{"left": "many"}))
	for told, into := range map[string]any{
		"do not fit *calls_test.shortage: /left expects": new(shortage), "do not fit calls_test.shortage: ": shortage{},
		"do not fit <nil>: ": nil, "do not fit *int: ": (*int)(nil), "do not fit *string: ": new(string),
	} {
		err := failed.DecodeDetails(into)
		assert.ErrorContains(t, err, told, "into %T", into)
	}
}

// TestDetails_LeftOutAreLogged holds that the author of a handler is told once for each answer, from a method and from
// a web handler.
func TestDetails_LeftOutAreLogged(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		for host, path := range map[string]string{"shop.example": "/order?why=reserved", "web.example": "/web"} {
			logged := new(kit.Lines)
			conn := w.Connect(host, bus.WithLogger(zerolog.New(logged)))
			kit.Serve(t, conn, merchant{conn})
			require.NoError(t, conn.Handle("GET", "/web", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				bus.WriteError(w, r, merchant{}.Order("reserved"))
			})))
			failed := kit.AsBusError(t, conn.Call(t.Context(), "GET https://"+host+path, nil, nil))
			got := shortage{}
			err := failed.DecodeDetails(&got)
			require.NoError(t, err, path)
			assert.Equal(t, uint64(1), got.Left, path)
			assert.Equal(t, conn.ID(), failed.ID, path)
			kit.CloseConn(t, conn)
			line := logged.Line(t, "details of an error left out")
			assert.Equal(t, "warn", line["level"], path)
			assert.Equal(t, "every error has members of these names: id, title", line["reason"], path)
			assert.Equal(t, failed.MsgID, line["msgId"], path)
		}
	})
}

// TestForeignProblems holds what arrives of a problem that an http.Handler writes by itself, and what is passed on.
func TestForeignProblems(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		conn := w.Connect("web.example")
		var body string
		answer := func(path string, answer http.HandlerFunc) {
			if err := conn.Handle("POST", path, answer); err != nil {
				t.Fatal(err)
			}
		}
		answer("/foreign", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json; charset=utf-8")
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(body))
		})
		answer("/passed", func(w http.ResponseWriter, r *http.Request) {
			bus.WriteError(w, r, conn.Call(r.Context(), "https://web.example/foreign", nil, nil))
		})
		for _, test := range []struct {
			name                        string
			body, kind, detail, details string
			arguments                   int
		}{
			{"credit",
				`{"type":"https://example.com/probs/out-of-credit","title":"You do not have enough credit.","detail":"Your balance is 30.",` +
					`"instance":"/account/12345/msgs/abc","balance":30.00,"accounts":["/account/12345","/account/67890"]}`,
				"https://example.com/probs/out-of-credit", "Your balance is 30.",
				`{"accounts":["/account/12345","/account/67890"],"balance":30.00}`, 0,
			},
			{"validation",
				`{"type":"https://example.net/validation-error","errors":[{"detail":"must be positive","pointer":"#/age"}]}`,
				"https://example.net/validation-error", "", `{"errors":[{"detail":"must be positive","pointer":"#/age"}]}`, 1,
			},
			{"by name", `{"type":"about:blank","errors":{"age":["must be positive"]}}`, "", "",
				`{"errors":{"age":["must be positive"]}}`, 0},
			{"arguments", `{"errors":[{"name":"x","in":"body","detail":"is odd"}]}`, "", "", `{}`, 1},
			{"other types", `{"type":5,"detail":"yes","id":7,"status":"403","internal":"no","host":{},"left":1,"errors":null}`,
				"", "yes", `{"left":1}`, 0},
			{"relative", `{"type":"/problems/x"}`, "/problems/x", "", `{}`, 0},
			{"a large one", `{"more":"` + strings.Repeat("x", 1<<19) + `"}`, "", "",
				`{"more":"` + strings.Repeat("x", 1<<19) + `"}`, 0},
			{"too large", `{"type":"x","detail":"y","more":"` + strings.Repeat("x", 1<<20) + `"}`, "x", "y", `{}`, 0},
			{"too strange", `{"type":"x","detail":{},"more":"` + strings.Repeat("x", 1<<20) + `"}`, "", "", `{}`, 0},
			{"no object", `["x"]`, "", "", `{}`, 0},
			{"null", `null`, "", "", `{}`, 0},
			{"not JSON", `{"type":"x"`, "", "", `{}`, 0},
			{"twice", `{"type":"x","type":"y"}`, "", "", `{}`, 0},
			{"case counts", `{"Type":"x","Detail":"y"}`, "", "", `{"Detail":"y","Type":"x"}`, 0},
			{"not UTF-8", "{\"type\":\"\xff\"}", "", "", `{}`, 0},
			{"escaped names", `{"\u0074ype":"x","a\nb":1}`, "x", "", `{"a\nb":1}`, 0},
		} {
			t.Run(test.name, func(t *testing.T) {
				body = test.body
				for _, path := range []string{"/foreign", "/passed"} {
					failed := kit.AsBusError(t, conn.Call(t.Context(), "https://web.example"+path, nil, nil))
					members := map[string]json.RawMessage{}
					_ = failed.DecodeDetails(&members)
					got, err := json.Marshal(members)
					require.NoError(t, err)
					assert.Equal(t, 403, failed.Status)
					assert.Equal(t, test.kind, failed.Type)
					assert.Equal(t, test.detail, failed.Detail)
					assert.Equal(t, test.details, string(got))
					assert.Len(t, failed.Arguments, test.arguments)
				}
			})
		}
	})
}

// TestDetails_OverHTTP holds what a client of a gateway reads: valid JSON, without a name twice.
func TestDetails_OverHTTP(t *testing.T) {
	t.Parallel()
	recorder := httptest.NewRecorder()
	failed := *kit.AsBusError(t, merchant{}.Order("reserved"))
	failed.Type = "urn:x\xff"
	bus.WriteError(recorder, httptest.NewRequest(http.MethodGet, "/x", http.NoBody), &failed)
	want := `{"type":"urn:x�","title":"Conflict","status":409,"detail":"none left","instance":"/x","left":1}`
	if got := recorder.Body.String(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

package calls_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
)

// conflictError is an error of an application that knows its status.
type conflictError struct{ cause error }

func (conflictError) Error() string { return "somebody was faster" }

func (e conflictError) Unwrap() error { return e.cause }

func (conflictError) StatusCode() int { return http.StatusConflict }

func TestStatusOf(t *testing.T) {
	t.Parallel()
	missing := bus.Errorf(http.StatusNotFound, "no product 7")
	for _, test := range []struct {
		name   string
		err    error
		status int
	}{
		{"none", nil, 200},
		{"of the bus", missing, 404},
		{"wrapped", fmt.Errorf("loading: %w", missing), 404},
		{"an application's", conflictError{}, 409},
		{"the outermost one counts", conflictError{missing}, 409},
		{"and the other way round", bus.Errorf(http.StatusBadGateway, "asked: %w", conflictError{}), 502},
		{"a deadline", fmt.Errorf("waiting: %w", context.DeadlineExceeded), 504},
		{"a cancellation", context.Canceled, 503},
		{"a caller who has left", fmt.Errorf("waiting: %w", bus.ErrCallerLeft), 503},
		{"anything else", errors.New("the disk is full"), 500},
		{"a status that stands for no error", bus.Errorf(200, "fine"), 500},
		{"of the bus, without a status", &bus.Error{Detail: "no status"}, 500},
		{"of the bus, with that of success", fmt.Errorf("loading: %w", &bus.Error{Status: 200}), 500},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := bus.StatusOf(test.err); got != test.status {
				t.Errorf("%s: %d, want %d", test.name, got, test.status)
			}
		})
	}
}

// TestError_TextOfEnums holds what loggers that write JSON make of them, and that it can be read again.
func TestError_TextOfEnums(t *testing.T) {
	t.Parallel()
	type call struct {
		Side     bus.Side
		Executed bus.Executed
	}
	all := []call{{bus.ClientSide, bus.ExecutedNo}, {bus.ServerSide, bus.ExecutedYes},
		{bus.ClientSide, bus.ExecutedUnknown}}
	text, err := json.Marshal(all)
	want := `[{"Side":"client","Executed":"no"},{"Side":"server","Executed":"yes"},{"Side":"client","Executed":"unknown"}]`
	require.NoError(t, err)
	assert.Equal(t, want, string(text))
	var again []call
	err = json.Unmarshal(text, &again)
	require.NoError(t, err, "read again")
	assert.Equal(t, all, again, "read again")
	for _, bad := range []string{`{"Side":"none"}`, `{"Executed":"2"}`} {
		if err := json.Unmarshal([]byte(bad), new(call)); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}

func TestIsInternal(t *testing.T) {
	t.Parallel()
	late := fmt.Errorf("dialling: %w", context.DeadlineExceeded)
	for _, test := range []struct {
		name string
		err  error
		want bool
	}{
		{"none", nil, false},
		{"with a status", bus.Errorf(http.StatusNotFound, "no product 7"), false},
		{"of status 500", bus.Errorf(http.StatusInternalServerError, "broken"), true},
		{"without a status", errors.New("the disk is full"), true},
		{"a deadline", late, true},
		{"a cancellation", fmt.Errorf("reading: %w", context.Canceled), true},
		{"that of a context", context.Canceled, false},
		{"the cause of a context", bus.ErrCallerLeft, false},
		{"a cause that is wrapped", fmt.Errorf("reading: %w", bus.ErrCallerLeft), true},
		{"a deadline with a status", bus.Errorf(http.StatusGatewayTimeout, "the warehouse is closed: %w", late), false},
		{"an application's", conflictError{late}, false},
		{"a status that is wrapped", fmt.Errorf("loading: %w", bus.Errorf(http.StatusGatewayTimeout, "late")), false},
		{"made of parts", &bus.Error{Status: http.StatusServiceUnavailable, Detail: "busy"}, false},
		{"a status that is none", bus.Errorf(200, "fine"), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := bus.IsInternal(test.err); got != test.want {
				t.Errorf("%s: %t, want %t", test.name, got, test.want)
			}
		})
	}
}

// TestTimeouts holds that an HTTP client over the bus recognises the end of time, and nothing else, as one.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		kit.NewScripted(t, b.World, kit.ScriptedHost, kit.Ack)
		client := http.Client{Transport: b.Connect("caller.example")}
		for url, timeout := range map[string]bool{strings.TrimPrefix(kit.ScriptedURL, "GET "): true,
			"https://nobody.example/x": false} {
			_, err := client.Do(kit.MustRequest(t, url)) //nolint:bodyclose // there is no response
			failed, _ := errors.AsType[net.Error](err)
			require.NotNil(t, failed, url)
			assert.Equal(t, timeout, failed.Timeout(), url)
		}
	})
}

func TestErrorf_KeepsItsCauses(t *testing.T) {
	t.Parallel()
	one, two := errors.New("one"), errors.New("two")
	err := bus.Errorf(http.StatusConflict, "%w and %w", one, two)
	assert.ErrorIs(t, err, one)
	assert.ErrorIs(t, err, two)
	assert.EqualError(t, err, "409 Conflict: one and two")
}

func TestError_TextOfAWrappedErrorTravels(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		conn := w.Connect("wrapper.example")
		kit.Serve(t, conn, kit.Wrapper{})
		err := conn.Call(t.Context(), "https://wrapper.example/wrapped", nil, nil)
		failed, _ := errors.AsType[*bus.Error](err)
		require.NotNil(t, failed)
		assert.Equal(t, 404, failed.Status)
		assert.Equal(t, "loading order 7: no product 7", failed.Detail)
	})
}

// clueless returns errors that no status makes errors.
type clueless struct{}

func (clueless) Fail(status int) error { return &bus.Error{Status: status, Detail: "no product 7"} }

func (c clueless) Wrapped(status int) error { return fmt.Errorf("order 7: %w", c.Fail(status)) }

func (clueless) Custom(status int) error { return custom(status) }

// custom is an error type with a status of its own.
type custom int

func (custom) Error() string { return "custom" }

func (c custom) StatusCode() int { return int(c) }

func TestError_IsNeverASuccess(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		logged := new(kit.Lines)
		conn := w.Connect("clueless.example", bus.WithLogger(zerolog.New(logged)))
		kit.Serve(t, conn, clueless{})
		statuses := []int{0, 200, 302, 600, -1}
		for _, status := range statuses {
			for path, detail := range map[string]string{"fail": "no product 7", "wrapped": "order 7: no product 7",
				"custom": "custom"} {
				err := conn.Call(t.Context(), "https://clueless.example/"+path, bus.Args{"status": status}, nil)
				failed, _ := errors.AsType[*bus.Error](err)
				require.NotNil(t, failed, "%s with status %d", path, status)
				assert.Equal(t, 500, failed.Status, "%s with status %d", path, status)
				assert.Equal(t, detail, failed.Detail, "%s with status %d", path, status)
			}
		}
		kit.CloseConn(t, conn)
		for _, status := range statuses {
			if count := logged.Count(fmt.Sprintf(`"detail":"the handler returned an error with status %d, which is none; use 400 to 599: `, status)); count != 3 {
				t.Errorf("status %d is told %d times:\n%s", status, count, logged)
			}
		}
	})
}

func TestServe_ErrorWithoutAnError(t *testing.T) {
	t.Parallel()
	recorder := httptest.NewRecorder()
	bus.WriteError(recorder, httptest.NewRequest(http.MethodGet, "/x", http.NoBody), nil)
	assert.Equal(t, http.StatusInternalServerError, recorder.Code)
	assert.Contains(t, recorder.Body.String(), "nil error")
}

// dialler fails with the text of some driver.
type dialler struct{}

func (dialler) Dial(why string) error {
	cause := map[string]error{"late": context.DeadlineExceeded, "left": context.Canceled, "lost": io.EOF}[why]
	return fmt.Errorf("dialling secret@db.internal: %w", cause)
}

// TestError_TextOfADriverIsInternal holds that a text without a status of its own is logged where it arose, and that
// the far end of a chain knows what it is.
func TestError_TextOfADriverIsInternal(t *testing.T) {
	t.Parallel()
	for why, status := range map[string]int{"late": 504, "left": 503, "lost": 500} {
		t.Run(why, func(t *testing.T) {
			kit.OverBoth(t, func(t *testing.T, w *kit.World) {
				logged := new(kit.Lines)
				kit.Serve(t, w.Connect("dialler.example", bus.WithLogger(zerolog.New(logged).Level(zerolog.InfoLevel))), dialler{})
				caller := w.Connect("caller.example")
				require.NoError(t, caller.Handle("GET", "/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					bus.WriteError(w, r, caller.Call(r.Context(), "https://dialler.example/dial", bus.Args{"why": why}, nil))
				})))
				err := caller.Call(t.Context(), "GET https://caller.example/", nil, nil)
				failed, _ := errors.AsType[*bus.Error](err)
				require.NotNil(t, failed)
				assert.Equal(t, status, failed.Status)
				assert.True(t, strings.HasPrefix(failed.Detail, "dialling secret@db.internal: "), failed.Detail)
				assert.True(t, bus.IsInternal(err))
				line := logged.Line(t, "request failed")
				assert.Equal(t, "error", line["level"])
				assert.Equal(t, failed.Detail, line["detail"])
				assert.Equal(t, float64(status), line["status"])
			})
		})
	}
}

// TestError_OfACallerThatLeft has a caller go away from a handler that heeds its context: no caller is left who would
// look for the reason, so that it is logged for debugging alone.
func TestError_OfACallerThatLeft(t *testing.T) {
	t.Parallel()
	for path, detail := range map[string]string{"wait": "waiting: context canceled",
		"explain": "waiting: the caller stopped waiting"} {
		kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
			logged := new(kit.Lines)
			callee := b.Connect("patient.example", bus.WithLogger(zerolog.New(logged).Level(zerolog.DebugLevel)))
			kit.Serve(t, callee, patient{})
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second/2, cancel) // not before it has an ack
			err := b.Connect("caller.example").Call(ctx, "https://patient.example/"+path, nil, nil)
			assert.Equal(t, 503, bus.StatusOf(err), "the call")
			assert.False(t, bus.IsInternal(err), "the call")
			synctest.Wait()
			line := logged.Line(t, "request failed")
			assert.Equal(t, "debug", line["level"])
			assert.Equal(t, detail, line["detail"])
			assert.Equal(t, 503.0, line["status"])
		})
	}
}

// patient waits for the end of its context.
type patient struct{}

func (patient) Wait(ctx context.Context) error {
	<-ctx.Done()
	return fmt.Errorf("waiting: %w", ctx.Err())
}

func (patient) Explain(ctx context.Context) error {
	<-ctx.Done()
	return fmt.Errorf("waiting: %w", context.Cause(ctx))
}

// TestError_OfAContext has a handler return what its context says when its time is over: that is no error to be
// looked into, and no secret.
func TestError_OfAContext(t *testing.T) {
	t.Parallel()
	for end, status := range map[error]int{context.DeadlineExceeded: 504, context.Canceled: 503} {
		kit.OverBoth(t, func(t *testing.T, w *kit.World) {
			logged := new(kit.Lines)
			kit.Serve(t, w.Connect("ended.example", bus.WithLogger(zerolog.New(logged).Level(zerolog.DebugLevel))), over{end})
			err := w.Connect("caller.example").Call(t.Context(), "https://ended.example/end", nil, nil)
			failed, _ := errors.AsType[*bus.Error](err)
			require.NotNil(t, failed)
			assert.Equal(t, status, failed.Status)
			assert.Equal(t, end.Error(), failed.Detail)
			assert.False(t, bus.IsInternal(err))
			if line := logged.Line(t, "request failed"); line["level"] != "debug" {
				t.Errorf("logged is %v", line)
			}
		})
	}
}

// over returns what a context says that has ended.
type over struct{ why error }

func (o over) End() error { return o.why }

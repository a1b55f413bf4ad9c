package bus_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
)

// conflictError is an error of an application that knows its status.
type conflictError struct{ cause error }

func (conflictError) Error() string   { return "somebody was faster" }
func (e conflictError) Unwrap() error { return e.cause }
func (conflictError) StatusCode() int { return http.StatusConflict }

func TestStatusOf(t *testing.T) {
	t.Parallel()
	missing := bus.Errorf(http.StatusNotFound, "no product 7")
	for name, test := range map[string]struct {
		err    error
		status int
	}{
		"none":                              {nil, 200},
		"of the bus":                        {missing, 404},
		"wrapped":                           {fmt.Errorf("loading: %w", missing), 404},
		"an application's":                  {conflictError{}, 409},
		"the outermost one counts":          {conflictError{missing}, 409},
		"and the other way round":           {bus.Errorf(http.StatusBadGateway, "asked: %w", conflictError{}), 502},
		"a deadline":                        {fmt.Errorf("waiting: %w", context.DeadlineExceeded), 504},
		"a cancellation":                    {context.Canceled, 503},
		"a caller who has left":             {fmt.Errorf("waiting: %w", bus.ErrCallerLeft), 503},
		"anything else":                     {errors.New("the disk is full"), 500},
		"a status that stands for no error": {bus.Errorf(200, "fine"), 500},
		"of the bus, without a status":      {&bus.Error{Detail: "no status"}, 500},
		"of the bus, with that of success":  {fmt.Errorf("loading: %w", &bus.Error{Status: 200}), 500},
	} {
		if got := bus.StatusOf(test.err); got != test.status {
			t.Errorf("%s: %d, want %d", name, got, test.status)
		}
	}
}

// TestTextOfEnums holds what loggers that write JSON make of them, and that it can be read again.
func TestTextOfEnums(t *testing.T) {
	t.Parallel()
	type call struct {
		Side     bus.Side
		Executed bus.Executed
	}
	all := []call{{bus.ClientSide, bus.ExecutedNo}, {bus.ServerSide, bus.ExecutedYes}, {bus.ClientSide, bus.ExecutedUnknown}}
	text, err := json.Marshal(all)
	if want := `[{"Side":"client","Executed":"no"},{"Side":"server","Executed":"yes"},{"Side":"client","Executed":"unknown"}]`; err != nil || string(text) != want {
		t.Errorf("%s, %v; want %s", text, err, want)
	}
	var again []call
	if err := json.Unmarshal(text, &again); err != nil || !slices.Equal(again, all) {
		t.Errorf("read again: %v, %v", again, err)
	}
	for _, bad := range []string{`{"Side":"none"}`, `{"Executed":"2"}`} {
		if err := json.Unmarshal([]byte(bad), new(call)); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}

func TestIsInternal(t *testing.T) {
	t.Parallel()
	late := fmt.Errorf("dialling: %w", context.DeadlineExceeded)
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"none":                     {nil, false},
		"with a status":            {bus.Errorf(http.StatusNotFound, "no product 7"), false},
		"of status 500":            {bus.Errorf(http.StatusInternalServerError, "broken"), true},
		"without a status":         {errors.New("the disk is full"), true},
		"a deadline":               {late, true},
		"a cancellation":           {fmt.Errorf("reading: %w", context.Canceled), true},
		"that of a context":        {context.Canceled, false},
		"the cause of a context":   {bus.ErrCallerLeft, false},
		"a cause that is wrapped":  {fmt.Errorf("reading: %w", bus.ErrCallerLeft), true},
		"a deadline with a status": {bus.Errorf(http.StatusGatewayTimeout, "the warehouse is closed: %w", late), false},
		"an application's":         {conflictError{late}, false},
		"a status that is wrapped": {fmt.Errorf("loading: %w", bus.Errorf(http.StatusGatewayTimeout, "late")), false},
		"made of parts":            {&bus.Error{Status: http.StatusServiceUnavailable, Detail: "busy"}, false},
		"a status that is none":    {bus.Errorf(200, "fine"), true},
	} {
		if got := bus.IsInternal(test.err); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}

// TestTimeouts holds that an HTTP client over the bus recognises the end of time, and nothing else, as one.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		newScripted(t, b.world, scriptedHost, ack)
		client := http.Client{Transport: b.connect("caller.example")}
		for url, timeout := range map[string]bool{strings.TrimPrefix(scriptedURL, "GET "): true, "https://nobody.example/x": false} {
			_, err := client.Do(mustRequest(t, url)) //nolint:bodyclose // there is no response
			failed, _ := errors.AsType[net.Error](err)
			if failed == nil || failed.Timeout() != timeout {
				t.Errorf("%s: timeout is to be %t: %v", url, timeout, err)
			}
		}
	})
}

func TestErrorfKeepsItsCauses(t *testing.T) {
	t.Parallel()
	one, two := errors.New("one"), errors.New("two")
	err := bus.Errorf(http.StatusConflict, "%w and %w", one, two)
	if !errors.Is(err, one) || !errors.Is(err, two) || err.Error() != "409 Conflict: one and two" {
		t.Errorf("got %v", err)
	}
}

// wrapper returns errors as applications do.
type wrapper struct{}

func (wrapper) Wrapped() error {
	return fmt.Errorf("loading order 7: %w", bus.Errorf(http.StatusNotFound, "no product 7"))
}

func TestTheTextOfAWrappedErrorTravels(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		conn := w.connect("wrapper.example")
		serve(t, conn, wrapper{})
		err := conn.Call(t.Context(), "https://wrapper.example/wrapped", nil, nil)
		failed, _ := errors.AsType[*bus.Error](err)
		if failed == nil || failed.Status != 404 || failed.Detail != "loading order 7: no product 7" {
			t.Errorf("got %v", err)
		}
	})
}

// clueless returns errors that no status makes errors.
type clueless struct{}

func (clueless) Fail(status int) error { return &bus.Error{Status: status, Detail: "no product 7"} }

func (c clueless) Wrapped(status int) error { return fmt.Errorf("order 7: %w", c.Fail(status)) }

func (clueless) Custom(status int) error { return custom(status) }

// custom is an error type with a status of its own.
type custom int

func (custom) Error() string     { return "custom" }
func (c custom) StatusCode() int { return int(c) }

func TestAnErrorIsNeverASuccess(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		logged := new(lines)
		conn := w.connect("clueless.example", bus.WithLogger(zerolog.New(logged)))
		serve(t, conn, clueless{})
		for _, status := range []int{0, 200, 302, 600, -1} {
			for path, detail := range map[string]string{"fail": "no product 7", "wrapped": "order 7: no product 7", "custom": "custom"} {
				err := conn.Call(t.Context(), "https://clueless.example/"+path, bus.Args{"status": status}, nil)
				if failed, _ := errors.AsType[*bus.Error](err); failed == nil || failed.Status != 500 || failed.Detail != detail {
					t.Errorf("%s with status %d: %v", path, status, err)
				}
			}
			if count := logged.count(fmt.Sprintf(`"detail":"the handler returned an error with status %d, which is none; use 400 to 599: `, status)); count != 3 {
				t.Errorf("status %d is told %d times:\n%s", status, count, logged)
			}
		}
	})
}

func TestServe_ErrorWithoutAnError(t *testing.T) {
	t.Parallel()
	recorder := httptest.NewRecorder()
	bus.WriteError(recorder, httptest.NewRequest(http.MethodGet, "/x", http.NoBody), nil)
	if recorder.Code != http.StatusInternalServerError || !strings.Contains(recorder.Body.String(), "nil error") {
		t.Errorf("%d %s", recorder.Code, recorder.Body)
	}
}

// dialler fails with the text of some driver.
type dialler struct{}

func (dialler) Dial(why string) error {
	cause := map[string]error{"late": context.DeadlineExceeded, "left": context.Canceled, "lost": io.EOF}[why]
	return fmt.Errorf("dialling secret@db.internal: %w", cause)
}

// TestTheTextOfADriverIsInternal holds that a text without a status of its own is logged where it arose, and that the
// far end of a chain knows what it is.
func TestTheTextOfADriverIsInternal(t *testing.T) {
	t.Parallel()
	for why, status := range map[string]int{"late": 504, "left": 503, "lost": 500} {
		overBoth(t, func(t *testing.T, w *world) {
			logged := new(lines)
			serve(t, w.connect("dialler.example", bus.WithLogger(zerolog.New(logged).Level(zerolog.InfoLevel))), dialler{})
			caller := w.connect("caller.example")
			if err := caller.Handle("GET", "/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				bus.WriteError(w, r, caller.Call(r.Context(), "https://dialler.example/dial", bus.Args{"why": why}, nil))
			})); err != nil {
				t.Fatal(err)
			}
			err := caller.Call(t.Context(), "GET https://caller.example/", nil, nil)
			failed, _ := errors.AsType[*bus.Error](err)
			if failed == nil || failed.Status != status || !strings.HasPrefix(failed.Detail, "dialling secret@db.internal: ") || !bus.IsInternal(err) {
				t.Errorf("%s: %v, internal %t", why, err, bus.IsInternal(err))
			}
			if line := logged.line(t, "request failed"); line["level"] != "error" || line["detail"] != failed.Detail || line["status"] != float64(status) {
				t.Errorf("%s: logged is %v", why, line)
			}
		})
	}
}

// TestWhatACallerLeavesIsNoFault has a caller go away from a handler that heeds its context: nobody is left who would look for
// the reason, so that it is logged for debugging alone.
func TestWhatACallerLeavesIsNoFault(t *testing.T) {
	t.Parallel()
	for path, detail := range map[string]string{"wait": "waiting: context canceled", "explain": "waiting: the caller stopped waiting"} {
		inBubble(t, func(t *testing.T, b *bubble) {
			logged := new(lines)
			callee := b.connect("patient.example", bus.WithLogger(zerolog.New(logged).Level(zerolog.DebugLevel)))
			serve(t, callee, patient{})
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second/2, cancel) // not before it has an ack
			err := b.connect("caller.example").Call(ctx, "https://patient.example/"+path, nil, nil)
			if bus.StatusOf(err) != 503 || bus.IsInternal(err) {
				t.Errorf("the call: %v", err)
			}
			synctest.Wait()
			if line := logged.line(t, "request failed"); line["level"] != "debug" || line["detail"] != detail || line["status"] != 503.0 {
				t.Errorf("logged is %v", line)
			}
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

// TestTheErrorOfAContextIsNoFault has a handler return what its context says when its time is over: that is no fault to be
// looked into, and no secret.
func TestTheErrorOfAContextIsNoFault(t *testing.T) {
	t.Parallel()
	for end, status := range map[error]int{context.DeadlineExceeded: 504, context.Canceled: 503} {
		overBoth(t, func(t *testing.T, w *world) {
			logged := new(lines)
			serve(t, w.connect("ended.example", bus.WithLogger(zerolog.New(logged).Level(zerolog.DebugLevel))), over{end})
			err := w.connect("caller.example").Call(t.Context(), "https://ended.example/end", nil, nil)
			failed, _ := errors.AsType[*bus.Error](err)
			if failed == nil || failed.Status != status || failed.Detail != end.Error() || bus.IsInternal(err) {
				t.Errorf("%v, internal %t", err, bus.IsInternal(err))
			}
			if line := logged.line(t, "request failed"); line["level"] != "debug" {
				t.Errorf("logged is %v", line)
			}
		})
	}
}

// over returns what a context says that has ended.
type over struct{ why error }

func (o over) End() error { return o.why }

package bus_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
)

// failing fails as a function, and as a web method in each way that there is.
type failing struct{ conn *bus.Conn }

// whatFails says how each failure is answered and logged.
func whatFails() map[string]struct {
	err           error
	status        int
	detail, level string
} {
	return map[string]struct {
		err           error
		status        int
		detail, level string
	}{
		"fault":    {errors.New("the disk is full"), 500, "the disk is full", "error"},
		"late":     {fmt.Errorf("asking the disk: %w", context.DeadlineExceeded), 504, "asking the disk: context deadline exceeded", "error"},
		"over":     {context.DeadlineExceeded, 504, "context deadline exceeded", "debug"},
		"missing":  {bus.Errorf(http.StatusNotFound, "no product 7"), 404, "no product 7", "debug"},
		"upstream": {bus.Errorf(http.StatusBadGateway, "no answer from the bank"), 502, "no answer from the bank", "debug"},
		"kind":     {bus.ErrorWithDetails(bus.Errorf(http.StatusConflict, "none left"), soldOut, precise), 409, "none left", "debug"},
	}
}

func (f failing) Function(ctx context.Context, why string) error { return f.err(ctx, why) }

func (f failing) Returned(_ http.ResponseWriter, r *http.Request) error {
	return f.err(r.Context(), r.URL.Query().Get("why"))
}

func (f failing) Written(w http.ResponseWriter, r *http.Request) {
	bus.WriteError(w, r, f.err(r.Context(), r.URL.Query().Get("why")))
}

// Proxied passes on the answer of another service byte for byte.
func (f failing) Proxied(w http.ResponseWriter, r *http.Request) error {
	request, err := http.NewRequestWithContext(r.Context(), http.MethodGet, "https://far.example/function?"+r.URL.RawQuery, http.NoBody)
	if err != nil {
		return err
	}
	response, err := f.conn.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	w.Header().Set("Content-Type", response.Header.Get("Content-Type"))
	w.WriteHeader(response.StatusCode)
	_, err = io.Copy(w, response.Body)
	return err
}

func (f failing) err(ctx context.Context, why string) error {
	if f.conn != nil {
		return f.conn.Call(ctx, "https://far.example/function", bus.Args{"why": why}, nil)
	}
	return whatFails()[why].err
}

// TestLinesOfFailures holds that a failure is logged once, in the same way whether a function returns it or a web handler writes
// it, at first hand or passed on from another service.
func TestLinesOfFailures(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		serve(t, w.connect("far.example"), failing{})
		for why := range whatFails() {
			for _, path := range []string{"function", "returned", "written"} {
				checkLineOfFailure(t, w, path, why, false)
				checkLineOfFailure(t, w, path, why, true)
			}
			checkLineOfFailure(t, w, "proxied", why, true)
		}
	})
}

func checkLineOfFailure(t *testing.T, w *world, path, why string, passedOn bool) {
	t.Helper()
	logged, want := new(lines), whatFails()[why]
	conn := w.connect("failing.example", bus.WithLogger(zerolog.New(logged).Level(zerolog.DebugLevel)))
	defer closeConn(t, conn)
	service := failing{}
	if passedOn {
		service.conn = conn
	}
	serve(t, conn, service)
	err := w.connect("caller.example").Call(t.Context(), "GET https://failing.example/"+path+"?why="+why, nil, nil)
	failed, _ := errors.AsType[*bus.Error](err)
	if failed == nil || failed.Status != want.status {
		t.Fatalf("%s %s, passed on %t: %v", path, why, passedOn, err)
	}
	line := logged.line(t, "request failed")
	kind, _ := line["type"].(string)
	if line["level"] != want.level || line["status"] != float64(want.status) || line["detail"] != want.detail || kind != failed.Type {
		t.Errorf("%s %s, passed on %t: logged is %v", path, why, passedOn, line)
	}
	if logged.count("request served") != 0 {
		t.Errorf("%s %s, passed on %t: it is served and failed", path, why, passedOn)
	}
}

// TestLineOfAFailedCall holds that the caller's line tells what it was answered.
func TestLineOfAFailedCall(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		logged := new(lines)
		serve(t, w.connect("far.example"), failing{})
		caller := w.connect("caller.example", bus.WithLogger(zerolog.New(logged).Level(zerolog.DebugLevel)))
		_ = caller.Call(t.Context(), "https://far.example/function", bus.Args{"why": "kind"}, nil)
		if line := logged.line(t, "call failed"); line["status"] != 409.0 || line["detail"] != "none left" || line["type"] != soldOut || line["level"] != "debug" {
			t.Errorf("logged is %v", line)
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
	overBoth(t, func(t *testing.T, w *world) {
		for _, path := range []string{"function", "web"} {
			for status, level := range map[int]string{500: "error", 503: "debug", 404: "debug"} {
				logged := new(lines)
				conn := w.connect("plain.example", bus.WithLogger(zerolog.New(logged).Level(zerolog.DebugLevel)))
				serve(t, conn, plain{})
				err := w.connect("caller.example").Call(t.Context(), fmt.Sprintf("GET https://plain.example/%s?status=%d", path, status), nil, nil)
				if bus.StatusOf(err) != status {
					t.Fatalf("%s: %v", path, err)
				}
				if line := logged.line(t, "request failed"); line["level"] != level || line["status"] != float64(status) || line["detail"] != nil || line["type"] != nil {
					t.Errorf("%s: logged is %v", path, line)
				}
				var failed, refused int64
				for _, served := range conn.Traffic().Served {
					failed, refused = failed+served.Failed, refused+served.Refused
				}
				if isFailure := status >= 500; isFailure != (failed == 1) || isFailure != (refused == 0) {
					t.Errorf("%s %d: %d failed, %d refused", path, status, failed, refused)
				}
				closeConn(t, conn)
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

// TestAResponseThatIsTooLargeHasFailed holds that what cannot be sent is a fault of its service: it counts as one, and its log
// says which limit it exceeds.
func TestAResponseThatIsTooLargeHasFailed(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		for path, want := range map[string]string{
			"function": "the response cannot be sent: a body of 65547 bytes exceeds the limit of 65536 for messages; see bus.WithMaxMessageBytes",
			"web":      "the response cannot be sent: a body of 65537 bytes exceeds the limit of 65536 for messages; see bus.WithMaxMessageBytes",
			"fields":   "the response cannot be sent: the head has 316 fields and about",
		} {
			logged := new(lines)
			conn := w.connect("large.example", bus.WithLogger(zerolog.New(logged).Level(zerolog.DebugLevel)), bus.WithMaxMessageBytes(64<<10))
			serve(t, conn, tooMuch{})
			err := w.connect("caller.example").Call(t.Context(), "GET https://large.example/"+path, nil, nil)
			failed, _ := errors.AsType[*bus.Error](err)
			if failed == nil || failed.Status != 500 || failed.Executed != bus.ExecutedYes || !strings.HasPrefix(failed.Detail, want) {
				t.Errorf("%s: %v", path, err)
			}
			if line := logged.line(t, "request failed"); line["level"] != "error" || line["status"] != 500.0 || line["detail"] != failed.Detail || logged.count("request served") != 0 {
				t.Errorf("%s: logged is %v", path, line)
			}
			var count int64
			for _, served := range conn.Traffic().Served {
				count += served.Failed
			}
			if count != 1 {
				t.Errorf("%s: %d requests have failed", path, count)
			}
			closeConn(t, conn)
		}
	})
}

package bustest

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
)

// Reporter wraps t for code that reports to it from the handlers of a service, such as mocks that are served on the
// bus:
//
//	controller := gomock.NewController(bustest.Reporter(t))
//
// It fits github.com/golang/mock, go.uber.org/mock and anything else that takes a testing.TB or a part of one. Errorf
// and its like fail the test, as usual. Fatalf and its like do so too, and then end the goroutine that calls
// them. If that is a handler, its caller gets 500 at once.
//
// While the test runs, a mock with t itself does the same, though the testing package permits FailNow only on the
// test's own goroutine. A report or log line after the end of the test is a panic with t: it ends the test binary, or
// becomes the response to a handler's caller, and hides the mock's message. A Reporter writes the message to standard
// error, and a failure still fails the test binary. All methods are safe for concurrent use.
func Reporter(t testing.TB) testing.TB {
	t.Helper()
	return &reporter{t}
}

// reporter is a testing.TB that may end any goroutine.
type reporter struct{ testing.TB }

// Error is like Errorf, without a format.
func (r *reporter) Error(args ...any) {
	r.Helper()
	r.report(fmt.Sprintln(args...))
}

// Errorf fails the test with a message.
func (r *reporter) Errorf(format string, args ...any) {
	r.Helper()
	r.report(fmt.Sprintf(format, args...))
}

// Fail fails the test without a message.
func (r *reporter) Fail() {
	r.Helper()
	r.inTime("Fail was called", r.TB.Fail)
}

// Log is like Logf, without a format.
func (r *reporter) Log(args ...any) {
	r.Helper()
	r.log(fmt.Sprintln(args...))
}

// Logf adds a line to what the test prints.
func (r *reporter) Logf(format string, args ...any) {
	r.Helper()
	r.log(fmt.Sprintf(format, args...))
}

// Fatal is like Fatalf, without a format.
func (r *reporter) Fatal(args ...any) {
	r.Helper()
	r.report(fmt.Sprintln(args...))
	r.exit()
}

// Fatalf fails the test with a message, and ends the goroutine.
func (r *reporter) Fatalf(format string, args ...any) {
	r.Helper()
	r.report(fmt.Sprintf(format, args...))
	r.exit()
}

// FailNow fails the test, and ends the goroutine.
func (r *reporter) FailNow() {
	r.Helper()
	r.report("FailNow was called")
	r.exit()
}

// report fails the test with a message.
func (r *reporter) report(message string) {
	r.Helper()
	message = strings.TrimSuffix(message, "\n")
	r.inTime(message, func() {
		r.Helper()
		r.TB.Error(message)
	})
}

func (r *reporter) log(message string) {
	r.Helper()
	message = strings.TrimSuffix(message, "\n")
	r.inTime(message, func() {
		r.Helper()
		r.TB.Log(message)
	})
}

// inTime calls report, which reports to the test. The testing package panics if the test has ended, after it has marked
// the parent tests as failed; inTime then writes the message to standard error.
func (r *reporter) inTime(message string, report func()) {
	r.Helper()
	defer func() {
		if late := recover(); late != nil {
			fmt.Fprintf(os.Stderr, "bustest: %v: %s\n", late, message)
		}
	}()
	report()
}

// exit ends the goroutine. A goroutine of the testing package has to end by FailNow, which marks the test as finished;
// another goroutine must not do that.
func (r *reporter) exit() {
	if ofTesting() {
		r.TB.FailNow()
		return
	}
	runtime.Goexit()
}

// ofTesting reports whether the testing package has started the goroutine, as it does for every test, subtest,
// benchmark and cleanup.
func ofTesting() bool {
	counters := make([]uintptr, 64)
	used := runtime.Callers(0, counters)
	for used == len(counters) {
		counters = make([]uintptr, 2*used)
		used = runtime.Callers(0, counters)
	}
	frames := runtime.CallersFrames(counters[:used])
	for {
		frame, more := frames.Next()
		if strings.HasPrefix(frame.Function, "testing.") {
			return true
		}
		if !more {
			return false
		}
	}
}

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
// and its like fail the test, as usual. Fatalf and its like do so too, and then end the goroutine that they are called
// on: in a handler, whose caller is answered 500 at once; on a goroutine of the test, as t.Fatalf does.
//
// With t itself a mock does the same for as long as the test runs, though the testing package permits FailNow only on
// the test's own goroutine. The difference is in what is reported or logged after the test has ended. With t that is a
// panic: it ends the test binary, or becomes the answer to a handler's caller, in place of what the mock had to say.
// With a Reporter it goes to standard error, and a failure still fails the tests as a whole. All methods are safe for concurrent use.
func Reporter(t testing.TB) testing.TB {
	t.Helper()
	return &reporter{t}
}

// reporter differs from a testing.TB in that it may end any goroutine.
type reporter struct{ testing.TB }

// Error is Errorf without a format.
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

// Log is Logf without a format.
func (r *reporter) Log(args ...any) {
	r.Helper()
	r.log(fmt.Sprintln(args...))
}

// Logf adds a line to what the test prints.
func (r *reporter) Logf(format string, args ...any) {
	r.Helper()
	r.log(fmt.Sprintf(format, args...))
}

// Fatal is Fatalf without a format.
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

// inTime reports to the test. The testing package panics if the test has ended; the message then goes to standard
// error. By then the failure has already been passed on to the parent tests.
func (r *reporter) inTime(message string, tell func()) {
	r.Helper()
	defer func() {
		if late := recover(); late != nil {
			fmt.Fprintf(os.Stderr, "bustest: %v: %s\n", late, message)
		}
	}()
	tell()
}

// exit ends the goroutine. A goroutine that the testing package has started has to end by FailNow, which marks the test
// as finished; on any other goroutine that would be premature.
func (r *reporter) exit() {
	if ofTesting() {
		r.TB.FailNow()
		return
	}
	runtime.Goexit()
}

// ofTesting reports whether the testing package has started the goroutine, as it does for every test, subtest, benchmark
// and cleanup.
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

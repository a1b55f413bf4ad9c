package bustest_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
)

// recordingT is a test that records its reports.
type recordingT struct {
	testing.TB

	mu      sync.Mutex // protects all below
	texts   []string
	stopped bool
	helpers int
}

func (r *recordingT) Error(args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.texts = append(r.texts, fmt.Sprint(args...))
}

func (r *recordingT) Log(args ...any) {
	r.Error(append([]any{"log: "}, args...)...)
}

func (r *recordingT) Fail() {
	r.Error("failed")
}

func (r *recordingT) FailNow() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
}

func (r *recordingT) Helper() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.helpers++
}

// seen returns the reports so far, and whether the test was stopped.
func (r *recordingT) seen() (texts []string, stopped bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.texts), r.stopped
}

// controller uses a test like the controllers of mocking packages: through an interface of its own, and with a cleanup.
type controller struct {
	t interface {
		Errorf(format string, args ...any)
		Fatalf(format string, args ...any)
		Helper()
	}
	mu      sync.Mutex // protects missing
	missing map[string]bool
}

// newController takes the same narrow interface as gomock, and finds Cleanup by the same type assertion.
func newController(t interface {
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}, expected ...string,
) *controller {
	c := &controller{missing: make(map[string]bool)}
	for _, method := range expected {
		c.missing[method] = true
	}
	c.t = t.(interface {
		Errorf(format string, args ...any)
		Fatalf(format string, args ...any)
		Helper()
	})
	t.(interface{ Cleanup(clean func()) }).Cleanup(c.finish)
	return c
}

func (c *controller) call(method string) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.missing[method] {
		c.t.Fatalf("Unexpected call to %s", method)
	}
	delete(c.missing, method)
}

func (c *controller) finish() {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for method := range c.missing {
		c.t.Errorf("missing call(s) to %s", method)
	}
}

// mock is a mocked service.
type mock struct{ controller *controller }

// Expected is a method whose call the test expects.
func (m mock) Expected() { m.controller.call("Expected") }

// Surprising is a method whose call the test does not expect.
func (m mock) Surprising() { m.controller.call("Surprising") }

// TestReporter_InHandler serves a mock on the bus, and makes an unexpected call.
func TestReporter_InHandler(t *testing.T) {
	t.Parallel()
	for name, shortCircuit := range map[string]bool{"broker": false, "short circuit": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
				record := &recordingT{TB: t}
				server, caller := b.Connect("mock.example"), b.Connect("caller.example", withShortCircuit(shortCircuit))
				require.NoError(t, bus.Serve(server, mock{newController(bustest.Reporter(record), "Expected")}))
				assert.NoError(t, caller.Call(t.Context(), "https://mock.example/expected", nil, nil))
				err := caller.Call(t.Context(), "https://mock.example/surprising", nil, nil)
				assert.Equal(t, 500, bus.StatusOf(err))
				assert.ErrorContains(t, err, "the handler exited its goroutine")
				texts, stopped := record.seen()
				assert.Equal(t, []string{"Unexpected call to Surprising"}, texts)
				assert.False(t, stopped)
				if err := caller.Call(t.Context(), "https://mock.example/surprising", nil, nil); bus.StatusOf(err) != 500 {
					t.Errorf("the next call: %v", err) // the controller is not left locked
				}
			})
		})
	}
}

// failing has the methods of a testing.TB that log or fail.
type failing interface {
	Log(args ...any)
	Logf(format string, args ...any)
	Fail()
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	FailNow()
}

// TestReporter_OnTestGoroutine holds that a Reporter behaves like a testing.TB on the goroutine of the test.
func TestReporter_OnTestGoroutine(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		report func(to failing)
		text   string
		stops  bool
	}{
		{"Log", func(to failing) { to.Log("yes", 1) }, "log: yes 1", false},
		{"Logf", func(to failing) { to.Logf("yes %d", 1) }, "log: yes 1", false},
		{"Fail", func(to failing) { to.Fail() }, "failed", false},
		{"Error", func(to failing) { to.Error("no", 1) }, "no 1", false},
		{"Errorf", func(to failing) { to.Errorf("no %d", 1) }, "no 1", false},
		{"Fatal", func(to failing) { to.Fatal("no", 1) }, "no 1", true},
		{"Fatalf", func(to failing) { to.Fatalf("no %d", 1) }, "no 1", true},
		{"FailNow", func(to failing) { to.FailNow() }, "FailNow was called", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			record := &recordingT{TB: t}
			test.report(bustest.Reporter(record))
			texts, stopped := record.seen()
			assert.Equal(t, []string{test.text}, texts)
			assert.Equal(t, test.stops, stopped)
			assert.NotZero(t, record.helpers)
		})
	}
}

// TestReporter_Cleanup holds that a missing call is reported when the test ends.
func TestReporter_Cleanup(t *testing.T) {
	t.Parallel()
	record := &recordingT{TB: t}
	t.Cleanup(func() {
		if texts, _ := record.seen(); !slices.Equal(texts, []string{"missing call(s) to Expected"}) {
			t.Errorf("told %q", texts)
		}
	})
	newController(bustest.Reporter(record), "Expected")
}

// TestReporter_FailsTest reports to tests in child processes, before and after their end.
func TestReporter_FailsTest(t *testing.T) {
	t.Parallel()
	t.Run("in time", func(t *testing.T) {
		t.Parallel()
		failsInChild(t, func(t *testing.T) {
			defer fmt.Println("the test was ended properly")
			newController(bustest.Reporter(t)).call("Early")
			fmt.Println("the test went on")
		}, "--- FAIL: TestReporter_FailsTest/in_time", "reporter_test.go:", "Unexpected call to Early",
			"the test was ended properly")
	})
	t.Run("too late", func(t *testing.T) {
		t.Parallel()
		failsInChild(t, func(t *testing.T) {
			var reporter testing.TB
			t.Run("ends", func(t *testing.T) { reporter = bustest.Reporter(t) })
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				reporter.Log("a late word")
				reporter.Fail()
				newController(reporter).call("Late")
			}()
			<-ended
			fmt.Println("the test goes on")
		}, "--- FAIL: TestReporter_FailsTest/too_late", "bustest: Fail in goroutine after TestReporter_FailsTest/too_late/ends has completed: Fail was called",
			"bustest: Fail in goroutine after TestReporter_FailsTest/too_late/ends has completed: Unexpected call to Late",
			"a late word", "the test goes on")
	})
}

// withShortCircuit returns an option that leaves the short circuit on, or turns it off.
func withShortCircuit(on bool) bus.ConnectOption {
	if on {
		return bus.WithInterceptors() // none
	}
	return bus.WithoutShortCircuit()
}

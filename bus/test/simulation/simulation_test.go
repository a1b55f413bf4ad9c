package simulation_test

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"
)

var (
	seeds = flag.Uint64("seeds", 100, "how many worlds to live through")
	first = flag.Uint64("first", 1, "the seed of the first one")
	seed  = flag.Uint64("seed", 0, "the seed of the only one, whose history is printed; see make simulate SEED=")
	most  = flag.Int("failures", 3, "how many worlds may fail before the search ends")
)

// TestMain has goroutines take turns, so that a seed decides their order, too.
func TestMain(m *testing.M) {
	flag.Parse()
	if *seeds < 1 || *most < 1 || *first+*seeds < *first {
		fmt.Fprintln(os.Stderr, "-seeds and -failures are at least 1, and no seed is above 1<<64-1")
		os.Exit(2)
	}
	runtime.GOMAXPROCS(1)
	os.Exit(m.Run())
}

// TestSimulation lives through worlds, and holds that each keeps the promises.
func TestSimulation(t *testing.T) {
	defer watch()()
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		if *seed > 0 {
			w, broken := live(t, *seed)
			t.Log("\n" + strings.Join(w.history.lines(all), "\n"))
			report(t, w, broken)
		} else {
			search(t)
		}
	})
	for range 2 { // nats.go keeps timers for later; with -count the next bubble must not get them
		runtime.GC()
	}
	t.Logf("%d worlds in %s", lived.Load(), time.Since(began).Round(time.Millisecond))
}

// search lives through a number of worlds.
func search(t *testing.T) {
	t.Helper()
	failed := 0
	for each := range *seeds {
		w, broken := live(t, *first+each)
		if len(broken) > 0 {
			failed++
		}
		report(t, w, broken)
		if failed == *most {
			t.Fatalf("%d of %d worlds break a promise", failed, each+1)
		}
	}
}

// live lives through the world of a seed, with the ids that it has each time.
func live(t *testing.T, of uint64) (w *world, broken []violation) {
	t.Helper()
	current.Store(of)
	defer lived.Add(1)
	cryptotest.SetGlobalRandom(t, of)
	w = newWorld(of)
	return w, w.run(t.Context())
}

// report says what was not as promised, with the history of the first call.
func report(t *testing.T, w *world, broken []violation) {
	t.Helper()
	if len(broken) == 0 {
		return
	}
	var text strings.Builder
	fmt.Fprintf(&text, "seed %d breaks a promise; make simulate SEED=%d has its history\n",
		w.seed, w.seed)
	for _, each := range broken {
		fmt.Fprintf(&text, "%s: %s\n", each.property, each.text)
	}
	var number int
	if _, err := fmt.Sscanf(broken[0].text, "#%d", &number); err == nil {
		text.WriteString(strings.Join(w.history.lines(number), "\n"))
	}
	t.Error(text.String())
}

// The seed of the world that is lived through, and how many were.
var current, lived atomic.Uint64

// watch ends the process if a world does not end for a minute of real time, as when a goroutine waits for a lock that
// another one holds while it waits for the clock.
func watch() (stop func()) {
	const limit = time.Minute
	done := make(chan struct{})
	go func() {
		for before := uint64(0); ; before = lived.Load() {
			select {
			case <-done:
				return
			case <-time.After(limit):
			}
			if lived.Load() == before {
				fmt.Fprintf(os.Stderr, "seed %d does not go on\n", current.Load())
				_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 2)
				os.Exit(2) //nolint:revive // nothing else ends it
			}
		}
	}()
	return func() { close(done) }
}

package bustest

import (
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// bubble runs a test in a synctest bubble, and finds what keeps it from ending: open connections and waiting
// goroutines.
type bubble struct {
	name string   // "synctest bubble 3"
	open []string // hosts of the connections that the test did not close
}

// maxVirtualTime is the virtual time after which a test is considered hung. The clock never stops by itself, because
// the broker and its clients ping.
const maxVirtualTime = 7 * 24 * time.Hour

// run runs a test in a bubble. The panic of a bubble that ends with goroutines left becomes an error, so that
// other tests go on. These goroutines never end.
func (b *bubble) run(t *testing.T, test func(t *testing.T)) (err error) {
	t.Helper()
	defer func() {
		reason := recover()
		if hung, ok := reason.(error); ok && strings.HasPrefix(hung.Error(), "deadlock: ") {
			err = fmt.Errorf("the test ended with %s (%w)%s", b.leftovers(), hung, b.stacks())
		} else if reason != nil {
			panic(reason)
		}
	}()
	beginSignals()
	synctest.Test(t, func(t *testing.T) {
		b.name = bubbleName()
		time.AfterFunc(maxVirtualTime, func() { b.giveUp(t.Name()) })
		test(t)
	})
	return nil
}

// beginSignals starts the goroutines that receive the signals of the process. If bus.Run started them, they and their
// channels would belong to the bubble, and the process would crash.
func beginSignals() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	signal.Stop(signals)
}

// refuseBubble fails the test if it is in a bubble other than that of [Virtual]: closing a connection there leaks
// timers of the bubble to the whole process, and crashes another test.
func refuseBubble(t testing.TB) {
	t.Helper()
	if bubbleName() != "" {
		t.Fatal("bustest: this is a synctest bubble, where a bus of bustest.New would crash other tests: " +
			"use bustest.Virtual instead of bustest.New and synctest.Test")
	}
}

var inBubble = regexp.MustCompile(`synctest bubble \d+`)

// bubbleName returns the name of the bubble that the goroutine is in, "" for none.
func bubbleName() string {
	head := make([]byte, 128) // "goroutine 7 [running, synctest bubble 3]:"
	return string(inBubble.Find(head[:runtime.Stack(head, false)]))
}

// leftovers describes what the test has left open or running, with a remedy. It does not list the goroutines of an open
// connection; others may belong to it, too.
func (b *bubble) leftovers() string {
	goroutines := len(b.goroutines())
	switch {
	case len(b.open) > 0 && goroutines == 0:
		return fmt.Sprintf("connections still open: %s; %s", strings.Join(b.open, ", "), closeEach)
	case len(b.open) > 0:
		return fmt.Sprintf("connections still open: %s; %s; and with goroutines still running, %d of them",
			strings.Join(b.open, ", "), closeEach, goroutines)
	case goroutines == 0:
		return "a NATS connection still open; close it before the test ends"
	}
	return fmt.Sprintf("goroutines still running, %d of them; stop each before the test ends, and wait for it", goroutines)
}

const closeEach = "close each before the test ends, or open it with b.Connect, which does that"

// stacks returns the stacks of the leaked goroutines, each after an empty line.
func (b *bubble) stacks() string {
	if left := b.goroutines(); len(left) > 0 {
		return ":\n\n" + strings.Join(left, "\n\n")
	}
	return ""
}

// giveUp ends the process, as nothing else can end a goroutine that waits for ever.
func (b *bubble) giveUp(test string) {
	waiting := b.goroutines("[running", "[synctest.Run", "testing/synctest.testingSynctestTest(")
	panic(fmt.Sprintf("bustest: the clock of %s has advanced by %s, and the test has not ended; it waits here:\n\n%s",
		test, maxVirtualTime, strings.Join(waiting, "\n\n")))
}

// goroutines returns the stacks of the goroutines in the bubble. It omits stacks that contain one of the texts, those
// of NATS, and those of connections, which are reported by their hosts.
func (b *bubble) goroutines(leaveOut ...string) (found []string) {
	silent := natsCode()
	if len(b.open) > 0 {
		silent = append(silent, "github.com/busline/busline/bus.", "github.com/busline/busline/bus/internal/")
	}
	for stack := range strings.SplitSeq(strings.TrimSpace(stacks()), "\n\n") {
		head, calls, _ := strings.Cut(stack, "\n")
		left := slices.ContainsFunc(leaveOut, func(text string) bool { return strings.Contains(stack, text) })
		if strings.Contains(head, b.name+"]") && !left && !isAllOf(calls, silent) {
			found = append(found, stack)
		}
	}
	return found
}

// natsCode returns the prefixes of the functions in the stack of a goroutine that runs only NATS code. Every client has
// a dozen of these goroutines.
func natsCode() []string {
	return []string{"github.com/nats-io/", "runtime.", "internal/", "sync.", "time.", "net.", "bufio.", "io."}
}

// isAllOf reports whether all functions in a stack belong to the packages, including the function that started the
// goroutine.
func isAllOf(calls string, packages []string) bool {
	for line := range strings.Lines(calls) {
		name := strings.TrimPrefix(line, "created by ")
		isPlace := strings.HasPrefix(line, "\t")
		begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
		if !isPlace && !slices.ContainsFunc(packages, begins) {
			return false
		}
	}
	return true
}

// stacks returns the stacks of all goroutines.
func stacks() string {
	for size := 1 << 20; ; size *= 2 {
		buffer := make([]byte, size)
		if used := runtime.Stack(buffer, true); used < size {
			return string(buffer[:used])
		}
	}
}

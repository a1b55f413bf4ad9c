package bustest

import (
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// bubble says of a bubble that does not end which goroutines keep it.
type bubble struct{ name string } // "synctest bubble 3"

// farAhead is how far the clock of a test may go before it is taken that the test hangs: the pings of the broker and
// its clients would keep the clock going for ever.
const farAhead = 7 * 24 * time.Hour

// run runs a test in a bubble. The panic of one that ends with goroutines in it becomes an error, so that other tests go
// on; those goroutines never do.
func (b *bubble) run(t *testing.T, test func(t *testing.T)) (err error) {
	t.Helper()
	defer func() {
		reason := recover()
		if hung, ok := reason.(error); ok && strings.HasPrefix(hung.Error(), "deadlock: ") {
			left := b.goroutines()
			err = fmt.Errorf("the test has ended with goroutines left, %d of them; end each before, or wait for it (%w):\n\n%s",
				len(left), hung, strings.Join(left, "\n\n"))
		} else if reason != nil {
			panic(reason)
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		b.name = regexp.MustCompile(`synctest bubble \d+`).FindString(stacks(false))
		time.AfterFunc(farAhead, func() { b.giveUp(t.Name()) })
		test(t)
	})
	return nil
}

// giveUp ends the process: there is no other way to get at a goroutine that waits for ever.
func (b *bubble) giveUp(test string) {
	waiting := b.goroutines("[running", "[synctest.Run", "testing/synctest.testingSynctestTest(", "github.com/nats-io/")
	panic(fmt.Sprintf("bustest: the clock of %s has gone %s ahead, and it has not ended; it waits here:\n\n%s",
		test, farAhead, strings.Join(waiting, "\n\n")))
}

// goroutines returns the stacks of those in the bubble, but for those that contain one of the texts.
func (b *bubble) goroutines(leaveOut ...string) (found []string) {
	for stack := range strings.SplitSeq(stacks(true), "\n\n") {
		head, _, _ := strings.Cut(stack, "\n")
		left := slices.ContainsFunc(leaveOut, func(text string) bool { return strings.Contains(stack, text) })
		if strings.Contains(head, b.name+"]") && !left {
			found = append(found, stack)
		}
	}
	return found
}

// stacks returns the stack of this goroutine, or those of all.
func stacks(all bool) string {
	for size := 1 << 20; ; size *= 2 {
		buffer := make([]byte, size)
		if used := runtime.Stack(buffer, all); used < size {
			return string(buffer[:used])
		}
	}
}

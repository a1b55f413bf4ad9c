package logqueue_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/bus/internal/logqueue"
)

// TestThrottle_LeftOut holds that the first lines of each reason are written, and later one that counts those between.
func TestThrottle_LeftOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		throttle := logqueue.Throttle{AtOnce: 2, Pause: 10 * time.Second}
		var got []string
		admit := func(reason string) {
			if leftOut, ok := throttle.Admit(reason); ok {
				got = append(got, fmt.Sprint(reason[:1], leftOut))
			}
		}
		for range 5 {
			admit("a")
		}
		admit("b")
		time.Sleep(10 * time.Second)
		admit("a")
		for number := range 500 { // more than are distinguished
			admit("c" + strings.Repeat("x", number))
		}
		want := []string{"a0", "a0", "b0", "a3", "c0"}
		assert.Equal(t, want, got[:min(len(got), len(want))], "%d lines", len(got))
		assert.Len(t, got, 4+63+2, // b is forgotten, as its time is over
			"%d lines", len(got))
	})
}

// TestThrottle_OnceAMinute admits each reason once, whatever differs between its texts.
func TestThrottle_OnceAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var retries logqueue.Throttle
		logged := 0
		try := func(times int, reasons ...string) {
			for range times {
				for _, reason := range reasons {
					if _, ok := retries.Admit(reason); ok {
						logged++
					}
				}
				time.Sleep(100 * time.Millisecond)
			}
		}
		for _, step := range []struct {
			what string
			do   func()
			want int
		}{
			{"a minute", func() { try(600, "refused") }, 1},
			{"longer", func() { try(10, "refused") }, 2},
			{"another reason", func() { try(10, "a certificate") }, 3},
			{"the broker was back", func() { retries.Forget(); try(10, "a certificate") }, 4},
			{"reasons in turn", func() { try(10, "no route", "no such host") }, 6},
			{"ports", func() { try(10, "read 127.0.0.1:40001: reset", "read 127.0.0.1:40002: reset") }, 7},
			{"times", func() { try(10, "expired, it is 09:00:00Z", "expired, it is 09:00:01Z") }, 8},
			{"the words of the broker", func() { try(10, "nats: authorization violation", "nats: Authorization Violation") }, 9},
		} {
			if step.do(); logged != step.want {
				t.Errorf("%s: %d lines, want %d", step.what, logged, step.want)
			}
		}
	})
}

package bus_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busline/busline/bus"
)

// serveQuick serves GET /all of slow.example on another instance, which answers after half a second.
func serveQuick(t *testing.T, b *bubble) {
	t.Helper()
	err := b.connect("slow.example").Handle("GET", "/all", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		<-time.After(time.Second / 2)
	}), bus.NoQueue())
	if err != nil {
		t.Fatal(err)
	}
}

// TestMulticast_ResponderThatLeaves leaves the loop over the answers at the first one, in each way there is: the instances that
// owe an answer hear of it.
func TestMulticast_ResponderThatLeaves(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		caller := b.connect("caller.example")
		one, other := serveWaiting(t, b.connect("slow.example")), serveWaiting(t, b.connect("slow.example"))
		serveQuick(t, b)
		operation := bus.NewOperation[struct{}, struct{}](caller, "GET https://slow.example/all")
		boom := errors.New("boom")
		for name, leave := range map[string]func(){
			"break": func() {
				for _, err := range caller.Multicast(mustRequest(t, "https://slow.example/all")) {
					if err != nil {
						t.Error(err)
					}
					break
				}
			},
			"break out of an operation": func() {
				for _, err := range operation.Multicast(t.Context(), struct{}{}) {
					if err != nil {
						t.Error(err)
					}
					break
				}
			},
			"a panic": func() {
				defer func() {
					if reason, ok := recover().(error); !ok || !errors.Is(reason, boom) {
						t.Error(reason)
					}
				}()
				for _, err := range caller.Multicast(mustRequest(t, "https://slow.example/all")) {
					panic(errors.Join(boom, err))
				}
			},
		} {
			leave()
			wantCancelled(t, name+": one", one, time.Second/2)
			wantCancelled(t, name+": the other", other, time.Second/2)
		}
		if open := caller.PendingCalls(); open != 0 {
			t.Errorf("%d calls are still open", open)
		}
	})
}

// TestMulticast_EndCancelsNone listens for cancels while multicasts end by themselves, and while one is left when all
// have answered.
func TestMulticast_EndCancelsNone(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		caller, ids := b.connect("caller.example"), b.newCalculators(3)
		asked := b.listen(b.Plane() + ".888.>")
		for range 3 { // the first one learns who is there
			for _, limit := range []int{everything, len(ids)} {
				if got := gather(t.Context(), t, caller, limit); len(got.ids) != len(ids) || len(got.errors) != 0 {
					t.Errorf("%v answered, then %v", got.ids, got.errors)
				}
			}
		}
		synctest.Wait()
		for range len(asked) {
			if to := (<-asked).Subject; strings.HasSuffix(to, ".cancel") { // and no hello that comes late
				t.Errorf("sent: %s", to)
			}
		}
	})
}

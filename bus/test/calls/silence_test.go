package calls_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/bus/wire"
)

// TestNoAck_TellsTheWait reads the messages.
func TestNoAck_TellsTheWait(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		kit.NewScripted(t, b.World, kit.ScriptedHost)
		caller := b.Connect("caller.example", bus.WithAckWait(3*time.Second))
		begun := time.Now()
		err := caller.Call(t.Context(), kit.ScriptedURL, nil, nil)
		if waited := time.Since(begun); waited != 3*time.Second {
			t.Errorf("waited %s of 3s", waited) // on the clock of the bubble
		}
		failed, _ := errors.AsType[*bus.Error](err)
		require.NotNil(t, failed)
		assert.Contains(t, failed.Detail, "no ack from scripted.example within 3s")
	})
}

// TestNoAck_OfAMulticast makes multicasts that no instance answers, behind a wiretap.
func TestNoAck_OfAMulticast(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		wiretap := b.Listen(b.Plane() + ".>")
		caller := b.Connect("caller.example")
		for range 3 {
			kit.Drained(wiretap)
			if ids := kit.MulticastIDs(t, caller, "https://nobody.example/who"); len(ids) != 0 {
				t.Errorf("no instance answered as %v", ids)
			}
			if sent := kit.Drained(wiretap); len(sent) != 1 {
				t.Errorf("one multicast was sent %d times", len(sent))
			}
		}
	})
}

// TestNoResponse_LateAnswer lets an answer come when its caller has gone: it counts as unmatched, and answers no other
// call.
func TestNoResponse_LateAnswer(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		kit.NewScripted(t, b.World, kit.ScriptedHost, kit.Ack)
		requests := b.Listen(b.Plane() + ".443.>")
		b.NewCalculators(1)
		caller := b.Connect("caller.example")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		kit.WantFailed(t, "in time", caller.Call(ctx, kit.ScriptedURL, nil, nil), 504, bus.ErrTimeout,
			context.DeadlineExceeded)
		before := caller.Stats().UnmatchedResponses
		late := &kit.Scripted{Host: kit.ScriptedHost, ID: kit.ScriptedID, Plane: b.Plane(), Raw: kit.RawClient(t, b.World),
			Script: []wire.OpCode{kit.Ack, kit.Res}}
		late.Receive(<-requests)
		synctest.Wait()
		if came := caller.Stats().UnmatchedResponses - before; came != 2 {
			t.Errorf("%d unmatched messages, want an ack and a response", came)
		}
		if dropped := caller.Stats().Malformed; dropped != 0 {
			t.Errorf("%d messages were dropped", dropped)
		}
		var out struct{ Sum int }
		err := caller.Call(t.Context(), kit.CalculatorURL+"/add", bus.Args{"x": 1, "y": 2}, &out)
		require.NoError(t, err, "the next call")
		assert.Equal(t, 3, out.Sum, "the next call")
	})
}

// TestNoResponse_TimeBudgetSparesOthers has a handler ignore its context, which ends after 2 s: it is answered when it
// returns, as long as its caller waits.
func TestNoResponse_TimeBudgetSparesOthers(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller, callee := b.Connect("caller.example"), b.Connect("deaf.example")
		over := make(chan error, 2)
		err := callee.Handle("GET", "/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "0")
			time.Sleep(4 * time.Second)
			over <- r.Context().Err()
		}), bus.TimeBudget(2*time.Second))
		require.NoError(t, err)
		begun := time.Now()
		err = caller.Call(t.Context(), "GET https://deaf.example/", nil, nil)
		require.NoError(t, err, "who waits")
		assert.Equal(t, 4*time.Second, time.Since(begun), "who waits")
		if err := <-over; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the handler's context: %v", err)
		}
		begun = time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		kit.WantFailed(t, "who does not", caller.Call(ctx, "GET https://deaf.example/", nil, nil), 504, bus.ErrTimeout,
			context.DeadlineExceeded)
		if took := time.Since(begun); took != 3*time.Second {
			t.Errorf("who does not wait took %s", took)
		}
	})
}

// TestClose_WithAHangingHandler ends with its context and tells what it cut off.
func TestClose_WithAHangingHandler(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller, callee := b.Connect("caller.example"), b.Connect("hanging.example")
		kit.ServeHanging(t, callee, time.Minute)
		called := make(chan error, 1)
		go func() { called <- caller.Call(t.Context(), "GET https://hanging.example/hang", nil, nil) }()
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		begun := time.Now()
		err := callee.Close(ctx)
		assert.ErrorContains(t, err, "cut off 1 handler and 0 calls:", "Close")
		assert.ErrorIs(t, err, context.DeadlineExceeded, "Close")
		if took := time.Since(begun); took != 3*time.Second {
			t.Errorf("Close took %s of 3s", took)
		}
		err = <-called
		kit.CheckError(t, err, 504, bus.ExecutedUnknown)
		time.Sleep(time.Minute)
	})
}

// What the test tells the instance that it kills.
const (
	killedURL   = "BUS_TEST_KILLED_URL"
	killedPlane = "BUS_TEST_KILLED_PLANE"
)

// TestKilledInstance kills a process with calls in flight: each ends long before its budget does, and tells why.
func TestKilledInstance(t *testing.T) {
	t.Parallel()
	if os.Getenv(killedURL) != "" {
		serveUntilKilled(t)
		return
	}
	const calls = 50
	w := &kit.World{Bus: kit.NewBus(t, broker.Listen("127.0.0.1:0")), Transport: bus.WithoutShortCircuit()}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledInstance$", "-test.count=1")
	child.Env = append(os.Environ(), killedURL+"="+w.Broker().URL(), killedPlane+"="+w.Plane())
	output, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	lines := bufio.NewScanner(output)
	lines.Scan() // it serves
	caller := w.Connect("caller.example")
	ends := make(chan time.Time, calls)
	var waiting sync.WaitGroup
	for range calls {
		waiting.Go(func() {
			kit.WantFailed(t, "a call", caller.Call(t.Context(), "GET https://slow.example/wait", nil, nil), 504,
				bus.ErrInstanceLost)
			ends <- time.Now()
		})
	}
	for range calls {
		lines.Scan() // a handler has begun
	}
	killed := time.Now()
	require.NoError(t, child.Process.Kill())
	waiting.Wait()
	close(ends)
	var longest time.Duration
	for end := range ends {
		longest = max(longest, end.Sub(killed))
	}
	t.Logf("%d calls ended within %s of the kill", calls, longest)
	if err := child.Wait(); err == nil {
		t.Error("the process was not killed")
	}
	if err := caller.Call(t.Context(), "GET https://slow.example/wait", nil, nil); !errors.Is(err, bus.ErrNoResponder) {
		t.Errorf("the next call: %v", err)
	}
}

// serveUntilKilled tells each step on a line of standard output.
func serveUntilKilled(t *testing.T) {
	t.Helper()
	conn, err := bus.Connect(t.Context(), "slow.example", bus.WithURL(os.Getenv(killedURL)),
		bus.WithPlane(os.Getenv(killedPlane)))
	require.NoError(t, err)
	err = conn.Handle("GET", "/wait", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if err := conn.NATS().Flush(); err != nil { // the ack, or the caller would be right that there was none
			panic(err)
		}
		fmt.Fprintln(os.Stdout, "a handler runs")
		select {}
	}))
	require.NoError(t, err)
	fmt.Fprintln(os.Stdout, "it serves")
	select {}
}

// box says what it was asked for. The body of Update is taken, so that the other arguments are in the query.
type box struct{}

type (
	boxArguments struct {
		ID    string   `json:"id"`
		Grid  [][]int  `json:"grid"`
		Books []book   `json:"books"`
		Pair  [2]int   `json:"pair"`
		Any   any      `json:"any"`
		Tags  []string `json:"tags"`
		Sizes []int    `json:"sizes"`
		Book  book     `json:"httpRequestBody"`
	}
	noteArguments struct {
		ID   string  `json:"id"`
		Note *string `json:"note"`
	}
	rawArguments struct {
		Raw json.RawMessage `json:"raw"`
	}
)

func (box) Update(id string, grid [][]int, books []book, pair [2]int, any any, tags []string, sizes []int,
	httpRequestBody book) (told string) {
	return fmt.Sprintf("%s %v %v %v %T %v %q %v %s", id, grid, books, pair, any, any, tags, sizes, httpRequestBody.Title)
}

func (box) Read(id string, note *string) (httpResponseBody string) {
	if note == nil {
		return "none"
	}
	return fmt.Sprintf("%q", *note)
}

func (box) ListAll(raw json.RawMessage) (httpResponseBody string) { return string(raw) }

const boxURL = "https://shelf.example/boxes/{id}"

func TestArguments_BesideABody(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		kit.Serve(t, w.Connect("shelf.example"), box{})
		caller := w.Connect("caller.example")
		emma := book{Title: "Emma", Tags: []string{"a"}}
		call(t, caller, "PUT "+boxURL, boxArguments{"7", [][]int{{1, 2}, {}}, []book{emma}, [2]int{3, 4}, "5",
			[]string{"[a]", "null"}, []int{8, 9}, emma}, 200,
			toldResults{`7 [[1 2] []] [{Emma [a]}] [3 4] string 5 ["[a]" "null"] [8 9] Emma`})
		call(t, caller, "PUT "+boxURL, boxArguments{ID: "7", Any: []any{"a", 1}}, 200,
			toldResults{`7 [] [] [0 0] []interface {} [a 1] [] [] `})
		call(t, caller, "PUT "+boxURL, boxArguments{ID: "7"}, 200, toldResults{`7 [] [] [0 0] <nil> <nil> [] [] `})

		var out toldResults
		args := bus.Args{"id": 7, "grid": [][]int{{1}}, "books": []book{emma, emma}, "sizes": []int{1, 2},
			"httpRequestBody": emma}
		err := caller.Call(t.Context(), "PUT "+boxURL, args, &out)
		require.NoError(t, err)
		assert.Equal(t, "7 [[1]] [{Emma [a]} {Emma [a]}] [0 0] <nil> <nil> [] [1 2] Emma", out.Told)
		for _, lossy := range []any{[]string{"a", ""}, []*int{nil}} {
			err := caller.Call(t.Context(), "PUT "+boxURL, bus.Args{"id": 7, "tags": lossy, "httpRequestBody": emma}, nil)
			kit.CheckError(t, err, 400, bus.ExecutedNo)
			failed := kit.AsBusError(t, err)
			if !strings.Contains(failed.Detail, "argument tags of PUT "+boxURL+
				" goes into the query: there it must be a list without null and empty texts") {
				t.Errorf("%v: %v", lossy, err)
			}
		}
	})
}

// TestJSONInAQuery: a JSON text is not the text that it stands for.
func TestJSONInAQuery(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		kit.Serve(t, w.Connect("shelf.example"), box{})
		caller := w.Connect("caller.example")
		for _, raw := range []string{`"5"`, `5`, `"a"`, `true`, `{"a":1}`} {
			call(t, caller, "GET https://shelf.example/boxes", rawArguments{json.RawMessage(raw)}, 200, raw)
		}
	})
}

// TestQuery_EmptyTextBehindAPointer: what is empty in a query counts as absent.
func TestQuery_EmptyTextBehindAPointer(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		kit.Serve(t, w.Connect("shelf.example"), box{})
		caller := w.Connect("caller.example")
		empty, text := "", "a"
		call(t, caller, "GET "+boxURL, noteArguments{"7", nil}, 200, "none")
		call(t, caller, "GET "+boxURL, noteArguments{"7", &empty}, 200, `""`)
		call(t, caller, "GET "+boxURL, noteArguments{"7", &text}, 200, `"a"`)
	})
}

package bus_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/bus/wire"
)

const bytesURL = "https://bytes.example"

// handleBytes serves POST /echo, which answers with what it gets, and GET /bytes, which answers with as many as it is
// asked for.
func handleBytes(t *testing.T, conn *bus.Conn, options ...bus.HandleOption) {
	t.Helper()
	for endpoint, handler := range map[string]http.HandlerFunc{
		"POST /echo": func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) },
		"GET /bytes": func(w http.ResponseWriter, r *http.Request) {
			size, _ := strconv.Atoi(r.URL.Query().Get("size"))
			_, _ = w.Write(someBytes(size))
		},
	} {
		method, path, _ := strings.Cut(endpoint, " ")
		require.NoError(t, conn.Handle(method, path, handler, options...))
	}
}

// someBytes are different at every place that parts might be mixed up at.
func someBytes(size int) []byte {
	made := make([]byte, size)
	source := rand.New(rand.NewPCG(1, uint64(size)))
	for i := range made {
		made[i] = byte(source.Uint32())
	}
	return made
}

// checkEcho sends bytes and expects them back.
func checkEcho(t *testing.T, caller *bus.Conn, size int) {
	t.Helper()
	sent := someBytes(size)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, bytesURL+"/echo", bytes.NewReader(sent))
	if err != nil {
		t.Error(err)
		return
	}
	response, err := caller.Do(request)
	if err != nil {
		t.Errorf("%d bytes: %v", size, err)
		return
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	require.NoError(t, err, "%d, %d", size, len(got))
	assert.Equal(t, 200, response.StatusCode, "%d, %d", size, len(got))
	assert.Equal(t, string(sent), string(got), "%d, %d", size, len(got))
}

// checkNothingLeft expects that nothing is kept of messages that have ended.
func checkNothingLeft(t *testing.T, conns ...*bus.Conn) {
	t.Helper()
	for _, conn := range conns {
		held, unfinished := bus.HeldByParts(conn), bus.UnfinishedMessages(conn)
		assert.Zero(t, held, conn.Host())
		assert.Zero(t, unfinished, conn.Host())
	}
}

// TestParts_EverySizeAroundTheBrokersLimit moves the end of a message over the end of what one message of the broker
// holds.
func TestParts_EverySizeAroundTheBrokersLimit(t *testing.T) {
	t.Parallel()
	const payload = 2048
	w := &kit.World{Bus: kit.NewBus(t, broker.MaxPayload(payload)), Transport: bus.WithoutShortCircuit()}
	callee, caller := w.Connect("bytes.example"), w.Connect("caller.example")
	handleBytes(t, callee)
	for size := payload - 600; size <= payload+1; size++ {
		checkEcho(t, caller, size)
	}
	for size := 2*payload - 900; size <= 2*payload+1; size += 3 {
		checkEcho(t, caller, size)
	}
	if dropped := callee.Stats().Malformed + caller.Stats().Malformed; dropped != 0 {
		t.Errorf("%d messages were dropped", dropped)
	}
}

// TestMessage_Limit sends what is as large as a connection takes, and a byte more.
func TestMessage_Limit(t *testing.T) {
	t.Parallel()
	for name, transport := range kit.Transports() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const limit = 100_000
			w := transport(kit.NewBus(t, broker.MaxPayload(8192)))
			small, large := bus.WithMaxMessageBytes(limit), bus.WithMaxMessageBytes(10*limit)
			for _, test := range []struct {
				what           string
				callee, caller bus.ConnectOption
				status         [2]int // of a byte more, in a request and in a response
			}{
				{"both", small, small, [2]int{413, 500}},
				{"the callee", small, large, [2]int{413, 500}},
				{"the caller", large, small, [2]int{413, 413}},
			} {
				t.Run(test.what, func(t *testing.T) {
					callee, caller := w.Connect("bytes.example", test.callee), w.Connect("caller.example", test.caller)
					handleBytes(t, callee)
					checkEcho(t, caller, limit)
					err := caller.Call(t.Context(), bytesURL+"/echo", bus.Args{"httpRequestBody": strings.Repeat("a", limit-1)}, nil)
					kit.CheckError(t, err, test.status[0], bus.ExecutedNo)
					err = caller.Call(t.Context(), "GET "+bytesURL+"/bytes", bus.Args{"size": limit + 1}, nil)
					kit.CheckError(t, err, test.status[1], bus.ExecutedYes)
					assert.NoError(t, callee.Close(t.Context()))
					checkNothingLeft(t, caller, callee)
				})
			}
		})
	}
}

// TestParts_LargestMessageLimit holds that there is room for messages in parts, also where an int has 32 bits.
func TestParts_LargestMessageLimit(t *testing.T) {
	t.Parallel()
	w := kit.Transports()["broker"](kit.NewBus(t, broker.MaxPayload(8192)))
	callee, caller := w.Connect("bytes.example", bus.WithMaxMessageBytes(512<<20)), w.Connect("caller.example",
		bus.WithMaxMessageBytes(512<<20))
	handleBytes(t, callee)
	checkEcho(t, caller, 100_000)
}

// TestParts_LimitOfAnEndpoint sends more in parts than an endpoint takes.
func TestParts_LimitOfAnEndpoint(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t, broker.MaxPayload(4096)), Transport: bus.WithoutShortCircuit()}
	callee, caller := w.Connect("bytes.example"), w.Connect("caller.example")
	handleBytes(t, callee, bus.MaxBodyBytes(20_000))
	for _, size := range []int{20_000, 20_001, 24_000, 400_000} {
		body := strings.Repeat("a", size)
		response, told := kit.Do(t, caller, "POST", bytesURL+"/echo", "text/plain", body)
		if size == 20_000 && (response.StatusCode != 200 || told != body) {
			t.Errorf("%d bytes: %d", size, response.StatusCode)
		}
		if size > 20_000 && (response.StatusCode != 413 || !strings.Contains(told, "exceeds the limit of 20000")) {
			t.Errorf("%d bytes: %d %s", size, response.StatusCode, told)
		}
	}
	if dropped := callee.Stats().Malformed; dropped != 0 {
		t.Errorf("%d messages were dropped, though their sender could not know", dropped)
	}
}

// TestParts_CallsAtOnce mixes the parts of many messages.
func TestParts_CallsAtOnce(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t, broker.MaxPayload(4096)), Transport: bus.WithoutShortCircuit()}
	callee, other, caller := w.Connect("bytes.example"), w.Connect("bytes.example"), w.Connect("caller.example")
	handleBytes(t, callee)
	handleBytes(t, other)
	var calls sync.WaitGroup
	for i := range 40 {
		calls.Go(func() {
			for j := range 5 {
				checkEcho(t, caller, 1000*(i+1)+j)
			}
		})
	}
	calls.Wait()
	if dropped := callee.Stats().Malformed + other.Stats().Malformed + caller.Stats().Malformed; dropped != 0 {
		t.Errorf("%d messages were dropped", dropped)
	}
	checkNothingLeft(t, callee, other, caller)
}

// TestMulticast_LargeMessages has three instances give large answers, and refuses a large question.
func TestMulticast_LargeMessages(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t, broker.MaxPayload(4096)), Transport: bus.WithoutShortCircuit()}
	caller := w.Connect("caller.example")
	for range 3 {
		handleBytes(t, w.Connect("bytes.example"), bus.NoQueue())
	}
	answers := 0
	for response, err := range caller.Multicast(kit.MustRequest(t, bytesURL+"/bytes?size=50000")) {
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		answers++
		require.NoError(t, err, "%d bytes", len(body))
		assert.Equal(t, string(someBytes(50_000)), string(body), "%d bytes", len(body))
	}
	if answers != 3 {
		t.Errorf("%d answers", answers)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, bytesURL+"/echo",
		strings.NewReader(strings.Repeat("a", 5000)))
	require.NoError(t, err)
	for _, err := range caller.Multicast(request) {
		kit.CheckError(t, err, 413, bus.ExecutedNo)
		assert.ErrorContains(t, err,
			"a multicast request must fit into one broker message of at most 4096 bytes; its body has 5000 bytes")
	}
	checkNothingLeft(t, caller)
}

// TestParts_WithoutQueue sends a request in parts to an endpoint on which every instance takes the first.
func TestParts_WithoutQueue(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller := b.Connect("caller.example")
		callees := []*bus.Conn{b.Connect("bytes.example"), b.Connect("bytes.example"), b.Connect("bytes.example")}
		for _, callee := range callees {
			handleBytes(t, callee, bus.NoQueue())
		}
		checkEcho(t, caller, 3<<20)
		time.Sleep(21 * time.Second) // on the clock of the bubble: who acked when the call was over waits for its budget
		synctest.Wait()
		checkNothingLeft(t, append(callees, caller)...)
	})
}

// TestParts_HeadLargerThanTheBrokerTakes cannot travel in parts either.
func TestParts_HeadLargerThanTheBrokerTakes(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t, broker.MaxPayload(4096)), Transport: bus.WithoutShortCircuit()}
	callee, caller := w.Connect("bytes.example"), w.Connect("caller.example")
	handleBytes(t, callee)
	request := kit.MustRequest(t, bytesURL+"/bytes")
	request.Header.Set("X-Large", strings.Repeat("a", 5000))
	_, err := caller.Do(request) //nolint:bodyclose // there is no response
	kit.CheckError(t, err, 413, bus.ExecutedNo)
	assert.ErrorContains(t, err, "does not fit into a message of the broker, whose limit is 4096")
}

// TestParts_AnySizeOverAnyBroker makes calls of any size over brokers that take messages of any size.
func TestParts_AnySizeOverAnyBroker(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		source := rand.New(rand.NewPCG(seed, 2))
		payload := 800 + source.IntN(40_000)
		t.Run(fmt.Sprintf("messages of %d", payload), func(t *testing.T) {
			t.Parallel()
			w := &kit.World{Bus: kit.NewBus(t, broker.MaxPayload(payload)), Transport: bus.WithoutShortCircuit()}
			handleBytes(t, w.Connect("bytes.example"))
			caller := w.Connect("caller.example")
			for range 8 {
				checkEcho(t, caller, source.IntN(200_000))
			}
		})
	}
}

// TestParts_MemoryOfUnfinishedRequests compares what first parts take with what they are said to take, on which the
// bounds rely.
func TestParts_MemoryOfUnfinishedRequests(t *testing.T) { //nolint:paralleltest // measures the memory of the whole process
	for _, fields := range []int{0, 8} {
		t.Run(fmt.Sprintf("%d fields", fields), func(t *testing.T) {
			w := &kit.World{Bus: kit.NewBus(t), Transport: bus.WithoutShortCircuit()}
			callee := w.Connect("bytes.example", bus.WithMaxMessageBytes(1<<20))
			handleBytes(t, callee)
			raw := kit.RawClient(t, w)
			part := (&sender{t: t, callee: callee}).part(1, 2, "a")
			for field := range fields {
				part.Header = append(part.Header, wire.Field{Name: fmt.Sprintf("X-%d", field), Value: strings.Repeat("x", 240)})
			}
			s := &sender{t: t, raw: raw, plane: w.Plane(), callee: callee}
			before := memoryInUse()
			const requests = 900
			for i := range requests {
				part.MsgID = fmt.Sprintf("m%d", i)
				s.send(part)
			}
			kit.Flush(t, raw)
			awaitUnfinished(t, callee, requests)
			took, counted := memoryInUse()-before, bus.HeldByParts(callee)
			if took > counted {
				t.Errorf("%d requests take %d bytes each, %d are counted", requests, took/requests, counted/requests)
			}
		})
	}
}

func memoryInUse() int {
	var memory runtime.MemStats
	runtime.GC()
	runtime.GC() // what was in a pool
	runtime.ReadMemStats(&memory)
	return int(memory.HeapAlloc)
}

// awaitUnfinished returns when so many requests have been taken in.
func awaitUnfinished(t *testing.T, callee *bus.Conn, count int) {
	t.Helper()
	for bus.UnfinishedMessages(callee) < count && t.Context().Err() == nil {
		runtime.Gosched()
	}
}

// TestParts_ReplacedInstanceLosesNoCall replaces instances while they are sent requests in parts.
func TestParts_ReplacedInstanceLosesNoCall(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t, broker.MaxPayload(4096)), Transport: bus.WithoutShortCircuit()}
	caller := w.Connect("caller.example")
	start := func() *bus.Conn {
		conn := w.Connect("bytes.example")
		handleBytes(t, conn)
		return conn
	}
	_, leaves := start(), start()
	var calls sync.WaitGroup
	var stop atomic.Bool
	for range 8 {
		calls.Go(func() {
			for !stop.Load() && !t.Failed() {
				checkEcho(t, caller, 50_000)
			}
		})
	}
	for range 10 {
		next := start()
		assert.NoError(t, leaves.Close(context.Background()))
		checkNothingLeft(t, leaves)
		leaves = next
	}
	stop.Store(true)
	calls.Wait()
	checkNothingLeft(t, caller)
}

// TestParts_CallOutlivesInstances has each instance leave when it has the first part, and together they take far
// longer than a host may be away.
func TestParts_CallOutlivesInstances(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		caller, next := b.Connect("caller.example"), b.Connect("bytes.example")
		requests := b.Listen(subject.Subscription(b.Plane(), "443", "bytes.example", "POST", "echo"))
		raw := kit.RawClient(t, b.World)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			checkEcho(t, caller, 3<<20)
		}()
		for n := range 3 {
			leaves := &kit.Scripted{Host: "bytes.example", ID: fmt.Sprintf("s%daaaaaaaa", n), Plane: b.Plane(), Raw: raw,
				Script: []wire.OpCode{kit.Ack}}
			select {
			case first := <-requests:
				time.Sleep(time.Second)
				leaves.Receive(first) // it is not there for the others
			case <-ended:
				t.Fatal("the call has not waited for the next instance")
			}
		}
		handleBytes(t, next)
		<-ended
		checkNothingLeft(t, caller, next)
	})
}

// TestClose_DoesNotWaitForParts closes an instance that has the first part of a request.
func TestClose_DoesNotWaitForParts(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		callee := b.Connect("bytes.example")
		handleBytes(t, callee)
		s := newSender(t, b.World, callee)
		s.send(s.part(1, 2, "a"))
		checkTold(t, "the first part", s.heard(), nil)
		begun := time.Now()
		assert.NoError(t, callee.Close(t.Context()))
		if waited := time.Since(begun); waited > time.Second {
			t.Errorf("Close has waited for %s", waited)
		}
		checkNothingLeft(t, callee)
		synctest.Wait()
	})
}

// TestParts_CallerLeaves has callers give up while their request, or the response, is on its way.
func TestParts_CallerLeaves(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		callee, caller := b.Connect("bytes.example"), b.Connect("caller.example")
		handleBytes(t, callee)
		for budget := time.Duration(1); budget < time.Second; budget *= 3 {
			ctx, cancel := context.WithTimeout(t.Context(), budget)
			err := caller.Call(ctx, bytesURL+"/echo", bus.Args{"httpRequestBody": strings.Repeat("a", 3<<20)}, nil)
			cancel()
			if status := bus.StatusOf(err); status != 200 && status != 503 && status != 504 {
				t.Errorf("within %s: %v", budget, err)
			}
		}
		time.Sleep(time.Minute) // on the clock of the bubble: no caller has time left
		synctest.Wait()
		checkNothingLeft(t, caller, callee)
		if open := caller.PendingCalls(); open != 0 {
			t.Errorf("%d slots are left open", open)
		}
	})
}

// TestParts_AnotherBrokerTakesLess replaces the broker by one that takes smaller messages, and by one that takes larger
// ones.
func TestParts_AnotherBrokerTakesLess(t *testing.T) {
	t.Parallel()
	running, err := broker.Start(broker.Listen("127.0.0.1:0"))
	require.NoError(t, err)
	t.Cleanup(func() { running.Close() })
	url := running.URL()
	options := []bus.ConnectOption{bus.WithURL(url), bus.WithoutShortCircuit(), bus.WithLogger(zerolog.Nop())}
	conn, err := bus.Connect(t.Context(), "bytes.example", options...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	handleBytes(t, conn)
	for _, payload := range []int{1 << 20, 4096, 64 << 10} {
		back := conn.NATS().StatusChanged(nats.CONNECTED)
		running.Close()
		running, err = broker.Start(broker.Listen(strings.TrimPrefix(url, "nats://")), broker.MaxPayload(payload))
		require.NoError(t, err)
		<-back
		require.NoError(t, conn.NATS().Flush())
		checkEcho(t, conn, 300_000)
	}
	checkNothingLeft(t, conn)
}

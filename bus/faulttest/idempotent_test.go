package faulttest_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/interceptors"
)

// TestIdempotent_Kills kills instances, and at times the broker, while callers repeat each call with its key until they
// know what became of it, several of them at once. For them a key is a register: who is first writes it, all others
// read it.
func TestIdempotent_Kills(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, brokerConfig{StoreDir: t.TempDir()})
	s.idempotent = true
	running := []*remote{s.remoteInstance(t, s.brokers.url(0)), s.remoteInstance(t, s.brokers.url(0))}
	r := &repeating{oracle: s.oracle, from: s.caller(t, 0), results: make(map[uint64]bool)}
	ctx, stop := context.WithCancel(t.Context())
	var calling sync.WaitGroup
	for range 8 {
		calling.Go(func() {
			for ctx.Err() == nil {
				r.callUntilKnown(t)
			}
		})
	}
	kills := pick(5, 1000)
	for kill := range kills {
		r.await(t, pick(200, 1000))
		victim := kill % len(running)
		running[victim].kill()
		var away time.Time
		if kill%4 == 3 {
			away = time.Now()
			s.brokers.kill(0)
			s.brokers.start(t, 0)
		}
		running[victim] = s.remoteInstance(t, s.brokers.url(0))
		if !away.IsZero() {
			r.await(t, 200)
			s.oracle.lasted(away)
		}
	}
	stop()
	calling.Wait()
	ran, twice, lost, unknown := s.oracle.ran(t), 0, 0, 0
	for id, answered := range r.results {
		twice += max(0, len(ran[id])-1)
		if answered && len(ran[id]) == 0 {
			lost++
		}
		if !answered {
			unknown++
		}
	}
	assert.Zero(t, twice, "run twice")
	assert.Zero(t, lost, "answered, and not run")
	checkLinearizable(t, registers, r.history())
	figures.addRow(t, "kill -9 of 1 of 2 instances, calls repeated with a key", "0 run twice, each call ends known",
		"%d times; %d calls, %d attempts more; %d run twice; %d begun and not ended with their instance", kills,
		len(r.results), r.attempts.Load()-int64(len(r.known)), twice, unknown)
}

// registers is what a key is to its callers: a register that the first of them writes, and the others read.
var registers = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		return partition(history, func(o porcupine.Operation) uint64 { return o.Input.(drawing).id })
	},
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		switch written, drawn := state.(string), output.(string); {
		case drawn == "": // it has begun, and there is no answer yet
			return written == "" || input.(drawing).wasAway, written
		case written == "":
			return true, drawn
		default:
			return drawn == written, written
		}
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v: %q", input, output) },
}

// drawing is an attempt that is known to have begun.
type drawing struct {
	id      uint64
	wasAway bool // whether the broker was away since the first attempt, so that an answer may not be stored
}

// repeating is callers that repeat a call until they know what became of it.
type repeating struct {
	oracle   *oracle
	from     *bus.Conn
	attempts atomic.Int64

	mu      sync.Mutex // protects all below
	results map[uint64]bool
	known   []porcupine.Operation
}

// callUntilKnown makes a call twice at once, and once more, each until it is answered, or is known to have begun at an
// instance that was lost.
func (r *repeating) callUntilKnown(t *testing.T) {
	t.Helper()
	id := r.oracle.numbers.Add(1)
	ctx := interceptors.WithIdempotencyKey(context.Background(), "")
	var rivals sync.WaitGroup
	for range 2 {
		rivals.Go(func() { r.repeat(t, ctx, id) })
	}
	rivals.Wait()
	r.repeat(t, ctx, id)
}

func (r *repeating) repeat(t *testing.T, ctx context.Context, id uint64) { //nolint:revive // the test comes first
	t.Helper()
	for begun := time.Now(); ; {
		r.attempts.Add(1)
		attempt, cancel := context.WithTimeout(ctx, time.Second)
		var answer struct{ Ticket string }
		began := time.Now()
		err := r.from.Call(attempt, "POST "+drawAddress, bus.Args{"id": id}, &answer)
		cancel()
		isKnown := err == nil || bus.StatusOf(err) == http.StatusConflict
		switch {
		case isKnown:
			r.note(id, began, answer.Ticket)
			assert.True(t, err != nil || answer.Ticket != "", "an answer without a ticket")
			return
		case time.Since(begun) > testTimeout:
			assert.NoError(t, err, "it is not known")
			return
		}
	}
}

func (r *repeating) note(id uint64, began time.Time, ticket string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.results[id] = r.results[id] || ticket != ""
	r.known = append(r.known, porcupine.Operation{Input: drawing{id: id}, Call: began.UnixNano(), Output: ticket,
		Return: time.Now().UnixNano()})
}

// history returns all known attempts, once no more are made.
func (r *repeating) history() []porcupine.Operation {
	first := make(map[uint64]int64)
	for _, each := range r.known {
		id := each.Input.(drawing).id
		if began, has := first[id]; !has || each.Call < began {
			first[id] = each.Call
		}
	}
	for i, each := range r.known {
		id := each.Input.(drawing).id
		wasAway := slices.ContainsFunc(r.oracle.errs, func(err window) bool {
			return first[id] < err.to.UnixNano() && each.Return > err.from.UnixNano()
		})
		r.known[i].Input, r.known[i].ClientId = drawing{id, wasAway}, i
	}
	return r.known
}

// await waits until so many further calls are known.
func (r *repeating) await(t *testing.T, more int) {
	t.Helper()
	known := func() int {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.results)
	}
	before := known()
	until(t, "calls are known", func() bool { return known() >= before+more })
}

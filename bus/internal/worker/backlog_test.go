package worker_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/internal/worker"
)

// TestQueue_Order holds that items are popped in the order in which they were pushed.
func TestQueue_Order(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var q worker.Queue
	pushed, popped := 0, 0
	for range 100_000 {
		if random.IntN(2) == 0 {
			q.Push(pushed)
			pushed++
			continue
		}
		if q.IsEmpty() != (popped == pushed) {
			t.Fatalf("empty: %t, after %d of %d", q.IsEmpty(), popped, pushed)
		}
		if popped == pushed {
			continue
		}
		if item := q.Pop(); item != popped {
			t.Fatalf("popped %d, want %d", item, popped)
		}
		popped++
	}
}

// TestQueue_Memory holds that a queue that is never empty does not grow, and that an emptied one frees its memory.
func TestQueue_Memory(t *testing.T) {
	t.Parallel()
	var q worker.Queue
	q.Push(0)
	for i := range 100_000 {
		q.Push(i)
		q.Pop()
	}
	if room := q.Room(); room > 16 {
		t.Errorf("room for %d where there are two", room)
	}
	for i := range 100_000 {
		q.Push(i)
	}
	for !q.IsEmpty() {
		q.Pop()
	}
	if room := q.Room(); room > 1024 {
		t.Errorf("room for %d is left", room)
	}
}

// step is a job that may wait, and then records its number.
type step struct {
	number int
	wait   <-chan struct{}
	record func(number int, queued bool)
}

func (step) Urgent() bool { return false }

func (s step) Do(queued bool) {
	if s.wait != nil {
		<-s.wait
	}
	s.record(s.number, queued)
}

// TestBacklog_BlockedJob holds that each queued job runs once, and that a job that blocks delays no other. Jobs begin
// in order, but two goroutines may end theirs in any.
func TestBacklog_BlockedJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pool := new(worker.Pool)
		defer pool.Close()
		backlog := worker.NewBacklog(pool)
		var mu sync.Mutex
		var done []int
		record := func(number int, queued bool) {
			mu.Lock()
			defer mu.Unlock()
			done = append(done, number)
			if !queued {
				t.Errorf("job %d was not queued", number)
			}
		}
		free := make(chan struct{})
		release := backlog.Hold()
		backlog.Add(step{0, free, record})
		for number := 1; number < 100; number++ {
			backlog.Add(step{number, nil, record})
		}
		synctest.Wait()
		if len(done) > 0 {
			t.Errorf("done while held: %v", done)
		}
		release()
		synctest.Wait()
		require.Len(t, done, 99, "done beside a job that waits")
		slices.Sort(done)
		for i, number := range done {
			assert.Equal(t, 1+i, number, "done beside a job that waits")
		}
		close(free)
		synctest.Wait()
		require.Len(t, done, 100, "done in the end")
		assert.Zero(t, done[99], "done in the end")
	})
}

package stream_test

import (
	"errors"
	"math"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/stream"
)

const (
	// messageLimit is a 16th of the memory in these tests. One sender may take 12 of them, all together 16.
	messageLimit = 1000
	// onePart is the size of a part that counts as messageLimit bytes, with the 256 that keeping one costs.
	onePart = messageLimit - 256
)

// grow takes so many parts, and expects that there is memory for all of them.
func grow(t *testing.T, reservation *stream.Reservation, parts int) {
	t.Helper()
	for i := range parts {
		if err := reservation.Grow(onePart); err != nil {
			t.Fatalf("part %d: %v", i+1, err)
		}
	}
}

// checkNoMemory expects that there is no memory, for the sender alone or for all, and that the attempt takes none.
func checkNoMemory(t *testing.T, memory *stream.Memory, reservation *stream.Reservation, isFull bool) {
	t.Helper()
	before := memory.BytesHeld()
	err := reservation.Grow(onePart)
	checkRejected(t, err, 503, "too busy: the messages under way take as much memory as they may")
	assert.Equal(t, isFull, errors.Is(err, stream.ErrMemoryFull))
	assert.Equal(t, time.Second, status.Of(err).RetryAfter)
	if after := memory.BytesHeld(); after != before {
		t.Errorf("%d bytes are held, %d before", after, before)
	}
}

// TestMemory_SenderShare holds that the messages of one sender share three quarters of the memory, and leave the rest
// to others.
func TestMemory_SenderShare(t *testing.T) {
	t.Parallel()
	memory := stream.NewMemory(16 * messageLimit)
	one, another, other := memory.Reserve("a1.example"), memory.Reserve("a1.example"), memory.Reserve("b1.example")
	grow(t, &one, 7)
	grow(t, &another, 5)
	checkNoMemory(t, memory, &one, false)
	checkNoMemory(t, memory, &another, false)
	grow(t, &other, 4)
	if held := memory.BytesHeld(); held != 16*messageLimit {
		t.Errorf("%d bytes are held, want %d", held, 16*messageLimit)
	}
}

// TestMemory_Full holds that all messages together share the memory, and that only the whole of it bounds responses.
func TestMemory_Full(t *testing.T) {
	t.Parallel()
	memory := stream.NewMemory(16 * messageLimit)
	response, request := memory.Reserve(""), memory.Reserve("a1.example")
	grow(t, &response, 15)
	grow(t, &request, 1)
	checkNoMemory(t, memory, &response, true)
	checkNoMemory(t, memory, &request, true)
	response.Free()
	grow(t, &request, 11)
	checkNoMemory(t, memory, &request, false)
}

// TestMemory_Free frees a message twice, which gives back what it held and nothing of another message of the sender.
func TestMemory_Free(t *testing.T) {
	t.Parallel()
	memory := stream.NewMemory(16 * messageLimit)
	freed, kept := memory.Reserve("a1.example"), memory.Reserve("a1.example")
	grow(t, &freed, 6)
	grow(t, &kept, 2)
	for range 2 {
		freed.Free()
		if held := memory.BytesHeld(); held != 2*messageLimit {
			t.Errorf("%d bytes are held, want %d", held, 2*messageLimit)
		}
	}
	grow(t, &kept, 10)
	checkNoMemory(t, memory, &freed, false)
	kept.Free()
	grow(t, &freed, 12)
	freed.Free()
	if held := memory.BytesHeld(); held != 0 {
		t.Errorf("%d bytes are held of messages that have ended", held)
	}
}

// TestDefaultMemory holds that a connection is modest, heeds GOMEMLIMIT, and takes the largest message of one sender.
func TestDefaultMemory(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		messageLimit      int
		memoryLimit, want int64
	}{
		{stream.MinMessageLimit, math.MaxInt64, 48 << 20},
		{stream.DefaultMessageLimit, math.MaxInt64, 48 << 20},
		{stream.DefaultMessageLimit, 1 << 30, 256 << 20},
		{stream.DefaultMessageLimit, 64 << 20, 48 << 20},
		{stream.MinMessageLimit, 64 << 20, 16 << 20},
		{stream.MaxMessageLimit, math.MaxInt64, 768 << 20},
	} {
		assert.Equal(t, test.want, stream.DefaultMemory(test.messageLimit, test.memoryLimit), "%d, %d", test.messageLimit,
			test.memoryLimit)
	}
}

// TestMemory_LeastReservation holds that 4096 requests of which parts are to come fill the memory, however small they
// are.
func TestMemory_LeastReservation(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 16<<10, stream.NewMemory(64<<20).LeastReservation())
}

// TestMemory_Concurrent takes and frees memory for many messages at once.
func TestMemory_Concurrent(t *testing.T) {
	t.Parallel()
	memory := stream.NewMemory(16 * messageLimit)
	var messages sync.WaitGroup
	for i := range 40 {
		messages.Go(func() {
			for range 200 {
				reservation := memory.Reserve(strconv.Itoa(i % 3))
				for range 3 {
					_ = reservation.Grow(onePart) // without memory it changes nothing
				}
				if held := memory.BytesHeld(); held > 16*messageLimit {
					t.Errorf("%d bytes are held, want at most %d", held, 16*messageLimit)
				}
				reservation.Free()
			}
		})
	}
	messages.Wait()
	if held := memory.BytesHeld(); held != 0 {
		t.Errorf("%d bytes are held of messages that have ended", held)
	}
}

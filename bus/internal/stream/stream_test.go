package stream_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/stream"
	"github.com/busline/busline/bus/wire"
)

const budget = 20 * time.Second

// first is the window of a stream that nothing was read of.
const first = 16 << 10

// pair is both ends of a stream, without a bus between them.
type pair struct {
	*stream.Writer
	*stream.Reader

	memory *stream.Memory
	parts  atomic.Int64
	failed chan error // of the writer
	ended  []error
	deaf   atomic.Bool // the writer does not receive the window
}

func newPair(change ...func(*stream.WriterConfig)) *pair {
	p := &pair{memory: stream.NewMemory(16 << 20), failed: make(chan error, 1)}
	p.Reader = stream.NewReader(stream.ReaderConfig{
		Open: func(limit int64) {
			if !p.deaf.Load() {
				p.Writer.Open(limit)
			}
		},
		Ended: func(err error) { p.ended = append(p.ended, err) },
		Held:  p.memory.Reserve(""), Opened: first,
	})
	config := stream.WriterConfig{
		Context: context.Background(), PartSize: stream.PartSize, Window: first, First: stream.Unsent, Budget: budget,
		Held:   p.memory.Reserve(""),
		Failed: func(err error) { p.failed <- err },
		Send: func(part wire.Fragment, body []byte) error {
			p.parts.Add(1)
			return p.Take(&part, bytes.Clone(body), nil, len(body))
		},
	}
	for _, each := range change {
		each(&config)
	}
	p.Writer = stream.NewWriter(config)
	return p
}

// TestStream_AnyPieces writes and reads pieces of any size.
func TestStream_AnyPieces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := bytes.Repeat([]byte("0123456789abcdef"), rapid.IntRange(0, 40_000).Draw(t, "size"))
		part := rapid.IntRange(1, stream.PartSize).Draw(t, "part")
		p := newPair(func(c *stream.WriterConfig) { c.PartSize = max(part, len(text)/1000+1) })
		go func() {
			for rest := text; len(rest) > 0; {
				n := min(rapid.IntRange(1, 100_000).Example(), len(rest))
				_, _ = p.Write(rest[:n])
				rest = rest[n:]
				if n%3 == 0 {
					_ = p.Flush()
				}
			}
			_ = p.Writer.Close()
		}()
		read, err := io.ReadAll(struct{ io.Reader }{p.Reader})
		if err != nil || !bytes.Equal(read, text) || p.memory.BytesHeld() != 0 {
			t.Fatalf("%d bytes of %d, %v, %d held", len(read), len(text), err, p.memory.BytesHeld())
		}
	})
}

// TestWriter_SmallParts flushes each byte: a burst of them comes in few parts, and what is flushed now and then at
// once.
func TestWriter_SmallParts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const most, small, flushed = 128, 4 << 10, 10_000
		p := newPair()
		for range flushed {
			_, err := p.Write([]byte("a"))
			require.NoError(t, errors.Join(err, p.Flush()))
		}
		assert.EqualValues(t, most+(flushed-most)/small, p.parts.Load())
		time.Sleep(time.Millisecond)
		synctest.Wait()
		assert.EqualValues(t, flushed, p.Received(), "what is left follows in a millisecond")
		for i := range 2 * most {
			time.Sleep(10 * time.Millisecond)
			_, err := p.Write([]byte("b"))
			require.NoError(t, errors.Join(err, p.Flush()))
			assert.EqualValues(t, flushed+i+1, p.Received())
		}
		require.NoError(t, p.Writer.Close())
		n, err := io.Copy(io.Discard, p.Reader)
		require.NoError(t, err)
		assert.EqualValues(t, flushed+2*most, n)
		assert.Zero(t, p.memory.BytesHeld())
	})
}

// TestWriter_Window holds that a writer is ahead of its reader by a window, and no more.
func TestWriter_Window(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPair()
		written := make(chan error, 1)
		go func() {
			_, err := p.Write(make([]byte, 6*stream.Window))
			written <- errors.Join(err, p.Writer.Close())
		}()
		synctest.Wait()
		assert.EqualValues(t, first, p.Received())
		_, err := io.ReadFull(p.Reader, make([]byte, first/2-1))
		require.NoError(t, err)
		synctest.Wait()
		assert.EqualValues(t, first, p.Received(), "the window opens when half of it was read")
		_, err = io.ReadFull(p.Reader, make([]byte, 1))
		require.NoError(t, err)
		synctest.Wait()
		assert.EqualValues(t, first/2+2*first, p.Received(), "the window grows with what is read")
		_, err = io.ReadFull(p.Reader, make([]byte, 4*stream.Window))
		require.NoError(t, err)
		synctest.Wait()
		assert.LessOrEqual(t, p.Received(), int64(4*stream.Window+first/2+stream.Window), "it has a largest size")
		n, err := io.Copy(io.Discard, p.Reader)
		require.NoError(t, err)
		assert.EqualValues(t, 2*stream.Window-first/2, n)
		require.NoError(t, <-written)
		assert.Equal(t, []error{nil}, p.ended)
		assert.Zero(t, p.memory.BytesHeld())
	})
}

// TestWriter_KeepsAlive holds that an idle stream lives, and one whose reader is gone does not.
func TestWriter_KeepsAlive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPair()
		require.NoError(t, p.Flush())
		time.Sleep(time.Minute + time.Second)
		assert.Empty(t, p.failed)
		assert.EqualValues(t, 13, p.parts.Load(), "a part each 5 s, after part 1")
		p.deaf.Store(true)
		began := time.Now()
		require.ErrorIs(t, <-p.failed, status.ErrCallerLeft)
		assert.InDelta(t, budget.Seconds(), time.Since(began).Seconds(), 6)
		_, err := p.Write([]byte("a"))
		require.ErrorIs(t, err, status.ErrCallerLeft)
	})
}

// TestStream_Deadlines has writes and reads that may not wait for ever.
func TestStream_Deadlines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPair()
		p.Reader.SetDeadline(time.Now().Add(time.Second))
		_, err := p.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		p.Writer.SetDeadline(time.Now().Add(time.Second))
		_, err = p.Write(make([]byte, 2*stream.PartSize))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		p.Writer.SetDeadline(time.Time{})
		p.Reader.SetDeadline(time.Time{})
		go func() {
			_, _ = p.Write([]byte("b"))
			_ = p.Writer.Close()
		}()
		n, err := io.Copy(io.Discard, p.Reader)
		require.NoError(t, err)
		assert.EqualValues(t, first+1, n)
	})
}

// TestReader_MemoryFull has a stream for whose window there is no memory, and one with heads for which there is none.
func TestReader_MemoryFull(t *testing.T) {
	t.Parallel()
	for _, left := range []int{10_000, 20_000} {
		p := newPair()
		other := p.memory.Reserve("")
		require.NoError(t, other.Grow(16<<20-left))
		require.ErrorIs(t, p.Take(&wire.Fragment{Number: 1}, []byte("a"), nil, 10_000), stream.ErrMemoryFull)
		_, err := p.Read(make([]byte, 1))
		require.ErrorIs(t, err, stream.ErrMemoryFull)
		assert.Len(t, p.ended, 1)
	}
}

// TestReader_BeyondWindow has a sender that heeds no window.
func TestReader_BeyondWindow(t *testing.T) {
	t.Parallel()
	p := newPair()
	half := make([]byte, first/2)
	for number := 1; number <= 2; number++ {
		require.NoError(t, p.Take(&wire.Fragment{Number: number}, half, nil, len(half)))
	}
	err := p.Take(&wire.Fragment{Number: 3}, []byte("a"), nil, 1)
	require.ErrorContains(t, err, "part 3 of the stream exceeds the window")
	n, err := io.Copy(io.Discard, p.Reader)
	require.ErrorContains(t, err, "exceeds the window")
	assert.EqualValues(t, first, n, "what fitted is read")
}

// TestReader_TightMemory holds that a window is small while others hold more than half of the memory.
func TestReader_TightMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPair()
		other := p.memory.Reserve("")
		require.NoError(t, other.Grow(9<<20))
		written := make(chan error, 1)
		go func() {
			_, err := p.Write(make([]byte, 2*stream.Window))
			written <- errors.Join(err, p.Writer.Close())
		}()
		_, err := io.ReadFull(p.Reader, make([]byte, stream.Window))
		require.NoError(t, err)
		synctest.Wait()
		assert.LessOrEqual(t, p.Received(), int64(stream.Window+first))
		assert.EqualValues(t, 2<<10, stream.FirstWindow(p.memory))
		_, err = io.Copy(io.Discard, p.Reader)
		require.NoError(t, err)
		require.NoError(t, <-written)
	})
}

// TestWriter_Memory holds that small pieces are sent soon if there is no memory to gather them.
func TestWriter_Memory(t *testing.T) {
	t.Parallel()
	memory := stream.NewMemory(64 << 10)
	other := memory.Reserve("")
	require.NoError(t, other.Grow(62<<10))
	p := newPair(func(c *stream.WriterConfig) { c.Held = memory.Reserve("") })
	for range 64 {
		_, err := p.Write(make([]byte, 50))
		require.NoError(t, err)
	}
	assert.GreaterOrEqual(t, p.Received(), int64(2000))
	other.Free()
	_, err := p.Write(make([]byte, 10_000))
	require.NoError(t, err)
	require.NoError(t, p.Writer.Close())
	n, err := io.Copy(io.Discard, p.Reader)
	require.NoError(t, err)
	assert.EqualValues(t, 13_200, n)
	assert.Zero(t, memory.BytesHeld())
}

// TestReadAll reads streams to their ends, within limits.
func TestReadAll(t *testing.T) {
	t.Parallel()
	memory := stream.NewMemory(64 << 10)
	held := memory.Reserve("a")
	text := bytes.Repeat([]byte("0123456789"), 1000)
	read, err := stream.ReadAll(bytes.NewReader(text), len(text), &held)
	require.NoError(t, err)
	assert.Equal(t, text, read)
	assert.GreaterOrEqual(t, memory.BytesHeld(), len(text))
	assert.Less(t, memory.BytesHeld(), 2*len(text))
	held.Free()
	_, err = stream.ReadAll(bytes.NewReader(text), len(text)-1, &held)
	require.EqualError(t, err, "413 Request Entity Too Large: a body of at least 10000 bytes exceeds the limit of 9999")
	held.Free()
	large := stream.NewMemory(48 << 20)
	all := large.Reserve("a")
	read, err = stream.ReadAll(io.LimitReader(neverEnds{}, 32<<20), 32<<20, &all)
	require.NoError(t, err, "the largest message, of one sender")
	assert.Len(t, read, 32<<20)
	held.Free()
	_, err = stream.ReadAll(neverEnds{}, 1<<30, &held)
	require.ErrorContains(t, err, "503 Service Unavailable: too busy")
	held.Free()
	assert.Zero(t, memory.BytesHeld())
}

// neverEnds is a body without an end.
type neverEnds struct{}

func (neverEnds) Read(data []byte) (int, error) { return len(data), nil }

// TestReader_Length holds that a stream is as long as announced.
func TestReader_Length(t *testing.T) {
	t.Parallel()
	for _, sizes := range [][]int{{5}, {11}, {5, 6}} {
		memory := stream.NewMemory(1 << 20)
		r := stream.NewReader(stream.ReaderConfig{
			Open: func(int64) {}, Ended: func(error) {}, Held: memory.Reserve(""), Opened: first, Length: 10,
		})
		for i, size := range sizes {
			part := wire.Fragment{Number: i + 1}
			if i == len(sizes)-1 {
				part.Count = part.Number
			}
			_ = r.Take(&part, make([]byte, size), nil, size)
		}
		_, err := io.Copy(io.Discard, r)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.ErrorContains(t, err, "not as long as announced: 10 bytes")
	}
}

// TestReader_Close closes a stream in the middle.
func TestReader_Close(t *testing.T) {
	t.Parallel()
	p := newPair()
	_, err := p.Write(make([]byte, first))
	require.NoError(t, err)
	require.NoError(t, p.Reader.Close())
	require.NoError(t, p.Reader.Close())
	assert.Equal(t, []error{stream.ErrClosed}, p.ended)
	p.Writer.Free()
	assert.Zero(t, p.memory.BytesHeld())
	_, err = p.Read(make([]byte, 1))
	require.ErrorIs(t, err, stream.ErrClosed)
}

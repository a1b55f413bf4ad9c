package batch_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/busline/busline/bus/internal/batch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestConn_Write_Order lets many goroutines write records of all sizes. No record is interleaved with another, and the
// records of one writer arrive in order.
func TestConn_Write_Order(t *testing.T) {
	t.Parallel()
	const writers, records = 16, 200
	ours, theirs := overTCP(t)
	var writing sync.WaitGroup
	for writer := range byte(writers) {
		writing.Go(func() {
			for number := range uint32(records) {
				write(t, ours, record(writer, number))
			}
		})
	}
	next := make([]uint32, writers)
	for range writers * records {
		writer, number := readRecord(t, theirs)
		if next[writer] != number {
			t.Fatalf("writer %d: record %d, want %d", writer, number, next[writer])
		}
		next[writer]++
	}
	writing.Wait()
	assert.NoError(t, ours.Close())
	n, err := theirs.Read(make([]byte, 1))
	assert.Zero(t, n)
	assert.ErrorIs(t, err, io.EOF)
}

// record makes a record of one of the sizes that are treated in different ways.
func record(writer byte, number uint32) []byte {
	sizes := []int{0, 1, 100, 1000, 1000, 5000, 20_000, 70_000}
	size := sizes[rand.IntN(len(sizes))]
	data := binary.BigEndian.AppendUint32([]byte{writer}, number)
	data = binary.BigEndian.AppendUint32(data, uint32(size))
	return append(data, bytes.Repeat([]byte{writer}, size)...)
}

func readRecord(t *testing.T, from io.Reader) (writer byte, number uint32) {
	t.Helper()
	head := make([]byte, 9)
	_, err := io.ReadFull(from, head)
	require.NoError(t, err)
	body := make([]byte, binary.BigEndian.Uint32(head[5:]))
	_, err = io.ReadFull(from, body)
	require.NoError(t, err)
	if slices.ContainsFunc(body, func(c byte) bool { return c != head[0] }) {
		t.Fatalf("another record inside of one of writer %d", head[0])
	}
	return head[0], binary.BigEndian.Uint32(head[1:])
}

// TestConn_Write_Batches holds that writes made during another one are sent together, and that large writes bypass the
// buffer only if it is empty.
func TestConn_Write_Batches(t *testing.T) {
	t.Parallel()
	under := newStub()
	ours := batch.New(under)
	large := strings.Repeat("l", 16<<10)
	write(t, ours, []byte("first"))
	wantWrite(t, under, "first")
	for _, text := range []string{"a", "", "b", large, "c"} {
		write(t, ours, []byte(text))
	}
	under.free <- struct{}{}
	wantWrite(t, under, "ab"+large+"c")
	under.free <- struct{}{}

	through := make(chan struct{})
	go func() {
		defer close(through)
		awaitIdle(ours)
		write(t, ours, []byte(large))
	}()
	wantWrite(t, under, large)
	write(t, ours, []byte("behind"))
	select {
	case <-through:
		t.Error("a large write has returned before it was sent")
	default:
	}
	under.free <- struct{}{}
	<-through
	wantWrite(t, under, "behind")
	close(under.free)
	assert.NoError(t, ours.Close())
}

// TestConn_Write_Chunks holds that a large write is sent in chunks, each with its own deadline.
func TestConn_Write_Chunks(t *testing.T) {
	t.Parallel()
	under := newStub()
	close(under.free)
	ours := batch.New(under)
	go write(t, ours, make([]byte, 600_000))
	var sizes []int
	for range 3 {
		sizes = append(sizes, len(<-under.writes))
	}
	if want := []int{256 << 10, 256 << 10, 600_000 - 512<<10}; !slices.Equal(sizes, want) {
		t.Errorf("written in chunks of %v, want %v", sizes, want)
	}
	assert.NoError(t, ours.Close())
}

// TestConn_Write_Error holds that all methods return the error of a failed write, and that Read first returns the bytes
// that had arrived.
func TestConn_Write_Error(t *testing.T) {
	t.Parallel()
	under := newStub()
	ours := batch.New(under)
	go func() { _, _ = under.peer.Write([]byte("the reason")) }()
	broken := errors.New("broken")
	under.fails <- broken
	write(t, ours, []byte("x"))
	wantWrite(t, under, "x")
	awaitIdle(ours)
	n, err := ours.Write([]byte("y"))
	assert.Zero(t, n, "the next write")
	assert.ErrorIs(t, err, broken, "the next write")
	text := make([]byte, 64)
	n, err = ours.Read(text)
	assert.Equal(t, "the reason", string(text[:n]))
	assert.NoError(t, err)
	n, err = ours.Read(text)
	assert.Zero(t, n)
	assert.ErrorIs(t, err, broken)
	if err := ours.SetDeadline(noTime()); !errors.Is(err, broken) {
		t.Errorf("SetDeadline: %v", err)
	}
	if err := ours.AwaitRoom(t.Context()); !errors.Is(err, broken) {
		t.Errorf("AwaitRoom: %v", err)
	}
	err = ours.Close()
	assert.ErrorIs(t, err, broken, "Close")
	assert.EqualError(t, err, "closed before everything was sent: broken", "Close")
}

// TestConn_Close_EndsUse holds that a closed connection refuses everything.
func TestConn_Close_EndsUse(t *testing.T) {
	t.Parallel()
	ours, _ := overTCP(t)
	require.NoError(t, ours.Close())
	for name, refused := range map[string]func() error{
		"Write":           func() error { _, err := ours.Write([]byte("x")); return err },
		"large Write":     func() error { _, err := ours.Write(make([]byte, 1<<20)); return err },
		"Read":            func() error { _, err := ours.Read(make([]byte, 1)); return err },
		"Close":           ours.Close,
		"SetDeadline":     func() error { return ours.SetDeadline(noTime()) },
		"SetReadDeadline": func() error { return ours.SetReadDeadline(noTime()) },
		"AwaitRoom":       func() error { return ours.AwaitRoom(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := refused(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// TestConn_Addresses holds that the addresses are those of the underlying connection.
func TestConn_Addresses(t *testing.T) {
	t.Parallel()
	ours, theirs := overTCP(t)
	assert.Equal(t, theirs.RemoteAddr().String(), ours.LocalAddr().String())
	assert.Equal(t, theirs.LocalAddr().String(), ours.RemoteAddr().String())
}

// TestConn_Allocations holds that a write allocates nothing once the buffers have grown.
func TestConn_Allocations(t *testing.T) { // not in parallel: it counts for the whole process
	ours, theirs := overTCP(t)
	message, large, text := make([]byte, 300), make([]byte, 20_000), make([]byte, 20_000)
	for name, data := range map[string][]byte{"small": message, "large": large} {
		t.Run(name, func(t *testing.T) {
			got := testing.AllocsPerRun(1000, func() {
				_ = ours.SetWriteDeadline(noTime())
				write(t, ours, data)
				if _, err := io.ReadFull(theirs, text[:len(data)]); err != nil {
					t.Fatal(err)
				}
			})
			if got > 0 {
				t.Errorf("a %s write allocates %v times, want 0", name, got)
			}
		})
	}
}

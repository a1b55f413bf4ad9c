package batch_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestConn_Write_DoesNotWait holds that a peer that accepts nothing delays no writer, and that the accepted bytes are
// sent in order once the peer reads again. A write deadline has no effect.
func TestConn_Write_DoesNotWait(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 20_000, 900_000} {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := overPipe()
			var want []byte
			for number := range byte(8) {
				begun, data := time.Now(), bytes.Repeat([]byte{number}, size)
				_ = ours.SetWriteDeadline(begun)
				write(t, ours, data)
				if waited := time.Since(begun); waited > 5*time.Millisecond {
					t.Errorf("%d bytes: a write took %v", size, waited)
				}
				want = append(want, data...)
			}
			got := make([]byte, len(want))
			_, err := io.ReadFull(theirs, got)
			require.NoError(t, err, "%d bytes", size)
			assert.Equal(t, string(want), string(got), "%d bytes", size)
			synctest.Wait()
			assert.NoError(t, ours.Close())
		})
	}
}

// TestConn_AwaitRoom holds that a connection is full while 64 KiB wait, and that AwaitRoom returns when its context
// ends or when the peer has accepted the bytes.
func TestConn_AwaitRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := overPipe()
		write(t, ours, make([]byte, 1<<10)) // is being sent
		synctest.Wait()
		for range 64 {
			require.False(t, ours.IsFull(), "it is full before there are 64 KiB")
			require.NoError(t, ours.AwaitRoom(t.Context()))
			write(t, ours, make([]byte, 1<<10))
		}
		begun := time.Now()
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("the cause"))
		defer cancel()
		err := ours.AwaitRoom(ctx)
		assert.EqualError(t, err, "the cause")
		assert.Equal(t, time.Second, time.Since(begun))
		stalled := ours.StalledFor()
		assert.True(t, ours.IsFull())
		assert.Equal(t, time.Second, stalled)
		go func() {
			time.Sleep(time.Second)
			_, _ = io.ReadFull(theirs, make([]byte, 65<<10))
		}()
		err = ours.AwaitRoom(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 2*time.Second, time.Since(begun))
		assert.False(t, ours.IsFull())
		synctest.Wait()
		if stalled := ours.StalledFor(); stalled != 0 {
			t.Errorf("it has been stalled for %v, and there is nothing to send", stalled)
		}
		assert.NoError(t, ours.Close())
	})
}

// TestConn_Write_PartialWrites holds that a peer that keeps accepting bytes is never considered dead.
func TestConn_Write_PartialWrites(t *testing.T) {
	t.Parallel()
	for _, size := range []int{10_000, 20_000} { // in the buffer, and past it
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := overPipe()
			begun := time.Now()
			go write(t, ours, make([]byte, size))
			for range 10 {
				time.Sleep(6 * time.Second)
				if _, err := io.ReadFull(theirs, make([]byte, size/10)); err != nil {
					t.Fatalf("%v after %v", err, time.Since(begun))
				}
			}
			assert.NoError(t, ours.Close())
			_ = theirs.Close()
		})
	}
}

// TestConn_Write_SlowPeer holds that a slow peer is tolerated, and that writes and reads fail after the peer has
// accepted nothing for 10 s.
func TestConn_Write_SlowPeer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := overPipe()
		for range 5 {
			write(t, ours, []byte("x"))
			time.Sleep(7 * time.Second)
			_, err := theirs.Read(make([]byte, 1))
			require.NoError(t, err)
		}
		begun := time.Now()
		write(t, ours, []byte("x"))
		_, err := ours.Read(make([]byte, 1))
		waited := time.Since(begun)
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded, "reading")
		assert.GreaterOrEqual(t, waited, 7*time.Second, "reading")
		assert.LessOrEqual(t, waited, 11*time.Second, "reading")
		if _, err := ours.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("writing: %v", err)
		}
		if err := ours.Close(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Close: %v", err)
		}
	})
}

// TestConn_AwaitRoom_DeadPeer holds that waiting for room ends when the peer is considered dead.
func TestConn_AwaitRoom_DeadPeer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ours, _ := overPipe()
		write(t, ours, []byte("x"))
		synctest.Wait()
		write(t, ours, make([]byte, 100_000))
		begun := time.Now()
		err := ours.AwaitRoom(t.Context())
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
		assert.Equal(t, 10*time.Second, time.Since(begun))
		_ = ours.Close()
	})
}

// TestConn_Close_Drains holds that Close sends the accepted bytes if the peer reads them.
func TestConn_Close_Drains(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := overPipe()
		text := strings.Repeat("accepted", 1000)
		for i := range len(text) / 8 {
			write(t, ours, []byte(text[8*i:8*i+8]))
		}
		read := make(chan string)
		go func() {
			time.Sleep(900 * time.Millisecond)
			all, _ := io.ReadAll(theirs)
			read <- string(all)
		}()
		go func() {
			assert.NoError(t, ours.Close())
		}()
		if got := <-read; got != text {
			t.Errorf("%d bytes have arrived, want %d", len(got), len(text))
		}
	})
}

// TestConn_Close_Timeout holds that Close waits a second for a peer that reads nothing, and ends all calls of
// AwaitRoom.
func TestConn_Close_Timeout(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 20_000, 200_000} {
		synctest.Test(t, func(t *testing.T) {
			ours, _ := overPipe()
			ended := make(chan error, 3)
			write(t, ours, make([]byte, size)) // is being sent
			synctest.Wait()
			write(t, ours, make([]byte, 65<<10))
			for range cap(ended) {
				go func() { ended <- ours.AwaitRoom(t.Context()) }()
			}
			synctest.Wait()
			begun := time.Now()
			err := ours.Close()
			require.Error(t, err, "%d bytes", size)
			assert.True(t, strings.HasPrefix(err.Error(), "closed before everything was sent: "), err.Error())
			if waited := time.Since(begun); waited != time.Second {
				t.Errorf("%d bytes: Close takes %v", size, waited)
			}
			for range cap(ended) {
				if err := <-ended; !errors.Is(err, net.ErrClosed) {
					t.Errorf("waiting for room ended with %v", err)
				}
			}
		})
	}
}

package batch_test

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busline/busline/bus/batch"
)

// TestBackPressure holds that a writer waits while the buffer is full, until its deadline, and that what was accepted is
// sent all the same.
func TestBackPressure(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 20_000, 200_000} {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := overPipe()
			write(t, ours, make([]byte, 1<<10)) // is being sent
			synctest.Wait()
			for range 64 {
				write(t, ours, make([]byte, 1<<10))
			}
			begun := time.Now()
			_ = ours.SetWriteDeadline(begun.Add(time.Second))
			n, err := ours.Write(make([]byte, size))
			if n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) != time.Second {
				t.Errorf("%d bytes: %d, %v after %v", size, n, err, time.Since(begun))
			}
			if _, err := ours.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("after the deadline: %v", err)
			}
			_ = ours.SetWriteDeadline(time.Time{})
			go write(t, ours, make([]byte, size))
			if _, err := io.ReadFull(theirs, make([]byte, 65<<10+size)); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			if err := ours.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestDeadlineMoves holds that a writer who waits minds a new deadline.
func TestDeadlineMoves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ours, _ := overPipe()
		write(t, ours, []byte("x"))
		begun := time.Now()
		_ = ours.SetDeadline(begun.Add(5 * time.Second))
		time.AfterFunc(time.Second, func() { _ = ours.SetWriteDeadline(begun.Add(2 * time.Second)) })
		if _, err := ours.Write(make([]byte, 100_000)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) != 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		if _, err := ours.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) != 5*time.Second {
			t.Errorf("reading: %v after %v", err, time.Since(begun))
		}
		_ = ours.Close()
	})
}

// TestDeadlineOfLargeWrite holds that it ends a write that went past the buffer. The connection is of no use afterwards
// only when a piece was sent.
func TestDeadlineOfLargeWrite(t *testing.T) {
	t.Parallel()
	for _, taken := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := overPipe()
			begun := time.Now()
			_ = ours.SetWriteDeadline(begun.Add(time.Second))
			go func() { _, _ = io.ReadFull(theirs, make([]byte, taken)) }()
			n, err := ours.Write(make([]byte, 20_000))
			if n != taken || !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) != time.Second {
				t.Errorf("%d sent, %v after %v", n, err, time.Since(begun))
			}
			_ = ours.SetWriteDeadline(time.Time{})
			go func() { _, _ = io.Copy(io.Discard, theirs) }()
			if _, err = ours.Write([]byte("next")); (err == nil) != (taken == 0) {
				t.Errorf("%d of it were sent, and the next write returns %v", taken, err)
			}
			if err := ours.Close(); (err == nil) != (taken == 0) {
				t.Errorf("%d of it were sent, and Close returns %v", taken, err)
			}
			_ = theirs.Close()
		})
	}
}

// TestDeadlineOfLargeWriteMoves holds that a large write that waits for the peer minds a new deadline, be it sooner or later.
func TestDeadlineOfLargeWriteMoves(t *testing.T) {
	t.Parallel()
	for _, to := range []time.Duration{2 * time.Second, 6 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := overPipe()
			begun := time.Now()
			_ = ours.SetWriteDeadline(begun.Add(4 * time.Second))
			time.AfterFunc(time.Second, func() { _ = ours.SetWriteDeadline(begun.Add(to)) })
			if n, err := ours.Write(make([]byte, 20_000)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) != to {
				t.Errorf("%d sent, %v after %v, want %v", n, err, time.Since(begun), to)
			}
			_ = ours.SetWriteDeadline(time.Time{})
			go func() { _, _ = io.Copy(io.Discard, theirs) }()
			write(t, ours, make([]byte, 20_000))
			if err := ours.Close(); err != nil {
				t.Error(err)
			}
			_ = theirs.Close()
		})
	}
}

// TestPeerThatTakesLittle holds that one who goes on to take something is not taken for dead, however long it takes.
func TestPeerThatTakesLittle(t *testing.T) {
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
			if err := ours.Close(); err != nil {
				t.Error(err)
			}
			_ = theirs.Close()
		})
	}
}

// TestSlowPeer holds that a peer may take its time, and that one that takes nothing for 10 s ends the connection, for the
// reader, too.
func TestSlowPeer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := overPipe()
		for range 5 {
			write(t, ours, []byte("x"))
			time.Sleep(7 * time.Second)
			if _, err := theirs.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
		}
		begun := time.Now()
		write(t, ours, []byte("x"))
		_, err := ours.Read(make([]byte, 1))
		waited := time.Since(begun)
		if !errors.Is(err, os.ErrDeadlineExceeded) || waited < 7*time.Second || waited > 11*time.Second {
			t.Errorf("reading: %v after %v", err, waited)
		}
		if _, err := ours.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("writing: %v", err)
		}
		if err := ours.Close(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Close: %v", err)
		}
	})
}

// TestFullBufferFails holds that who waits for room is told when the peer is taken for dead.
func TestFullBufferFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ours, _ := overPipe()
		write(t, ours, []byte("x"))
		begun := time.Now()
		if _, err := ours.Write(make([]byte, 100_000)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begun) != 10*time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		_ = ours.Close()
	})
}

// TestCloseDrains holds that what was accepted is sent before the connection is closed, if the peer takes it.
func TestCloseDrains(t *testing.T) {
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
			if err := ours.Close(); err != nil {
				t.Error(err)
			}
		}()
		if got := <-read; got != text {
			t.Errorf("%d bytes have arrived, want %d", len(got), len(text))
		}
	})
}

// TestCloseDoesNotWaitForEver gives a peer that reads nothing a second, however much there is, and sends those away who
// still wait for room.
func TestCloseDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 20_000, 200_000} {
		synctest.Test(t, func(t *testing.T) {
			ours, _ := overPipe()
			ended := make(chan error, 3)
			write(t, ours, []byte("x"))
			for range cap(ended) {
				go func() {
					_, err := ours.Write(make([]byte, 65<<10))
					ended <- err
				}()
			}
			synctest.Wait()
			begun := time.Now()
			if err := ours.Close(); err == nil || !strings.HasPrefix(err.Error(), "closed before everything was sent: ") {
				t.Errorf("%d bytes: Close returns %v", size, err)
			}
			if waited := time.Since(begun); waited != time.Second {
				t.Errorf("%d bytes: Close takes %v", size, waited)
			}
			for range cap(ended) {
				if err := <-ended; !errors.Is(err, net.ErrClosed) {
					t.Errorf("who waited got %v", err)
				}
			}
		})
	}
}

// TestCloseOfLargeWrite ends one that went past the buffer, too.
func TestCloseOfLargeWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ours, _ := overPipe()
		begun := time.Now()
		time.AfterFunc(time.Second, func() { _ = ours.Close() })
		if n, err := ours.Write(make([]byte, 200_000)); n != 0 || err == nil || time.Since(begun) != 2*time.Second {
			t.Errorf("%d, %v after %v", n, err, time.Since(begun))
		}
	})
}

// overPipe returns both ends of an in-memory connection, the first of which collects writes.
func overPipe() (ours *batch.Conn, theirs net.Conn) {
	under, theirs := net.Pipe()
	return batch.New(under), theirs
}

package streams_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
)

// endless is a body without an end, and counts what is read of it.
type endless struct {
	most, read int
	closed     bool
}

func (e *endless) Read(data []byte) (int, error) {
	if e.read += len(data); e.read > e.most {
		return 0, errors.New("read on")
	}
	return len(data), nil
}

func (e *endless) Close() error {
	e.closed = true
	return nil
}

// TestBody_WithoutEnd gives a call what a proxy gets from outside: it is not read until no memory is left. A multicast
// refuses it, and a unicast call sends it as it is read, to the instance that takes it.
func TestBody_WithoutEnd(t *testing.T) {
	t.Parallel()
	const limit = 64 << 10
	conn := kit.NewBus(t).Connect("proxy.example", bus.WithMaxMessageBytes(limit))
	request := func(length int64) (*http.Request, *endless) {
		made, body := kit.MustRequest(t, "https://proxy.example/"), &endless{most: 4 * limit}
		made.Method, made.Body, made.ContentLength = http.MethodPost, body, length
		return made, body
	}
	for _, length := range []int64{-1, 10 * limit} {
		made, body := request(length)
		_, err := conn.Do(made) //nolint:bodyclose // there is no response
		kit.CheckError(t, err, http.StatusServiceUnavailable, bus.ExecutedNo)
		made, other := request(length)
		for _, err := range conn.Multicast(made) {
			kit.CheckError(t, err, http.StatusRequestEntityTooLarge, bus.ExecutedNo)
		}
		assert.True(t, body.closed, "a body is not closed")
		assert.True(t, other.closed)
	}
}

// pipe is a body that counts how often it is closed.
type pipe struct {
	*io.PipeReader

	closed int
}

func (p *pipe) Close() error {
	p.closed++
	return p.PipeReader.Close()
}

// TestBody_ThatNeverComes has callers whose context ends while their request body, a pipe, is open: they do not wait
// for it.
func TestBody_ThatNeverComes(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		conn := b.Connect("proxy.example")
		late, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		left, leave := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, leave)
		for _, test := range []struct {
			name   string
			ctx    context.Context
			status int
			cause  error
		}{
			{"late", late, 504, bus.ErrTimeout},
			{"left", left, 503, context.Canceled},
		} {
			reader, writer := io.Pipe()
			body := &pipe{PipeReader: reader}
			request := kit.MustRequest(t, "https://nobody.example/").WithContext(test.ctx)
			request.Method, request.Body = http.MethodPost, body
			_, err := conn.Do(request)
			kit.CheckError(t, err, test.status, bus.ExecutedNo)
			if !errors.Is(err, test.cause) {
				t.Errorf("%s: %v, want %d, not executed", test.name, err, test.status)
			}
			if _, err := writer.Write([]byte("more")); !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("%s: writing on: %v, want that the pipe is closed", test.name, err)
			}
			if body.closed != 1 {
				t.Errorf("%s: the pipe is closed %d times", test.name, body.closed)
			}
		}
	})
}

package status_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/internal/status"
)

// notFoundError is an error with a status of its own.
type notFoundError struct{}

func (notFoundError) Error() string   { return "no such path" }
func (notFoundError) StatusCode() int { return http.StatusNotFound }

func TestError_Error(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]*status.Error{
		"503 Service Unavailable":                 {Status: 503},
		"503 Service Unavailable: too busy":       {Status: 503, Detail: "too busy"},
		"503 Service Unavailable (bytes.example)": {Status: 503, Host: "bytes.example"},
		"504 Gateway Timeout: late (bytes.example b1aaaaaaaa)": {Status: 504, Detail: "late", Host: "bytes.example",
			ID: "b1aaaaaaaa"},
	} {
		if got := err.Error(); got != want {
			t.Errorf("the text is %q, want %q", got, want)
		}
	}
}

func TestOf(t *testing.T) {
	t.Parallel()
	plain, busy := errors.New("the disk is full"), status.TooBusy("too busy")
	for _, test := range []struct {
		name   string
		err    error
		code   int
		detail string
	}{
		{"no status", plain, 500, "the disk is full"},
		{"a status of its own", notFoundError{}, 404, "no such path"},
		{"that status, wrapped", fmt.Errorf("part 2: %w", notFoundError{}), 404, "part 2: no such path"},
		{"an Error", busy, 503, "too busy"},
		{"an Error, wrapped", fmt.Errorf("part 2: %w", busy), 503, "part 2: 503 Service Unavailable: too busy"},
		{"an Error among two errors", errors.Join(plain, busy), 503, "the disk is full\n503 Service Unavailable: too busy"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			of := status.Of(test.err)
			assert.Equal(t, test.code, of.Status)
			assert.Equal(t, test.code, of.StatusCode())
			assert.Equal(t, test.detail, of.Detail)
			assert.ErrorIs(t, of, test.err)
		})
	}
	if status.Of(busy) != busy {
		t.Error("an Error is replaced by another one")
	}
}

func TestUnsent(t *testing.T) {
	t.Parallel()
	sent := status.Error{
		Status: 503, Detail: "too busy", Host: "bytes.example", ID: "b1aaaaaaaa", MsgID: "m1", Executed: status.ExecutedYes,
		RetryAfter: time.Second, Internal: true, Cause: status.ErrInstanceLost,
	}
	original, want := sent, sent
	want.Executed = status.ExecutedNo
	if got := status.Unsent(&original); *got != want || original != sent {
		t.Errorf("the copy is %#v of %#v, want %#v", *got, original, want)
	}
	got := status.Unsent(notFoundError{})
	assert.Equal(t, 404, got.Status)
	assert.Equal(t, status.ExecutedNo, got.Executed)
}

func TestTooBusy(t *testing.T) {
	t.Parallel()
	want := status.Error{Status: 503, Detail: "too busy: 7 of 7 slots", Executed: status.ExecutedNo,
		RetryAfter: time.Second}
	if got := status.TooBusy("too busy: %d of %d slots", 7, 7); *got != want {
		t.Errorf("the error is %#v, want %#v", *got, want)
	}
}

// errLeft is why some contexts end.
var errLeft = fmt.Errorf("request m1: %w", status.ErrCallerLeft)

// cancelled returns a context that was cancelled for a reason, nil for none.
func cancelled(reason error) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(reason)
	return ctx
}

// expired returns a context whose deadline has passed, with the cause of that, nil for none.
func expired(reason error) context.Context {
	ctx, cancel := context.WithDeadlineCause(context.Background(), time.Unix(0, 0), reason)
	cancel()
	return ctx
}

func TestContextEnded(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		ctx  context.Context
		is   []error
		isNo error
	}{
		{"cancelled", cancelled(nil), []error{context.Canceled}, context.DeadlineExceeded},
		{"cancelled with a reason", cancelled(errLeft), []error{context.Canceled, errLeft, status.ErrCallerLeft},
			context.DeadlineExceeded},
		{"expired", expired(nil), []error{context.DeadlineExceeded}, context.Canceled},
		{"expired with a reason", expired(errLeft), []error{context.DeadlineExceeded, errLeft}, context.Canceled},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ended := status.ContextEnded(test.ctx)
			for _, want := range test.is {
				if !errors.Is(ended, want) {
					t.Errorf("%v is not %v", ended, want)
				}
			}
			if errors.Is(ended, test.isNo) || (len(test.is) == 1 && ended != test.is[0]) { //nolint:errorlint // nothing but that error
				t.Errorf("the error is %v", ended)
			}
		})
	}
}

func TestTooLate(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		ctx    context.Context
		left   time.Duration
		code   int // 0: the request may leave
		detail string
		is     []error
	}{
		{"in time", context.Background(), 1, 0, "", nil},
		{"no time left", context.Background(), 0, 504, "the time budget was spent before the call was sent",
			[]error{status.ErrTimeout, context.DeadlineExceeded}},
		{"less than no time", expired(nil), -time.Second, 504, "the time budget was spent before the call was sent",
			[]error{status.ErrTimeout, context.DeadlineExceeded}},
		{"cancelled", cancelled(errLeft), time.Second, 503, "the caller stopped waiting before the call was sent",
			[]error{context.Canceled, errLeft}},
		{"cancelled, too late", cancelled(nil), -time.Second, 503, "the caller stopped waiting before the call was sent",
			[]error{context.Canceled}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := status.TooLate(test.ctx, test.left)
			if test.code == 0 {
				if err != nil {
					t.Errorf("the request must not leave: %v", err)
				}
				return
			}
			late, _ := err.(*status.Error) //nolint:errorlint // the error itself
			require.NotNil(t, late)
			require.Equal(t, test.code, late.Status)
			require.Equal(t, test.detail, late.Detail)
			require.Equal(t, status.ExecutedNo, late.Executed)
			for _, want := range test.is {
				if !errors.Is(err, want) {
					t.Errorf("%v is not %v", err, want)
				}
			}
		})
	}
}

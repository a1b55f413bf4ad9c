package bus_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/internal/fragment"
	internalstatus "github.com/busline/busline/bus/internal/status"
)

// TestError_OfInternalPackage holds that an error of a package below this one becomes an Error with all that it says, also if it
// is wrapped.
func TestError_OfInternalPackage(t *testing.T) {
	t.Parallel()
	full := internalstatus.Error{
		Status: 503, Detail: "too busy", Host: "bytes.example", ID: "b1aaaaaaaa", MsgID: "m1", Executed: internalstatus.ExecutedNo,
		RetryAfter: time.Second, Internal: true, Cause: fragment.ErrMemoryFull,
	}
	for detail, err := range map[string]error{
		"too busy":                 &full,
		"part 2: too busy":         fmt.Errorf("part 2: %w", &full),
		"call 7: part 2: too busy": fmt.Errorf("call 7: %w", fmt.Errorf("part 2: %w", &full)),
	} {
		failed, _ := errors.AsType[*bus.Error](bus.ErrorWithDetails(err, "", nil)) // which makes an Error of any error
		if failed == nil || failed.Status != full.Status || failed.Detail != detail || failed.Executed != bus.ExecutedNo {
			t.Fatalf("%v becomes %#v", err, failed)
		}
		if failed.Host != full.Host || failed.ID != full.ID || failed.MsgID != full.MsgID || failed.RetryAfter != full.RetryAfter {
			t.Errorf("%v becomes %#v", err, failed)
		}
		if bus.StatusOf(err) != full.Status || !bus.IsInternal(err) || !bus.IsInternal(failed) || !errors.Is(failed, fragment.ErrMemoryFull) {
			t.Errorf("%v: status %d, internal %t, cause %v", err, bus.StatusOf(err), bus.IsInternal(err), errors.Unwrap(failed))
		}
	}
}

// TestExecuted_Values holds that the packages below this one number the values alike.
func TestExecuted_Values(t *testing.T) {
	t.Parallel()
	for below, want := range map[internalstatus.Executed]bus.Executed{
		internalstatus.ExecutedUnknown: bus.ExecutedUnknown, internalstatus.ExecutedNo: bus.ExecutedNo, internalstatus.ExecutedYes: bus.ExecutedYes,
	} {
		failed, _ := errors.AsType[*bus.Error](bus.ErrorWithDetails(&internalstatus.Error{Status: 503, Executed: below}, "", nil))
		if failed == nil || failed.Executed != want {
			t.Errorf("%d becomes %v, want %v", below, failed, want)
		}
	}
}

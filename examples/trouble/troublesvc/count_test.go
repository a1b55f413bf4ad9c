package troublesvc_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/examples/trouble/troubleapi"
	"github.com/busline/busline/examples/trouble/troublesvc"
)

// collect ranges over a stream until there is an error.
func collect(numbers troubleapi.Numbers) (all []int, err error) {
	for n, err := range numbers {
		if err != nil {
			return all, err
		}
		all = append(all, n)
	}
	return all, nil
}

func TestCount(t *testing.T) {
	t.Parallel()
	trouble := new(troublesvc.Trouble)
	for n, want := range map[int][]int{3: {1, 2, 3}, 0: nil, -1: nil} {
		if all, err := collect(trouble.Count(t.Context(), n, 0)); err != nil || !slices.Equal(all, want) {
			t.Errorf("%d: %v, %v; want %v", n, all, err, want)
		}
	}
	if all, err := collect(trouble.Count(t.Context(), 1, -1)); bus.StatusOf(err) != 400 || all != nil {
		t.Errorf("no pause: %v, %v", all, err)
	}
}

func TestCount_OutOfTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		trouble := new(troublesvc.Trouble)
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		all, err := collect(trouble.Count(ctx, 9, 1000))
		if !errors.Is(err, context.DeadlineExceeded) || !slices.Equal(all, []int{1, 2}) {
			t.Errorf("%v, %v; want two numbers", all, err)
		}
		if count, err := trouble.Cancelled(t.Context()); err != nil || count != 1 {
			t.Errorf("%d streams were cut short, %v", count, err)
		}
	})
}

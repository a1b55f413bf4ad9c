package client_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/bus/internal/client"
)

// attempts returns how many attempts a backoff allows, and how long they take.
func attempts(t *testing.T, b *client.Backoff, known bool, ends time.Time) (count int, took time.Duration) {
	t.Helper()
	began := time.Now()
	for b.Pause(t.Context(), known, ends) {
		count++
	}
	return count, time.Since(began)
}

func TestBackoff_Attempts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		known    bool
		left     time.Duration // of the time budget
		attempts int
		took     time.Duration
	}{
		{"unknown host", false, time.Minute, 1, client.FirstPause},
		{"known host", true, time.Minute, 13, client.ReplaceWindow}, // 5, 10, 20, 40, 8 × 50, 25
		{"time budget ends", true, 40 * time.Millisecond, 3, 35 * time.Millisecond},
		{"time budget ends after a pause", false, client.FirstPause, 1, client.FirstPause},
		{"no time left", false, client.FirstPause - 1, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				count, took := attempts(t, client.NewBackoff(), test.known, time.Now().Add(test.left))
				assert.Equal(t, test.attempts, count)
				assert.Equal(t, test.took, took)
			})
		})
	}
}

// TestBackoff_Restart restarts a backoff for an instance that has left; only the first time counts.
func TestBackoff_Restart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := client.NewBackoff()
		ends := time.Now().Add(time.Minute)
		attempts(t, b, true, ends)
		for _, test := range []struct {
			left     client.Peer
			attempts int
			took     time.Duration
		}{
			{first, int(client.ReplaceWindow / client.LongestPause), client.ReplaceWindow},
			{first, 0, 0},
			{second, int(client.ReplaceWindow / client.LongestPause), client.ReplaceWindow},
		} {
			b.Restart(test.left)
			count, took := attempts(t, b, true, ends)
			assert.Equal(t, test.attempts, count, "after %s has left", test.left.ID)
			assert.Equal(t, test.took, took, "after %s has left", test.left.ID)
		}
	})
}

func TestBackoff_ContextEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), client.FirstPause/2)
		defer cancel()
		began := time.Now()
		assert.False(t, client.NewBackoff().Pause(ctx, true, began.Add(time.Minute)))
		assert.Equal(t, client.FirstPause/2, time.Since(began))
	})
}

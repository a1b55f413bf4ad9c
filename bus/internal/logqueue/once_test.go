package logqueue_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/bus/internal/logqueue"
)

// TestOnce holds that each text is the first one once, and that the texts that are remembered are bounded.
func TestOnce(t *testing.T) {
	t.Parallel()
	var once logqueue.Once
	first := 0
	for i := range 100 {
		if text := strconv.Itoa(i); once.IsFirst(text) {
			first++
			assert.False(t, once.IsFirst(text), text)
		}
	}
	assert.Equal(t, 20, first)
}

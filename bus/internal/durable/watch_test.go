package durable_test

import (
	"fmt"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/bus/internal/durable"
)

// TestShareOf has events of one kind in partitions: they are all that the log has, exactly, else none that is dropped
// would be counted.
func TestShareOf(t *testing.T) {
	t.Parallel()
	log := jetstream.StreamState{Subjects: make(map[string]uint64)}
	for partition := range uint64(10) {
		log.Subjects[fmt.Sprint("bus.event.on-happened.", partition)] = 33
		log.Msgs += 33
	}
	assert.InDelta(t, 1, durable.ShareOf(&log, "bus.event.on-happened.*"), 0)
	assert.Zero(t, durable.ShareOf(new(jetstream.StreamState), "bus.event.on-happened.*"))
}

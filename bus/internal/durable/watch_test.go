package durable_test

import (
	"fmt"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/bus/internal/durable"
)

// TestServersWith counts the leader, and those that have caught up.
func TestServersWith(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 1, durable.ServersWith(new(jetstream.StreamInfo)))
	log := &jetstream.StreamInfo{Cluster: &jetstream.ClusterInfo{Replicas: []*jetstream.PeerInfo{
		{Current: true}, {Current: true, Offline: true}, {},
	}}}
	assert.Equal(t, 2, durable.ServersWith(log))
}

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

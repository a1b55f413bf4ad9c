package msgsvc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/busline/busline/bus"
)

// Option adjusts what [New] serves.
type Option func(*config)

// WithCacheSize sets how many bytes of entries this replica keeps; each counts its key, its value and 256 bytes of
// book-keeping. Beyond it the entry used least recently goes. Default: 32 MiB.
//
// With [WithJetStream] it is the size of the bucket, in which the oldest entry goes.
func WithCacheSize(bytes int) Option {
	return func(c *config) { c.cacheSize = bytes }
}

// WithCacheAge sets for how long an entry can be found after it was stored. Default: 1 h.
func WithCacheAge(age time.Duration) Option {
	return func(c *config) { c.cacheAge = age }
}

// WithJetStream keeps the cache in a JetStream key-value bucket, one for each plane and host, instead of the memory
// of the replicas. The broker needs JetStream. All replicas have to agree on this option. Where the broker stores the
// bucket, and on how many of its servers, can be changed with the tools of NATS. Default: in memory.
func WithJetStream() Option {
	return func(c *config) { c.jetStream = true }
}

// config is what the options add up to.
type config struct {
	cacheSize int
	cacheAge  time.Duration
	jetStream bool
	now       func() time.Time
}

const (
	defaultCacheSize = 32 << 20
	defaultCacheAge  = time.Hour
)

// newConfig applies the options to the defaults and reports every fault.
func newConfig(options []Option) (config, error) {
	c := config{cacheSize: defaultCacheSize, cacheAge: defaultCacheAge, now: time.Now}
	var faults []error
	for i, option := range options {
		if option == nil {
			faults = append(faults, fmt.Errorf("option %d is nil: leave it out", i+1))
			continue
		}
		option(&c)
	}
	if c.cacheSize < entrySize(1, 0) {
		faults = append(faults, fmt.Errorf("WithCacheSize: %d bytes hold nothing; leave it out for %d", c.cacheSize, defaultCacheSize))
	}
	if c.cacheAge <= 0 {
		faults = append(faults, fmt.Errorf("WithCacheAge: nothing is found within %s; leave it out for %s", c.cacheAge, defaultCacheAge))
	}
	return c, errors.Join(faults...)
}

func (c config) openCache(ctx context.Context, conn *bus.Conn) (cache, error) {
	if c.jetStream {
		return openBucketCache(ctx, conn, c)
	}
	return openSharedCache(ctx, conn, c)
}

package msgsvc

import "time"

// Cache is what both implementations are tested as.
type Cache = cache

// CacheOf returns the cache behind the endpoints of a service.
func CacheOf(s *Service) Cache { return s.cache }

// WithClock sets what the shared cache takes for the time.
func WithClock(now func() time.Time) Option { return func(c *config) { c.now = now } }

// The limits that tests go up to.
const (
	MaxKeyLength  = maxKeyLength
	EntryOverhead = entryOverhead
)

package msgsvc

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/busline/busline/bus"
)

// source gives the endpoints their names and descriptions in every kind of build.
//
//go:embed service.go endpoints.go
var source embed.FS

// Service shows how calls find their way among the instances of a host, and keeps a cache that they share.
type Service struct {
	conn  *bus.Conn
	cache cache
}

// New serves an instance of the messaging service on the host of conn. It is live when New returns. To stop it, close
// the service first and conn after it.
func New(ctx context.Context, conn *bus.Conn, options ...Option) (*Service, error) {
	if conn == nil {
		return nil, errors.New("messaging cannot be served without a connection")
	}
	config, err := newConfig(options)
	if err != nil {
		return nil, fmt.Errorf("messaging on %s: %w", conn.Host(), err)
	}
	opened, err := config.openCache(ctx, conn)
	if err != nil {
		return nil, fmt.Errorf("messaging on %s: %w", conn.Host(), err)
	}
	service := &Service{conn: conn, cache: opened}
	get, text := bus.HTTPMethod(http.MethodGet), bus.Produces("text/plain")
	key := bus.QueryParam("key", "of the entry, not empty", true)
	err = bus.Serve(conn, service, bus.SourceFS(source), bus.ExcludeMethods("Close"),
		bus.Method("Home", get, text),
		bus.Method("DefaultQueue", get, text),
		bus.Method("NoQueue", get, text, bus.NoQueue()),
		bus.Method("CacheStore", get, text, key, bus.QueryParam("value", "to store; may be empty", true)),
		bus.Method("CacheLoad", get, text, key),
	)
	if err != nil {
		return nil, errors.Join(err, opened.Close(ctx)) // so that no replica hands entries over to it
	}
	return service, nil
}

// Close hands this instance's part of the cache over to the other instances, within ctx. The endpoints stay live until
// the connection is closed, which comes next; what is stored through them meanwhile is handed over, too. The error says
// how many entries were lost; if no replica was left to take them, that is not an error. Calling Close again does
// nothing.
func (s *Service) Close(ctx context.Context) error { return s.cache.Close(ctx) }

// DefaultQueue is served on the host's queue: one instance answers each request.
func (s *Service) DefaultQueue(w http.ResponseWriter, _ *http.Request) error {
	return writeText(w, "DefaultQueue %s\n", s.conn.ID())
}

// NoQueue is served without a queue: every instance answers each request.
func (s *Service) NoQueue(w http.ResponseWriter, _ *http.Request) error {
	return writeText(w, "NoQueue %s\n", s.conn.ID())
}

// writeText answers with plain text, which a browser must take as nothing else: some of it comes from each caller.
func writeText(w http.ResponseWriter, format string, arguments ...any) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, err := fmt.Fprintf(w, format, arguments...)
	return err
}

// Option adjusts what [New] serves.
type Option func(*config)

// WithCacheSize sets how many bytes of entries this replica keeps. Each counts its key, its value and 256 bytes of
// book-keeping. Beyond it the entry used least recently goes. Default: 32 MiB.
//
// With [WithJetStream] it is the size of the bucket, which drops the oldest entry.
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

// newConfig applies the options to the defaults and reports every error.
func newConfig(options []Option) (config, error) {
	c := config{cacheSize: defaultCacheSize, cacheAge: defaultCacheAge, now: time.Now}
	var errs []error
	for i, option := range options {
		if option == nil {
			errs = append(errs, fmt.Errorf("option %d is nil: leave it out", i+1))
			continue
		}
		option(&c)
	}
	if c.cacheSize < entrySize(1, 0) {
		errs = append(errs, fmt.Errorf("WithCacheSize: %d bytes hold nothing; leave it out for %d", c.cacheSize,
			defaultCacheSize))
	}
	if c.cacheAge <= 0 {
		errs = append(errs, fmt.Errorf("WithCacheAge: nothing is found within %s; leave it out for %s", c.cacheAge,
			defaultCacheAge))
	}
	return c, errors.Join(errs...)
}

func (c config) openCache(ctx context.Context, conn *bus.Conn) (cache, error) {
	if c.jetStream {
		return openBucketCache(ctx, conn, c)
	}
	return openSharedCache(ctx, conn, c)
}

// entry is a value under its key. It is not changed after it was made, and travels among replicas as it is.
type entry struct {
	Key     []byte  `json:"key"`
	Value   []byte  `json:"value"`
	Version version `json:"version"`
}

func (e entry) size() int { return entrySize(len(e.Key), len(e.Value)) }

// handed is an entry on its way to another replica. The clocks of two machines may disagree: it has ages, not when.
type handed struct {
	entry

	Age  time.Duration `json:"age"`  // since it was stored
	Idle time.Duration `json:"idle"` // since it was used
}

// version orders the stores of one key: the later one counts, and of two at the same time that of the replica with
// the greater ID. The zero version is before all others.
type version struct {
	Time int64  `json:"time"` // nanoseconds since 1970
	By   string `json:"by"`   // the ID of the replica: "k3v9x2m4qz"
}

func (s version) after(other version) bool {
	return cmp.Or(cmp.Compare(s.Time, other.Time), cmp.Compare(s.By, other.By)) > 0
}

// clock makes the versions of one replica.
type clock struct {
	id  string
	now func() time.Time

	mu   sync.Mutex // protects last
	last int64
}

// next returns a version that is after the given one and after all that were made before, even where the clocks of
// two machines disagree.
func (c *clock) next(seen version) version {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = max(c.now().UnixNano(), c.last+1, seen.Time+1)
	return version{Time: c.last, By: c.id}
}

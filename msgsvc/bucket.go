package msgsvc

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/busline/busline/bus"
)

// bucketCache keeps entries in a JetStream key-value bucket that all replicas of a service open.
type bucketCache struct {
	conn   *bus.Conn
	config config
	limit  int // bytes of one entry
	opened atomic.Pointer[openedBucket]
}

// openedBucket is a bucket with the broker connection that it was opened through.
type openedBucket struct {
	jetstream.KeyValue

	through *nats.Conn
}

func openBucketCache(ctx context.Context, conn *bus.Conn, c config) (*bucketCache, error) {
	b := &bucketCache{conn: conn, config: c, limit: min(c.cacheSize, int(conn.NATS().MaxPayload()))}
	_, err := b.bucket(ctx)
	if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
		return nil, fmt.Errorf("the broker has no JetStream: turn it on (nats-server -js), or leave out WithJetStream to "+
			"keep the cache in memory: %w", err)
	}
	if errors.Is(err, context.DeadlineExceeded) { // a request that is denied has no answer
		if denied := conn.NATS().LastError(); errors.Is(denied, nats.ErrPermissionViolation) {
			err = fmt.Errorf("the broker denies what JetStream needs, see docs/guides/permissions.md: %w: %w", denied, err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("key-value bucket %s: %w", bucketName(conn), err)
	}
	return b, nil
}

// bucket opens the bucket, again when the broker connection is another one: one that was closed for good is replaced.
func (b *bucketCache) bucket(ctx context.Context) (jetstream.KeyValue, error) {
	through := b.conn.NATS()
	if opened := b.opened.Load(); opened != nil && opened.through == through {
		return opened, nil
	}
	bucket, err := openBucket(ctx, b.conn, b.config)
	if err != nil {
		return nil, err
	}
	b.opened.Store(&openedBucket{bucket, through})
	return bucket, nil
}

// openBucket makes the bucket's stream, if it is not there, rather than the bucket: a bucket that is full refuses what
// is new, a cache lets go of what is oldest. What the stream of a bucket looks like is described in NATS's ADR-8.
// Without direct access an entry is read where it was written: the instance that stored it finds it at once.
func openBucket(ctx context.Context, conn *bus.Conn, c config) (jetstream.KeyValue, error) {
	js, err := jetstream.NewWithAPIPrefix(conn.NATS(), conn.JetStreamPrefix())
	if err != nil {
		return nil, err
	}
	name := bucketName(conn)
	wanted := jetstream.StreamConfig{
		Name:              "KV_" + name,
		Description:       "cache of " + conn.Host() + " on plane " + conn.Plane(),
		Subjects:          []string{"$KV." + name + ".>"},
		MaxMsgsPerSubject: 1,
		MaxBytes:          int64(c.cacheSize),
		MaxAge:            c.cacheAge,
		Duplicates:        min(c.cacheAge, 2*time.Minute), // at most MaxAge, or the broker refuses it
		Discard:           jetstream.DiscardOld,
		AllowRollup:       true,
		DenyDelete:        true,
	}
	stream, err := js.Stream(ctx, wanted.Name)
	if err == nil { // where it is kept is for the operator to say, and has been said
		config := stream.CachedInfo().Config
		wanted.Storage, wanted.Replicas = config.Storage, config.Replicas
		wanted.Placement, wanted.Compression = config.Placement, config.Compression
	} else if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, err
	}
	if _, err := js.CreateOrUpdateStream(ctx, wanted); err != nil {
		return nil, err
	}
	return js.KeyValue(ctx, name)
}

// bucketName is one of its own for each plane and host. A host has no underscore, so that two in a row separate.
func bucketName(conn *bus.Conn) string {
	return "cache_" + strings.ReplaceAll(conn.Host(), ".", "_") + "__" + conn.Plane()
}

// bucketKey turns any bytes into what a bucket takes as a key.
func bucketKey(key string) string { return base64.RawURLEncoding.EncodeToString([]byte(key)) }

func (b *bucketCache) Store(ctx context.Context, key, value string) error {
	if err := validKey(key); err != nil {
		return err
	}
	if err := fits(key, value, b.limit); err != nil {
		return err
	}
	err := b.put(ctx, key, value)
	if errors.Is(err, jetstream.ErrNoStreamResponse) { // the bucket is gone, as when the broker has lost its storage
		b.opened.Store(nil)
		err = b.put(ctx, key, value)
	}
	if err != nil {
		return unreachable(err)
	}
	return nil
}

func (b *bucketCache) put(ctx context.Context, key, value string) error {
	bucket, err := b.bucket(ctx)
	if err != nil {
		return err
	}
	_, err = bucket.Put(ctx, bucketKey(key), []byte(value))
	return err
}

func (b *bucketCache) Load(ctx context.Context, key string) (value string, found bool, err error) {
	if err := validKey(key); err != nil {
		return "", false, err
	}
	bucket, err := b.bucket(ctx)
	if err != nil {
		return "", false, unreachable(err)
	}
	held, err := bucket.Get(ctx, bucketKey(key))
	// the next store creates it again
	if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return "", false, nil
	}
	if err != nil {
		return "", false, unreachable(err)
	}
	return string(held.Value()), true, nil
}

// Close leaves the entries in the bucket, where the other replicas find them.
func (*bucketCache) Close(context.Context) error { return nil }

func unreachable(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return bus.Errorf(http.StatusGatewayTimeout, "the cache's bucket did not answer in time: %w", err)
	}
	return bus.Errorf(http.StatusServiceUnavailable, "the cache's bucket cannot be reached: %w", err)
}

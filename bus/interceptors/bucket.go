package interceptors

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/busline/busline/bus"
)

const (
	// bucketTimeout bounds each use of a bucket.
	bucketTimeout = 5 * time.Second

	// duplicateWindow is that of JetStream by default: it is at most the age.
	duplicateWindow = 2 * time.Minute
)

// bucket is a key-value bucket that all instances of a service share. It is safe for concurrent use.
type bucket struct {
	conn   *bus.Conn
	name   string
	about  string // what it holds, for operators
	age    time.Duration
	opened atomic.Pointer[openBucket]
}

// openBucket is a bucket with the broker connection that it was opened through.
type openBucket struct {
	jetstream.KeyValue

	through *nats.Conn
}

// newBucket returns the bucket of a service for a purpose, "HANDLED".
func newBucket(conn *bus.Conn, purpose, about string, age time.Duration) *bucket {
	return &bucket{conn: conn, name: conn.Plane() + "_" + purpose + "_" + strings.ReplaceAll(conn.Host(), ".", "_"),
		about: about, age: age}
}

// use does something with the bucket. An error but that a key is not there, or is, lets the next use open it again.
func (b *bucket) use(ctx context.Context, do func(ctx context.Context, kv jetstream.KeyValue) error) error {
	ctx, cancel := context.WithTimeout(ctx, bucketTimeout)
	defer cancel()
	kv, err := b.open(ctx)
	if err != nil {
		return err
	}
	err = do(ctx, kv)
	if err != nil && !errors.Is(err, jetstream.ErrKeyNotFound) && !errors.Is(err, jetstream.ErrKeyExists) {
		b.opened.Store(nil) // the bucket may be gone
	}
	return err
}

// bucketKey returns a key for a text: a bucket takes few characters.
func bucketKey(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// open returns the bucket. It opens it again through a broker connection that has replaced another one.
func (b *bucket) open(ctx context.Context) (jetstream.KeyValue, error) {
	through := b.conn.NATS()
	if opened := b.opened.Load(); opened != nil && opened.through == through {
		return opened, nil
	}
	kv, err := b.find(ctx, through)
	if err != nil {
		return nil, fmt.Errorf("the key-value bucket %s: %w", b.name, err)
	}
	b.opened.Store(&openBucket{kv, through})
	return kv, nil
}

// find finds the bucket, and makes it if there is none: by its stream, as a bucket that is made otherwise lets a
// replica answer that has not got the last entry yet.
func (b *bucket) find(ctx context.Context, through *nats.Conn) (jetstream.KeyValue, error) {
	manager, err := jetstream.NewWithAPIPrefix(through, b.conn.JetStreamPrefix())
	if err != nil {
		return nil, err
	}
	kv, err := manager.KeyValue(ctx, b.name)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		_, err = manager.CreateStream(ctx, jetstream.StreamConfig{
			Name: "KV_" + b.name, Description: b.about, Subjects: []string{"$KV." + b.name + ".>"}, MaxMsgsPerSubject: 1,
			MaxAge: b.age, Duplicates: min(b.age, duplicateWindow), Discard: jetstream.DiscardNew, AllowRollup: true,
			DenyDelete: true,
		})
		if err == nil {
			kv, err = manager.KeyValue(ctx, b.name)
		}
	}
	if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrJetStreamNotEnabled) ||
		errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
		return nil, fmt.Errorf("the broker has no JetStream: turn it on: %w", err)
	}
	if err != nil {
		return nil, err
	}
	return kv, b.checkAge(ctx, kv)
}

// checkAge returns an error if what a bucket has expires too early.
func (b *bucket) checkAge(ctx context.Context, kv jetstream.KeyValue) error {
	status, err := kv.Status(ctx)
	if err != nil {
		return err
	}
	if kept := status.TTL(); kept > 0 && kept < b.age {
		return fmt.Errorf("its marks expire after %s, not %s: change its age (nats stream edit KV_%s --max-age), "+
			"or ask for less", kept, b.age, b.name)
	}
	return nil
}

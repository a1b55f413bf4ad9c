package msgsvc_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/msgsvc"
)

func TestBucket_NoJetStream(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	_, err := msgsvc.New(t.Context(), b.Connect(host), msgsvc.WithJetStream())
	want := "messaging on messaging.example: the broker has no JetStream: turn it on (nats-server -js), " +
		"or leave out WithJetStream to keep the cache in memory: "
	if !strings.HasPrefix(fmt.Sprint(err), want) {
		t.Errorf("%v\nwant %s…", err, want)
	}
}

// TestBucket_Denied holds that the error names what the broker denies, and not only that it did not answer.
func TestBucket_Denied(t *testing.T) {
	t.Parallel()
	b := bustest.New(t, broker.JetStream(t.TempDir()), broker.Config(`
		no_auth_user: service
		authorization { users: [ { user: service, password: secret, permissions { publish { deny: "$JS.API.>" } } } ] }`))
	_, err := msgsvc.New(t.Context(), b.Connect(host, bus.WithLogger(zerolog.Nop())), msgsvc.WithJetStream())
	for _, want := range []string{
		": the broker denies what JetStream needs, see docs/guides/permissions.md: ",
		`Permissions Violation for Publish to "$JS.API.STREAM.INFO.KV_cache_messaging_example__`,
	} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}

// TestBucket_Limits holds that size and age are the broker's to watch, and that a full bucket makes room.
func TestBucket_Limits(t *testing.T) {
	t.Parallel()
	b := bustest.New(t, broker.JetStream(t.TempDir()))
	conn := b.Connect(host)
	serve(t, conn, msgsvc.WithJetStream(), msgsvc.WithCacheSize(1<<20), msgsvc.WithCacheAge(90*time.Second))
	js, err := jetstream.New(conn.NATS())
	require.NoError(t, err)
	stream, err := js.Stream(t.Context(), "KV_cache_messaging_example__"+b.Plane())
	require.NoError(t, err)
	config := stream.CachedInfo().Config
	assert.Equal(t, int64(1<<20), config.MaxBytes)
	assert.Equal(t, 90*time.Second, config.MaxAge)
	assert.Equal(t, jetstream.DiscardOld, config.Discard)
}

// TestBucket_OfAnOperator holds that where entries are kept stays as an operator has chosen it, and what makes it a
// cache does not.
func TestBucket_OfAnOperator(t *testing.T) {
	t.Parallel()
	b := bustest.New(t, broker.JetStream(t.TempDir()))
	conn := b.Connect(host)
	js, err := jetstream.New(conn.NATS())
	require.NoError(t, err)
	bucket := jetstream.KeyValueConfig{Bucket: "cache_messaging_example__" + b.Plane(), Storage: jetstream.MemoryStorage,
		Compression: true}
	_, err = js.CreateKeyValue(t.Context(), bucket)
	require.NoError(t, err)
	serve(t, conn, msgsvc.WithJetStream())
	stream, err := js.Stream(t.Context(), "KV_"+bucket.Bucket)
	require.NoError(t, err)
	config := stream.CachedInfo().Config
	assert.Equal(t, jetstream.MemoryStorage, config.Storage)
	assert.Equal(t, jetstream.S2Compression, config.Compression)
	assert.Equal(t, jetstream.DiscardOld, config.Discard)
	assert.False(t, config.AllowDirect)
	assert.Equal(t, time.Hour, config.MaxAge)
}

func TestBucket_FullDropsTheOldest(t *testing.T) {
	t.Parallel()
	b := bustest.New(t, broker.JetStream(t.TempDir()))
	replica := newInstance(t, b, msgsvc.WithJetStream(), msgsvc.WithCacheSize(100_000))
	value := strings.Repeat("v", 30_000)
	for _, key := range []string{"a", "b", "c", "d"} {
		store(t, replica, key, value)
	}
	expectNone(t, replica, "a")
	expect(t, replica, "b", value)
	expect(t, replica, "d", value)
}

// TestBucket_IsMadeAnew holds that a bucket which is lost, say with the storage of the broker, is an empty cache.
func TestBucket_IsMadeAnew(t *testing.T) {
	t.Parallel()
	b := bustest.New(t, broker.JetStream(t.TempDir()))
	replicas := newInstances(t, b, 2, msgsvc.WithJetStream())
	store(t, replicas[0], "key", "value")
	js, err := jetstream.New(replicas[0].conn.NATS())
	require.NoError(t, err)
	require.NoError(t, js.DeleteStream(t.Context(), "KV_cache_messaging_example__"+b.Plane()))
	expectNone(t, replicas[1], "key")
	store(t, replicas[0], "key", "again")
	expect(t, replicas[1], "key", "again")
}

// TestBucket_OverAnotherConnection holds that the cache keeps working when the broker connection was closed for good,
// and replaced.
func TestBucket_OverAnotherConnection(t *testing.T) {
	t.Parallel()
	b := bustest.New(t, broker.JetStream(t.TempDir()))
	replica := serve(t, b.Connect(host, bus.WithLogger(zerolog.Nop())), msgsvc.WithJetStream())
	store(t, replica, "key", "value")
	before := replica.conn.NATS()
	before.Close()
	for replica.conn.NATS() == before {
		time.Sleep(time.Millisecond)
	}
	expect(t, replica, "key", "value")
	store(t, replica, "key", "again")
	expect(t, replica, "key", "again")
}

// TestBucket_OutlivesReplicas holds what the bucket is for.
func TestBucket_OutlivesReplicas(t *testing.T) {
	t.Parallel()
	b := bustest.New(t, broker.JetStream(t.TempDir()))
	last := newInstance(t, b, msgsvc.WithJetStream())
	store(t, last, "key", "value")
	last.close(t)
	expect(t, newInstance(t, b, msgsvc.WithJetStream()), "key", "value")
}

// TestBucketsApart holds that hosts and planes which look alike do not share entries.
func TestBucketsApart(t *testing.T) {
	t.Parallel()
	b := bustest.New(t, broker.JetStream(t.TempDir()))
	places := []struct{ plane, host string }{
		{"p", "a.b.c"}, {"p", "a.b"}, {"c__p", "a.b"}, {"_p", "a.b"}, {"_c__p", "a.b"}, {"p", "a-b.c"},
	}
	for i, place := range places {
		replica := serve(t, b.Connect(place.host, bus.WithPlane(place.plane)), msgsvc.WithJetStream())
		expectNone(t, replica, "key")
		store(t, replica, "key", fmt.Sprint(i))
	}
}

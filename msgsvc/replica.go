package msgsvc

import (
	"context"

	"github.com/busline/busline/bus"
)

// replica is what the replicas of a shared cache ask of one another. It is served like any other struct, on the
// internal port, and every replica answers.
type replica struct{ cache *sharedCache }

func serveReplica(cache *sharedCache) error {
	return bus.Serve(cache.conn, replica{cache}, bus.SourceFS(source),
		bus.Port(internalPort), bus.NoQueue(), bus.Undocumented(), bus.MaxBodyBytes(int(cache.conn.NATS().MaxPayload())))
}

// Join tells that the caller is a replica too.
func (r replica) Join(ctx context.Context) { r.cache.peers.metCaller(ctx) }

// Find returns the entry of a key, if this replica has it.
func (r replica) Find(ctx context.Context, key []byte) (found bool, entry entry) {
	r.cache.peers.metCaller(ctx)
	entry, found = r.cache.entries.get(key)
	return found, entry
}

// Supersede drops the entry of a key that was stored before a stamp. It returns the stamp of one stored after.
func (r replica) Supersede(ctx context.Context, key []byte, by stamp) (newer stamp) {
	r.cache.peers.metCaller(ctx)
	return r.cache.entries.supersede(key, by)
}

// Room returns how many bytes are free here, for one that closes and looks for takers.
func (r replica) Room() (id string, room int, closing bool) {
	return r.cache.conn.ID(), r.cache.entries.room(), r.cache.closing.Load()
}

// Take keeps entries that another replica hands over, the one used most recently first. A replica that is closing
// itself does not take them.
func (r replica) Take(entries []handed) (taken bool) {
	r.cache.entries.take(entries)
	return !r.cache.closing.Load() // asked last: Close hands over what was put before it began
}

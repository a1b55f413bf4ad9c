// Package msgsvc is the example messaging service: it shows in a browser how calls are distributed among the instances
// of one host, and keeps a cache that the instances share.
//
//	for range 3 {
//		conn, err := bus.Connect(ctx, "messaging.example")
//		service, err := msgsvc.New(ctx, conn)
//		…
//		defer conn.Close(ctx)
//		defer service.Close(ctx) // runs first, and passes its part of the cache to the others
//	}
//
//	GET /home                         unicast and multicast, to the host and to one instance of it
//	GET /default-queue, /no-queue     the endpoints that home calls
//	GET /cache-store?key=k&value=v    through any instance
//	GET /cache-load?key=k             through any other
//
// # The shared cache
//
// An entry stays with the replica that stored it; a load asks all replicas and takes the newest answer. The
// alternative, to send each entry to every replica, would make a load a look into local memory, but all replicas
// together would hold no more than one of them. This way their memory adds up, a new replica has nothing to catch up
// with, and a replica that was cut off for a while cannot answer with stale entries alone. The price is a multicast for
// each load; callers should keep entries that they load all the time.
//
//	store   give the entry a version, keep it, make all replicas drop older ones
//	load    ask all replicas, take the newest
//	close   pass the entries to the replicas with the most room
//
// Who drops an entry remembers the version of the one that replaced it, as long as there is room. So a load that comes
// in between, and finds neither, asks again; and a stale entry that turns up later is not taken for the newest,
// whatever has become of that.
//
// It is a cache: old entries are dropped, and the least recently used ones when there is no more room. A replica that
// is closed passes its entries on; those of the last one are lost. A replica that dies without being closed, for
// example by kill -9, loses only the entries that it held. To keep entries that have to survive that, or that need more
// memory than the replicas have, use a JetStream key-value bucket: see [WithJetStream].
package msgsvc

// Package msgsvc is the example messaging service: it shows in a browser how calls find their way among the
// instances of one host, and keeps a cache that they share.
//
//	for range 3 {
//		conn, err := bus.Connect(ctx, "messaging.example")
//		service, err := msgsvc.New(ctx, conn)
//		…
//		defer conn.Close(ctx)
//		defer service.Close(ctx) // runs first, to hand its part of the cache over
//	}
//
//	GET /home                         unicast and multicast, to the host and to one instance of it
//	GET /default-queue, /no-queue     what home calls
//	GET /cache-store?key=k&value=v    through any instance
//	GET /cache-load?key=k             through any other
//
// # The shared cache
//
// An entry stays with the replica that it was stored through; a load asks all replicas and takes the newest
// answer. The other way, to send each entry to every replica, would make a load a look into one's own memory, but
// all replicas together would hold no more than one of them. This way their memory adds up, a new replica
// has nothing to catch up with, and one that was cut off for a while does not answer with what it alone believes.
// The price is a multicast for each load; what is loaded all the time is better kept at hand by who loads it.
//
//	store   stamp the entry, keep it, tell all replicas to drop what is older
//	load    ask all replicas, take the newest
//	close   hand the entries over to the replicas with the most room
//
// It is a cache: what is old, or used least recently when there is no more room, goes. A replica that is closed
// hands over what it holds, and the last one takes it along. A replica that dies without being closed, by
// kill -9 say, loses what it held, and nothing else. Entries that have to survive that, or outgrow the memory
// of the replicas, are kept in a JetStream key-value bucket: see [WithJetStream].
package msgsvc

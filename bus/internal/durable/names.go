package durable

import (
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/busline/busline/bus/subject"
)

// Names holds the names in JetStream of what belongs to a publisher on a plane: see docs/reference/wire.md.
type Names struct{ Plane, Publisher string }

// Events returns the name of the stream of events: "bus_EVENTS_orders_example". A host has neither capital letters nor
// underscores, so no two planes and hosts share one.
func (n Names) Events() string { return n.Plane + "_EVENTS_" + HostToken(n.Publisher) }

// DeadLetters returns the name of the stream of dead letters: "bus_DEADLETTERS_orders_example".
func (n Names) DeadLetters() string { return n.Plane + "_DEADLETTERS_" + HostToken(n.Publisher) }

// Event returns the subject of a stored event; event and partition may be [AnyToken].
func (n Names) Event(event, partition string) string {
	return subject.Event(n.Plane, n.Publisher, event, partition)
}

// Later returns the subject of an event that comes later. event may be [AnyToken], and so may id, the token of the id
// of its message.
func (n Names) Later(event, id string) string {
	return subject.LaterEvent(n.Plane, n.Publisher, event, id)
}

// Retried returns the subject of a dead letter that is delivered again to a service; all may be [AnyToken].
func (n Names) Retried(service, event, partition string) string {
	return subject.RetriedEvent(n.Plane, n.Publisher, HostToken(service), event, partition)
}

// DeadLetter returns the subject of an event that a service could not handle; all may be [AnyToken].
func (n Names) DeadLetter(service, event, partition string) string {
	return subject.DeadLetter(n.Plane, n.Publisher, HostToken(service), event, partition)
}

// Publisher returns the plane and the publisher of a stream of events; false for another stream.
func Publisher(stream string) (Names, bool) {
	plane, token, is := strings.Cut(stream, "_EVENTS_")
	names := Names{plane, Host(token)}
	return names, is && subject.CheckPlane(plane) == nil && subject.CheckHost(names.Publisher) == nil
}

// ConsumerName has the parts of the name of a consumer.
type ConsumerName struct {
	Service, Event string
	Partition      string // "" for all
}

// String returns the name: "mailer_example__on-ordered", "mailer_example__on-ordered__17". A host has no empty label,
// so no two services share one.
func (c ConsumerName) String() string {
	name := HostToken(c.Service) + nameDivider + c.Event
	if c.Partition != "" {
		name += nameDivider + c.Partition
	}
	return name
}

// ParseConsumer returns the parts of the name of a consumer; false for a consumer of another client.
func ParseConsumer(name string) (parsed ConsumerName, ok bool) {
	service, event, ok := strings.Cut(name, nameDivider)
	parsed = ConsumerName{Service: Host(service), Event: event}
	if at := strings.LastIndex(event, nameDivider); at > 0 && isPartition(event[at+len(nameDivider):]) {
		parsed.Event, parsed.Partition = event[:at], event[at+len(nameDivider):]
	}
	return parsed, ok && parsed.Event != "" && subject.CheckHost(parsed.Service) == nil
}

const nameDivider = "__"

// HostToken returns a host as a token of a subject, and as a part of a name in JetStream.
func HostToken(host string) string { return strings.ReplaceAll(host, ".", "_") }

// Host is the inverse of [HostToken].
func Host(token string) string { return strings.ReplaceAll(token, "_", ".") }

// AnyToken stands for any token in a subject.
const AnyToken = "*"

// Partitions is the number of partitions of an event. Events of equal keys are in the same one. A service that handles
// them in order handles one event of each partition at a time. It is a part of the wire protocol.
const Partitions = 32

// partitionOf returns the partition of a key: its FNV-1a hash, modulo [Partitions].
func partitionOf(key string) string {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(key)) // does not fail
	return strconv.FormatUint(sum.Sum64()%Partitions, 10)
}

func isPartition(token string) bool {
	number, err := strconv.Atoi(token)
	return err == nil && number >= 0 && number < Partitions && strconv.Itoa(number) == token
}

// Headers of a dead letter.
const (
	ReasonHeader   = "Bus-Dead-Letter-Reason"
	AttemptsHeader = "Bus-Dead-Letter-Attempts"
	EventIDHeader  = "Bus-Event-Id" // of the event, also when the dead letter is delivered again
)

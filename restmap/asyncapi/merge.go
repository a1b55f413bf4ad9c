package asyncapi

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Member is a document to be merged by [Merge].
type Member struct {
	Host     string // that published it
	Document *Document
}

// Merge returns one document for several services, with Info.Version "0" if it is empty, and a Description. Components
// get the host that describes them as a prefix: orders.example_OnOrdered_in. A member can describe only what it does
// itself. A channel is what its publisher says of it, else another host that publishes to it, else one that subscribes
// to it.
func Merge(info Info, members []Member) *Document {
	info.Version = cmp.Or(info.Version, "0")
	info.Description = cmp.Or(info.Description, "The events that the caller may see.")
	d := &Document{
		AsyncAPI: Version, Info: info, DefaultContentType: contentType, Channels: make(map[string]*Channel),
		Operations: make(map[string]*Operation),
	}
	members = slices.SortedFunc(slices.Values(members), func(a, b Member) int { return cmp.Compare(a.Host, b.Host) })
	for _, best := range describedBest(members) {
		carry := &carrier{from: best.by.Document.Components.Schemas, to: d, prefix: best.by.Host + "_"}
		d.Channels[best.id] = carry.channel(best.by.Document.Channels[best.id])
	}
	for _, member := range members {
		for _, operation := range member.Document.Operations {
			d.add(member.Host, operation)
		}
	}
	return d
}

// add adds an operation of a host. Its channel is there.
func (d *Document) add(host string, operation *Operation) {
	id := operation.ChannelID()
	publisher, event, _ := strings.Cut(id, "/")
	added := *operation
	added.Service, added.Summary = host, summary(host, operation.Action, publisher, event)
	added.Channel, added.Messages = channelReference(id), messagesOf(id, d.Channels[id])
	d.Operations[operationID(host, operation.Action, publisher, event)] = &added
}

// description says which member describes a channel.
type description struct {
	id   string
	by   Member
	rank int // lower is better
}

// describedBest returns all channels with an operation, by name.
func describedBest(members []Member) []description {
	best := make(map[string]description)
	for _, member := range members {
		for _, operation := range member.Document.Operations {
			id := operation.ChannelID()
			found := description{id: id, by: member}
			if publisher, _, _ := strings.Cut(id, "/"); operation.Action == Receive {
				found.rank = 2
			} else if member.Host != publisher {
				found.rank = 1
			}
			if known, is := best[id]; !is || found.rank < known.rank {
				best[id] = found
			}
		}
	}
	return slices.SortedFunc(maps.Values(best), func(a, b description) int { return cmp.Compare(a.id, b.id) })
}

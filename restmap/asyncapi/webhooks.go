package asyncapi

import (
	"maps"
	"slices"
	"strings"

	"github.com/busline/busline/restmap/openapi31"
)

// Events returns the events that are published, as [openapi31.Convert] takes them.
func (d *Document) Events() *openapi31.Events {
	events := &openapi31.Events{Schemas: d.Components.Schemas, LeftOut: d.Info.LeftOut}
	published := make(map[string]bool)
	for _, operation := range d.Operations {
		if operation.Action == Send {
			published[operation.ChannelID()] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(published)) {
		events.Webhooks = append(events.Webhooks, d.Channels[id].webhook(id))
	}
	return events
}

func (c *Channel) webhook(id string) openapi31.Webhook {
	webhook := openapi31.Webhook{Summary: c.Summary, Description: c.Description}
	webhook.Publisher, webhook.Event, _ = strings.Cut(id, "/")
	if len(c.Tags) > 0 {
		webhook.About = c.Tags[0].Description
	}
	for _, name := range slices.Sorted(maps.Keys(c.Messages)) { // there is one
		webhook.Payload = c.Messages[name].Payload
	}
	return webhook
}

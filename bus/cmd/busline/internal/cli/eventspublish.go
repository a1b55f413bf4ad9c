package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busline/busline/bus/eventlog"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/restmap/jsonschema"
	"github.com/busline/busline/restmap/openapi"
)

func (s *session) newEventsPublish() *cobra.Command {
	c := prints(&cobra.Command{
		Use:   "publish <publisher> <event> [name=value …] [name:=json …] [@file | - | '{…}']",
		Short: "Have a publisher publish an event",
		Long: `Asks an instance of the publisher to publish an event, as it does itself: it checks the arguments as
those who subscribe would, and whether the token may do that. Arguments are written as for busline call.
The event need not be stored.`,
		Example:     examples("busline events publish orders.example on-ordered number=7 item=tea"),
		Annotations: annotated(Changes),
		RunE: func(c *cobra.Command, operands []string) error {
			if len(operands) < 2 {
				return misuse("name a publisher and an event, as in: busline events publish orders.example on-ordered number=7")
			}
			if err := checkHosts(operands[:1], 1, 1, ""); err != nil {
				return err
			}
			return s.publishEvent(c.Context(), operands[0], operands[1], operands[2:])
		},
		ValidArgsFunction: s.completing(s.completePublished),
	})
	return c
}

// publishEvent asks an instance of a publisher to publish an event.
func (s *session) publishEvent(ctx context.Context, publisher, event string, operands []string) error {
	args, err := parseArguments(ctx, operands, s.files())
	if err != nil {
		return err
	}
	conn, err := s.join(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := s.limited(ctx)
	defer cancel()
	to := address{host: publisher, port: subject.ControlPort,
		path: "/publish/" + escapeRest(strings.TrimPrefix(event, "/"))}
	draft, err := s.publication(ctx, to, publisher+"/"+event).prepare(args, make(http.Header))
	if err != nil {
		return err
	}
	request, err := draft.request(ctx)
	if err != nil {
		return misuse("%w", err)
	}
	response, err := conn.Do(request)
	if isUnanswered(err) {
		return s.hostNotFound(context.WithoutCancel(ctx), publisher, err)
	}
	if err != nil {
		return err
	}
	if response.StatusCode >= http.StatusBadRequest || s.settings.IsJSON() {
		return s.answer(new(callFlags), response)
	}
	defer response.Body.Close()
	return s.print("%s has published %s\n", publisher, cleanLine(event))
}

// publication plans the call that publishes an event: its body has the arguments that the publisher's AsyncAPI document
// describes, or any if it has none.
func (s *session) publication(ctx context.Context, to address, channel string) *plan {
	document := &openapi.Document{}
	described := &openapi.Operation{}
	arguments := &schema.Schema{Type: typeObject}
	if events := s.fetchEvents(ctx, to.host); events != nil {
		components := events.Components.Schemas
		for name, message := range events.Channels[channel].Messages {
			if message.Payload != nil {
				described.OperationID, arguments = name, message.Payload.OpenAPI(components)
			}
		}
		document.Components.Schemas = make(map[string]*schema.Schema)
		for name, schema := range components {
			if schema != nil {
				document.Components.Schemas[name] = schema.OpenAPI(components)
			}
		}
		document = withUnions(document)
	}
	described.RequestBody = &openapi.RequestBody{Content: map[string]*openapi.MediaType{mediaJSON: {Schema: arguments}}}
	return &plan{to: to, method: http.MethodPost, operation: &operation{
		method: http.MethodPost, place: to.place(), path: to.path, document: document, Operation: described,
	}}
}

// eventDocument is what the command reads of an AsyncAPI document.
type eventDocument struct {
	Channels map[string]struct {
		Messages map[string]struct {
			Payload *jsonschema.Schema `json:"payload"`
		} `json:"messages"`
	} `json:"channels"` // by publisher and event: "orders.example/on-ordered"
	Components struct {
		Schemas map[string]*jsonschema.Schema `json:"schemas"`
	} `json:"components"`
}

// fetchEvents asks a host for its AsyncAPI document; nil if it has none that can be read.
func (s *session) fetchEvents(ctx context.Context, host string) *eventDocument {
	text, err := s.fetchAsyncAPI(ctx, host+":888")
	described := new(eventDocument)
	if err != nil || json.Unmarshal(text, described) != nil {
		return nil
	}
	return described
}

// completePublished completes a publisher, and then an event that it has stored.
func (s *session) completePublished(ctx context.Context, before []string, word string) []string {
	switch len(before) {
	case 0:
		return s.completeHost(ctx, word, "")
	case 1:
		conn, err := s.join(ctx)
		if err != nil {
			return nil
		}
		log, _ := eventlog.Describe(ctx, conn, before[0]) // after an error it has no events
		var events []string
		for _, kind := range log.Kinds {
			events = append(events, kind.Event)
		}
		return startingWith(word, events)
	default:
		return nil
	}
}

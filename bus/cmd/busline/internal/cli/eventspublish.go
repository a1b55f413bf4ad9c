package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busline/busline/bus/eventlog"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/restmap/openapi"
)

func (s *session) newEventsPublish() *cobra.Command {
	c := &cobra.Command{
		Use:   "publish <publisher> <event> [name=value …] [name:=json …] [@file | - | '{…}']",
		Short: "Have a publisher publish an event",
		Long: `Asks an instance of the publisher to publish an event, as it does itself: it checks the arguments as
those who subscribe would, and whether the token may do that. Arguments are written as for busline call.
The event need not be stored.`,
		Example: examples("busline events publish orders.example on-ordered number=7 item=tea"),
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
	}
	return c
}

// publishEvent asks an instance of a publisher to publish an event.
func (s *session) publishEvent(ctx context.Context, publisher, event string, operands []string) error {
	args, err := parseArguments(ctx, operands, s.Stdin)
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
	if response.StatusCode >= http.StatusBadRequest || s.settings.json {
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
		for name, message := range events.Channels[channel].Messages {
			if message.Payload != nil {
				described.OperationID, arguments = name, &message.Payload.Schema
			}
		}
		document.Components.Schemas = make(map[string]*schema.Schema)
		for name, schema := range events.Components.Schemas {
			if schema != nil {
				document.Components.Schemas[name] = &schema.Schema
			}
		}
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
			Payload *eventSchema `json:"payload"`
		} `json:"messages"`
	} `json:"channels"` // by publisher and event: "orders.example/on-ordered"
	Components struct {
		Schemas map[string]*eventSchema `json:"schemas"`
	} `json:"components"`
}

// eventSchema is a schema of JSON Schema Draft 07 in the notation of OpenAPI 3.0.0, as far as the command needs it to
// convert arguments. The publisher checks the rest.
type eventSchema struct{ schema.Schema }

// UnmarshalJSON reads a schema.
func (s *eventSchema) UnmarshalJSON(text []byte) error {
	var members any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // a bound may have more digits than a float64
	if err := decoder.Decode(&members); err != nil {
		return err
	}
	return json.Unmarshal(jsonOf(toOpenAPI(members)), &s.Schema)
}

// toOpenAPI rewrites a schema, and those in it: null becomes a keyword of its own, and an exclusive bound a flag of the
// inclusive one.
func toOpenAPI(schema any) any {
	switch schema := schema.(type) {
	case []any:
		for i := range schema {
			schema[i] = toOpenAPI(schema[i])
		}
	case map[string]any:
		for name, member := range schema {
			schema[name] = toOpenAPI(member)
		}
		types, several := schema["type"].([]any)
		if several {
			left := slices.DeleteFunc(types, func(each any) bool { return each == "null" })
			schema["nullable"] = len(left) < len(types)
			delete(schema, "type")
			if len(left) == 1 {
				schema["type"] = left[0]
			}
		}
		toFlag(schema, "minimum", "exclusiveMinimum", +1)
		toFlag(schema, "maximum", "exclusiveMaximum", -1)
	}
	return schema
}

// toFlag turns an exclusive bound into the inclusive one and a flag. Of both, the tighter is left; that is the larger
// one of two minima, for which tighter is 1.
func toFlag(of map[string]any, inclusive, exclusive string, tighter int) {
	bound, ok := of[exclusive].(json.Number)
	if !ok {
		return
	}
	other, both := of[inclusive].(json.Number)
	if both && schema.Number(other).Rational().Cmp(schema.Number(bound).Rational()) == tighter {
		delete(of, exclusive)
		return
	}
	of[inclusive], of[exclusive] = bound, true
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

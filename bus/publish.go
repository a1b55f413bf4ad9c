package bus

import (
	"cmp"
	"context"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/reflectapi/similar"
	"github.com/busline/busline/reflectapi/strictjson"
	"github.com/busline/busline/restmap"
)

// publishByHand publishes an event, with the arguments in the body of the request, as its publisher in this connection
// does.
func publishByHand(ctx context.Context, in *serverCall) (*wire.Response, error) {
	by, name, err := in.publicationToUse()
	if err != nil {
		return nil, unsent(err)
	}
	event, err := in.eventOf(by, name)
	if err != nil {
		return nil, unsent(err)
	}
	if err := in.conn.publishEvent(ctx, event, by.publisher.store); err != nil {
		return nil, err
	}
	return in.answerJSON(http.StatusAccepted, map[string]string{"msgId": event.MsgID})
}

// describePublication answers with the event that the path names, if the caller may see it.
func describePublication(_ context.Context, in *serverCall) (*wire.Response, error) {
	by, name, err := in.publicationToUse()
	if err != nil {
		return nil, unsent(err)
	}
	return in.answerJSON(http.StatusOK, publishedEvent{name.host, strings.TrimPrefix(name.path, "/"), by.publisher.store != nil, by.key})
}

// answerJSON answers with a value as JSON.
func (in *serverCall) answerJSON(status int, value any) (*wire.Response, error) {
	body, err := strictjson.Marshal(value)
	if err != nil {
		return nil, err
	}
	in.response = wire.Response{Status: status, Header: in.Handler.ResponseHeader(jsonContent()), Body: body}
	return &in.response, nil
}

// publicationToUse returns the event that the path names, if the caller may see and publish it: of the own host, else
// of another one for which the connection publishes.
func (in *serverCall) publicationToUse() (by publication, found eventName, err error) {
	event, sources := in.Value("event"), &in.conn.events
	var names []string // that the caller may see
	for _, each := range sources.publishes() {
		if each.Event == event && (found.host == "" || each.Publisher == in.conn.host) {
			found = eventName{each.Publisher, "/" + event}
		}
		if sources.publicationOf(each.Publisher, each.Event).publisher.access.allows(in.Handler.Claims) {
			names = append(names, each.Event)
		}
	}
	if found.host == "" {
		return by, found, notRun(http.StatusNotFound, nil, "%s publishes no event %s; it has %s%s",
			in.conn.host, event, cmp.Or(strings.Join(names, ", "), "no events for this caller"), similar.DidYouMean(event, names))
	}
	by = sources.publicationOf(found.host, event)
	if access := by.publisher.access; !access.allows(in.Handler.Claims) {
		if err := in.conn.tokenMissing(in.Handler.Request, access); err != nil {
			return by, found, err
		}
		return by, found, notRun(http.StatusForbidden, errClaims, "%s", errClaims)
	}
	return by, found, nil
}

// eventOf returns the event with the arguments in the body, which it checks like a subscriber.
func (in *serverCall) eventOf(by publication, name eventName) (*clientCall, error) {
	e, address := by.publisher.described[name], "https://"+name.host+":"+strconv.Itoa(subject.EventPort)+name.path
	if e == nil {
		return nil, notRun(http.StatusConflict, nil,
			"the publisher of %s does not know its arguments, so they cannot be checked: add bus.EventsOf to its bus.Conn.NewPublisher, or generate it with apigen -events", address)
	}
	body, contentType := in.Request.Body, in.Request.Header.Get("Content-Type")
	if media, _, _ := mime.ParseMediaType(contentType); len(body) > 0 && media != "application/json" {
		return nil, notRun(http.StatusUnsupportedMediaType, nil, "content type %q: send the arguments as application/json", contentType)
	}
	arguments, err := e.mapped.Decode(&restmap.Request{Method: http.MethodPost, ContentType: contentType, Body: body})
	if err != nil {
		return nil, err
	}
	key := ""
	if by.key != "" {
		if key, err = newEventKey(arguments.Type(), by.key).of(address, arguments.Interface()); err != nil {
			return nil, err
		}
	}
	to, err := in.conn.destinationOf(address, nil)
	if err != nil {
		return nil, err
	}
	if len(body) == 0 {
		body = []byte("{}")
	}
	event := to.withBody(body)
	event.key = key
	return event, nil
}

// controlHandler returns an endpoint on port 888 that one instance of the host answers.
func controlHandler(method, path string) (*endpoint, error) {
	mapped, err := restmap.Handler(method, path)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	config := newEndpointConfig()
	config.port, config.hidden, config.bodyLimit = subject.ControlPort, true, functionBodyLimit
	return newEndpoint(config, mapped.Name, mapped), nil
}

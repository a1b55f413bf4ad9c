package events

import (
	"cmp"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/busline/busline/bus/internal/callctx"
	"github.com/busline/busline/bus/internal/feature"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/reflectapi/similar"
	"github.com/busline/busline/restmap"
)

// publishByHand publishes an event, with the arguments in the body of the request, as its publisher in this connection
// does.
func (s *sources) publishByHand(w http.ResponseWriter, r *http.Request) error {
	by, name, err := s.publicationFor(r)
	if err != nil {
		return err
	}
	event, err := s.eventOf(by, name, r)
	if err != nil {
		return err
	}
	if err := s.send(r.Context(), event, by.publisher.store); err != nil {
		return err
	}
	return answer(w, http.StatusAccepted, map[string]string{"msgId": event.outgoing().MsgID})
}

// describePublication answers with the event that the path names, if the caller may see it.
func (s *sources) describePublication(w http.ResponseWriter, r *http.Request) error {
	by, name, err := s.publicationFor(r)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, publishedEvent{name.host, strings.TrimPrefix(name.path, "/"),
		by.publisher.store != nil, by.key})
}

// publicationFor returns the event that the path names, if the caller may see and publish it: of the own host, else of
// another one for which the connection publishes.
func (s *sources) publicationFor(r *http.Request) (by publication, found eventName, err error) {
	h, event := callctx.Of(r.Context()), r.PathValue("event")
	var names []string // that the caller may see
	for _, each := range s.publishes() {
		if each.Event == event && (found.host == "" || each.Publisher == s.conn.Host()) {
			found = eventName{each.Publisher, "/" + event}
		}
		if s.publicationOf(each.Publisher, each.Event).publisher.access.Allows(h.Claims) {
			names = append(names, each.Event)
		}
	}
	if found.host == "" {
		return by, found, status.NotRun(http.StatusNotFound, nil, "%s publishes no event %s; it has %s%s",
			s.conn.Host(), event, cmp.Or(strings.Join(names, ", "), "no events for this caller"),
			similar.DidYouMean(event, names))
	}
	by = s.publicationOf(found.host, event)
	if access := by.publisher.access; !access.Allows(h.Claims) {
		return by, found, cmp.Or(s.TokenMissing(h.Request, access), s.Forbidden())
	}
	return by, found, nil
}

// eventOf returns the event with the arguments in the body, which it checks like a subscriber.
func (s *sources) eventOf(by publication, name eventName, r *http.Request) (message, error) {
	described, address := by.publisher.described[name], addressOf(name.host, name.path)
	if described == nil {
		return message{}, status.NotRun(http.StatusConflict, nil,
			"the publisher of %s does not know its arguments, so they cannot be checked: "+
				"add events.Of to its events.NewPublisher, or generate it with apigen -events", address)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return message{}, err
	}
	contentType := r.Header.Get("Content-Type")
	if media, _, _ := mime.ParseMediaType(contentType); len(body) > 0 && media != "application/json" {
		return message{}, status.NotRun(http.StatusUnsupportedMediaType, nil,
			"content type %q: send the arguments as application/json", contentType)
	}
	request := &restmap.Request{Method: http.MethodPost, ContentType: contentType, Body: body}
	arguments, err := described.Mapped().Decode(request)
	if err != nil {
		return message{}, feature.Bus.Unsent(err)
	}
	s.warnOfMisspelt(name, request)
	event := message{}
	if by.key != "" {
		if event.key, err = newEventKey(arguments.Type(), by.key).of(address, arguments.Interface()); err != nil {
			return message{}, err
		}
	}
	to, err := s.FindDestination(address, nil)
	if err != nil {
		return message{}, feature.Bus.Unsent(err)
	}
	if len(body) == 0 {
		body = []byte("{}")
	}
	event.request = to.WithBody(body)
	return event, nil
}

package portal

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/busline/busline/bus"
)

// Limits of a multicast from the page.
const (
	maxMulticastBytes  = 2 << 20 // of the request, which contains the body as a JSON string
	parallelMulticasts = 16      // beyond that the page has to try again
)

// order is a request of the page to call all instances of a service.
type order struct {
	Method      string `json:"method"`
	Target      string `json:"target"` // as in a path of the ingress: "/messaging.example:443/no-queue?x=1"
	ContentType string `json:"contentType,omitempty"`
	Body        string `json:"body,omitempty"`
}

// multicastHandler calls all instances of a service for the page, because the ingress itself returns only one response.
// The call has the identity of its caller: the token of the request is passed on, and each service verifies it as
// usual. Only what the ingress lets through can be called, and the ingress refuses other sites.
type multicastHandler struct {
	conn  *bus.Conn
	ports []int
	room  chan struct{}
}

func newMulticastHandler(conn *bus.Conn, ports []int) *multicastHandler {
	return &multicastHandler{conn: conn, ports: ports, room: make(chan struct{}, parallelMulticasts)}
}

// ServeHTTP makes the call, and responds with an [answerList] when it has ended.
func (h *multicastHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request, path, err := h.read(r)
	if err != nil {
		bus.WriteError(w, r, err)
		return
	}
	select {
	case h.room <- struct{}{}:
		defer func() { <-h.room }()
	default:
		bus.WriteError(w, r, &bus.Error{
			Status: http.StatusServiceUnavailable, RetryAfter: time.Second,
			Detail: fmt.Sprintf("%d multicasts are under way; try again in a second", parallelMulticasts),
		})
		return
	}
	list, err := h.gather(request, path)
	if err != nil {
		bus.WriteError(w, r, err)
		return
	}
	text, err := json.Marshal(list)
	if err != nil {
		bus.WriteError(w, r, err)
		return
	}
	serveJSON(w, text)
}

// read returns the call that a request asks for, and the path by which the page knows it.
func (h *multicastHandler) read(r *http.Request) (call *http.Request, path string, err error) {
	if kind := mediaType(r.Header); kind != "application/json" {
		return nil, "", bus.Errorf(http.StatusUnsupportedMediaType, "the content type is %.80q; send application/json", kind)
	}
	var wanted order
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	err = decoder.Decode(&wanted)
	if err == nil && decoder.More() {
		err = errors.New("there is more after it")
	}
	if err != nil {
		return nil, "", bus.Errorf(http.StatusBadRequest, "the body is not one JSON object with method, target, contentType and body: %w", err)
	}
	if !carried(wanted.Method) {
		return nil, "", bus.Errorf(http.StatusBadRequest, "the method %.40q is not forwarded", wanted.Method)
	}
	if len(wanted.Target) > maxURILength {
		return nil, "", bus.Errorf(http.StatusRequestURITooLong, "a target of %d bytes exceeds the limit of %d", len(wanted.Target), maxURILength)
	}
	path, query, _ := strings.Cut(wanted.Target, "?")
	to, err := addressOf(path, h.ports)
	if err != nil {
		return nil, "", err
	}
	to.RawQuery = query
	call, err = h.request(r, to, &wanted)
	return call, path, err
}

// request returns the request to send on the bus, in the context of the page's request: with its actor and its
// deadline.
func (h *multicastHandler) request(r *http.Request, to *url.URL, wanted *order) (*http.Request, error) {
	request, err := http.NewRequestWithContext(r.Context(), wanted.Method, "https://"+hostPortal, strings.NewReader(wanted.Body))
	if err != nil {
		return nil, bus.Errorf(http.StatusBadRequest, "%w", err)
	}
	request.URL, request.Host = to, ""
	if wanted.ContentType != "" {
		if _, _, err := mime.ParseMediaType(wanted.ContentType); err != nil {
			return nil, bus.Errorf(http.StatusBadRequest, "%.80q is not a content type", wanted.ContentType)
		}
		request.Header.Set("Content-Type", wanted.ContentType)
	}
	return request, nil
}

package portal

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/portal/internal/answer"
	"github.com/busline/busline/portal/internal/outside"
)

// Limits of a multicast from the page.
const (
	maxMulticastBytes  = 2 << 20 // of the request, which contains the body as a JSON string
	parallelMulticasts = 16      // beyond that the page has to try again
)

// multicastRequest is a request of the page to call all instances of a service.
type multicastRequest struct {
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
	if err := answer.WriteJSON(w, list); err != nil {
		bus.WriteError(w, r, err)
	}
}

// read returns the call that a request asks for, and the path by which the page knows it.
func (h *multicastHandler) read(r *http.Request) (call *http.Request, path string, err error) {
	var wanted multicastRequest
	if err := answer.ReadJSON(r, &wanted, "method, target, contentType and body"); err != nil {
		return nil, "", err
	}
	if !outside.Carried(wanted.Method) {
		return nil, "", bus.Errorf(http.StatusBadRequest, "the method %.40q is not forwarded", wanted.Method)
	}
	if len(wanted.Target) > outside.MaxURILength {
		return nil, "", bus.Errorf(http.StatusRequestURITooLong, "a target of %d bytes exceeds the limit of %d",
			len(wanted.Target), outside.MaxURILength)
	}
	path, query, _ := strings.Cut(wanted.Target, "?")
	to, err := outside.AddressOf(path, h.ports)
	if err != nil {
		return nil, "", err
	}
	to.RawQuery = query
	call, err = h.request(r, to, &wanted)
	return call, path, err
}

// request returns the request to send on the bus, in the context of the page's request: with its actor and its
// deadline.
func (h *multicastHandler) request(r *http.Request, to *url.URL, wanted *multicastRequest) (*http.Request, error) {
	request, err := http.NewRequestWithContext(r.Context(), wanted.Method, "https://"+outside.HostPortal,
		strings.NewReader(wanted.Body))
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

// Limits of what a multicast returns.
const (
	maxAnswers      = 256
	maxAnswerBytes  = 64 << 10 // of one body
	maxAnswersBytes = 4 << 20  // of all bodies
)

// answerList is the result of a multicast.
type answerList struct {
	Answers  []callAnswer `json:"answers"`  // in order of arrival
	Complete bool         `json:"complete"` // false: more may have come than are listed
	bytes    int          // of all bodies
}

// callAnswer is what one instance answered.
type callAnswer struct {
	Host         string            `json:"host"`
	ID           string            `json:"id"`
	MsgID        string            `json:"msgId,omitempty"`
	Status       int               `json:"status"`
	Header       map[string]string `json:"header,omitempty"`
	Body         string            `json:"body,omitempty"`
	Length       int               `json:"length"`            // of the body, in bytes
	Cut          bool              `json:"cut,omitempty"`     // the body is longer than the part shown here
	Binary       bool              `json:"binary,omitempty"`  // the body is not text, and is left out
	Failure      string            `json:"failure,omitempty"` // why there is no answer
	Milliseconds float64           `json:"milliseconds"`      // from the start of the call
}

// gather makes the call and collects the answers, within the limits above. path is that of the page; problems name it.
func (h *multicastHandler) gather(request *http.Request, path string) (*answerList, error) {
	ctx, cancel := answer.InTime(request.Context())
	defer cancel()
	request = request.WithContext(ctx)
	list := &answerList{Answers: []callAnswer{}, Complete: true}
	started := time.Now()
	for response, err := range h.conn.Multicast(request) {
		if len(list.Answers) == maxAnswers {
			list.Complete = false
			break
		}
		came, err := list.read(path, response, err)
		if err != nil {
			return nil, err
		}
		came.Milliseconds = float64(time.Since(started).Microseconds()) / float64(time.Millisecond/time.Microsecond)
		list.Answers = append(list.Answers, came)
	}
	return list, nil
}

// read reads one answer. It returns an error if the call as a whole has failed, rather than one instance.
func (l *answerList) read(path string, response *http.Response, err error) (callAnswer, error) {
	if err != nil {
		failed, ok := errors.AsType[*bus.Error](err)
		if !ok || failed.Host == "" {
			return callAnswer{}, err
		}
		return failedAnswer(failed), nil
	}
	defer response.Body.Close()
	if err := outside.AdaptProblem(path, response); err != nil {
		return callAnswer{}, err
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return callAnswer{}, err
	}
	came := callAnswer{
		Host: response.Header.Get("Bus-From-Host"), ID: response.Header.Get("Bus-From-Id"),
		MsgID: response.Header.Get("Bus-Msg-Id"), Status: response.StatusCode, Header: shownHeader(response.Header),
		Length: len(body),
	}
	l.show(&came, body)
	return came, nil
}

// failedAnswer is the answer for an instance that acknowledged the call and did not respond.
func failedAnswer(failed *bus.Error) callAnswer {
	came := callAnswer{Host: failed.Host, ID: failed.ID, MsgID: failed.MsgID, Status: failed.Status,
		Failure: failed.Detail}
	if bus.IsInternal(failed) {
		came.Failure = outside.Withheld(failed.Status, failed.MsgID)
	}
	return came
}

// show copies as much of a text body into an answer as the limits allow.
func (l *answerList) show(came *callAnswer, body []byte) {
	room := min(maxAnswerBytes, maxAnswersBytes-l.bytes)
	switch {
	case !utf8.Valid(body):
		came.Binary = true
		return
	case len(body) > room:
		came.Cut = true
		for room > 0 && !utf8.RuneStart(body[room]) {
			room--
		}
		body = body[:room]
	}
	l.bytes += len(body)
	came.Body = string(body)
}

// shownHeader returns the headers of an answer that are worth showing to people.
func shownHeader(header http.Header) map[string]string {
	shown := make(map[string]string)
	for _, name := range []string{"Allow", "Cache-Control", "Content-Type", "Etag", "Location", "Retry-After",
		"Www-Authenticate"} {
		if value := header.Get(name); value != "" {
			shown[name] = value
		}
	}
	return shown
}

package portal

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/busline/busline/bus"
)

// Limits of what a multicast returns.
const (
	maxAnswers      = 256
	maxAnswerBytes  = 64 << 10 // of one body
	maxAnswersBytes = 4 << 20  // of all bodies
)

// answerMargin is how much earlier than its request a multicast ends, which leaves time to write the answers received
// so far.
const answerMargin = time.Second

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
	ctx := request.Context()
	if ends, ok := ctx.Deadline(); ok {
		limited, cancel := context.WithDeadline(ctx, ends.Add(-answerMargin))
		defer cancel()
		request = request.WithContext(limited)
	}
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
	if err := adaptProblem(path, response); err != nil {
		return callAnswer{}, err
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return callAnswer{}, err
	}
	came := callAnswer{
		Host: response.Header.Get("Bus-From-Host"), ID: response.Header.Get("Bus-From-Id"),
		MsgID: response.Header.Get("Bus-Msg-Id"), Status: response.StatusCode, Header: telling(response.Header),
		Length: len(body),
	}
	l.show(&came, body)
	return came, nil
}

// failedAnswer is the answer for an instance that acknowledged the call and did not respond.
func failedAnswer(failed *bus.Error) callAnswer {
	came := callAnswer{Host: failed.Host, ID: failed.ID, MsgID: failed.MsgID, Status: failed.Status, Failure: failed.Detail}
	if bus.IsInternal(failed) {
		came.Failure = withheld(failed.Status, failed.MsgID)
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

// telling returns the headers of an answer that are worth showing to people.
func telling(header http.Header) map[string]string {
	told := make(map[string]string)
	for _, name := range []string{"Allow", "Cache-Control", "Content-Type", "Etag", "Location", "Retry-After", "Www-Authenticate"} {
		if value := header.Get(name); value != "" {
			told[name] = value
		}
	}
	return told
}

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/busline/busline/bus"
)

// callAll makes a multicast call, and prints the responses as they arrive.
func (s *session) callAll(conn *bus.Conn, f *callFlags, request *http.Request) error {
	answered, bad, queued := 0, 0, false
	for response, err := range conn.Multicast(request) {
		if err != nil && !isOfInstance(err) {
			return err
		}
		answered++
		queued = response != nil && response.Header.Get("Bus-Queue") == request.URL.Hostname() // else each is a queue of its own
		var (
			text string
			good bool
		)
		switch {
		case err != nil:
			text, good = s.line(lost(err)), false
		case f.include:
			good = response.StatusCode < http.StatusBadRequest
			if err := s.answer(f, response); err != nil && statusOf(err) != failed {
				return err
			}
		default:
			one, err := readAnswer(response)
			if err != nil {
				return err
			}
			text, good = s.line(one), one.Status < http.StatusBadRequest
		}
		if !good {
			bad++
		}
		if err := s.print("%s", text); err != nil {
			return err
		}
	}
	if queued && answered == 1 {
		s.noteQueue(request.Context(), request.URL.Hostname())
	}
	switch {
	case answered == 0:
		return &failure{status: absent, err: fmt.Errorf("no instance answers at %s%s", request.URL.Host, request.URL.Path)}
	case bad > 0:
		return &failure{status: failed, err: fmt.Errorf("%d of %d answers report a failure", bad, answered)}
	}
	return nil
}

// noteQueue says that one instance has answered for all, if there are others.
func (s *session) noteQueue(ctx context.Context, host string) {
	instances, err := s.discover(ctx, host)
	if err == nil && len(instances) > 1 { // otherwise there is nothing to say
		s.notef("%s has %d instances, of which one answered: a queue gives each call of this endpoint to one of them; --instance chooses it", host, len(instances))
	}
}

// answerOfOne is a line of the output of --all.
type answerOfOne struct {
	Host   string          `json:"host"`
	ID     string          `json:"id"`
	Status int             `json:"status"`
	Body   json.RawMessage `json:"body"` // a body that is not JSON becomes a string
}

// lost is the line for an instance that acknowledged the call and did not respond.
func lost(err error) answerOfOne {
	called, _ := errors.AsType[*bus.Error](err)
	return answerOfOne{called.Host, called.ID, called.Status, jsonOf(called.Detail)}
}

func readAnswer(response *http.Response) (one answerOfOne, err error) {
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	one = answerOfOne{response.Header.Get("Bus-From-Host"), response.Header.Get("Bus-From-Id"), response.StatusCode, compact(text)}
	return one, err
}

// line formats a response on one line.
func (s *session) line(one answerOfOne) string {
	if s.settings.json {
		return string(jsonOf(one)) + "\n"
	}
	body := string(one.Body)
	var text string
	if json.Unmarshal(one.Body, &text) == nil && !strings.ContainsAny(text, "\n\r\t") { // without quotes where none are needed
		body = text
	}
	style := s.style()
	status := strconv.Itoa(one.Status)
	if one.Status >= http.StatusBadRequest {
		status = style.red(status)
	}
	return fmt.Sprintf("%s  %s  %s\n", style.bold(cleanLine(one.ID+"."+one.Host)), status, clean(body))
}

package portal

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strconv"
)

const problemType = "application/problem+json"

const (
	// maxProblem is how large a problem may be in bytes; one that is larger is no problem for people.
	maxProblem = 1 << 20
	// internalError is the problem that stands in for one of status 500 which cannot be read.
	internalError = `{"type":"about:blank","title":"Internal Server Error","status":500}`
)

// adaptProblem makes a problem that a service wrote (RFC 9457) fit for the outside: the instance is the path as the
// client named it, it says who failed, and of a status 500 the detail stays inside. One that cannot be read is passed on
// as it is, unless it may hold such a detail.
func adaptProblem(path string, response *http.Response) error {
	if kind := mediaType(response.Header); kind != problemType {
		return nil
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	internal := response.StatusCode == http.StatusInternalServerError
	problem, err := parseProblem(body)
	if err != nil && internal {
		problem, err = parseObject([]byte(internalError))
		response.Header.Del("Content-Encoding") // that of what could not be read
	}
	if err == nil {
		if internal {
			problem.withhold()
		}
		problem.set("instance", path)
		problem.sayWhoFailed(response.Header)
		if internal {
			problem.set("detail", withheld(problem.text("msgId")))
		}
		body = problem.json()
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	response.ContentLength = int64(len(body))
	response.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}

func parseProblem(body []byte) (object, error) {
	if len(body) > maxProblem {
		return nil, errNoObject
	}
	return parseObject(body)
}

// withhold leaves of a problem what tells nothing of the inside: the members of RFC 9457 and of the bus, as long as
// they are what they should be. Others are anything, a stack say, and so may be the words of the title.
func (o *object) withhold() {
	*o = slices.DeleteFunc(*o, func(m member) bool {
		switch m.name {
		case "type", "host", "id", "msgId", "traceId":
			return m.value.Kind() != '"'
		case "status":
			return m.value.Kind() != '0'
		default:
			return true
		}
	})
	o.set("title", http.StatusText(http.StatusInternalServerError))
}

// sayWhoFailed names the instance that answered, where no other is named.
func (o *object) sayWhoFailed(header http.Header) {
	if o.text("host") == "" {
		o.set("host", header.Get("Bus-From-Host"))
		o.set("id", header.Get("Bus-From-Id"))
		o.set("msgId", header.Get("Bus-Msg-Id"))
	}
}

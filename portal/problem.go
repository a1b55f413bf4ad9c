package portal

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
)

const problemType = "application/problem+json"

// internalError is the problem that stands in for one of status 500 which cannot be read.
const internalError = `{"type":"about:blank","title":"Internal Server Error","status":500}`

// adaptProblem makes a problem that a service wrote (RFC 9457) fit for the outside: the instance is the path as the
// client sent it, it says who failed, and of a status 500 the detail stays inside. One that cannot be read is passed on
// as it is, unless it may hold such a detail.
func adaptProblem(r *http.Request, response *http.Response) error {
	if kind := mediaType(response.Header); kind != problemType || r.Method == http.MethodHead {
		return nil
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	internal := response.StatusCode == http.StatusInternalServerError
	problem, err := parseObject(body)
	if err != nil && internal {
		problem, err = parseObject([]byte(internalError))
	}
	if err == nil {
		problem.set("instance", requestPath(r))
		problem.sayWhoFailed(response.Header)
		if internal {
			problem.set("detail", withheld(problem.text("msgId")))
		}
		body = problem.json()
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	response.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}

// sayWhoFailed names the instance that answered, where no other is named.
func (o *object) sayWhoFailed(header http.Header) {
	if o.text("host") == "" {
		o.set("host", header.Get("Bus-From-Host"))
		o.set("id", header.Get("Bus-From-Id"))
		o.set("msgId", header.Get("Bus-Msg-Id"))
	}
}

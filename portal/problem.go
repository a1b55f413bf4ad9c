package portal

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

const problemType = "application/problem+json"

// maxProblem is how large a problem may be in bytes; one that is larger is no problem for people.
const maxProblem = 1 << 20

// adaptProblem makes a problem that a service wrote (RFC 9457) fit for the outside: the instance is the path as the
// client named it, it says who failed, and a detail that is internal (see [bus.IsInternal]) stays inside. One that cannot be
// read is passed on as it is, unless it may hold such a detail.
func adaptProblem(path string, response *http.Response) error {
	if kind := mediaType(response.Header); kind != problemType {
		return nil
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	problem, err := parseProblem(body)
	internal := response.StatusCode == http.StatusInternalServerError || problem.isTrue("internal")
	if err != nil && mayBeInternal(response.StatusCode) {
		problem, err, internal = standIn(response.StatusCode), nil, true
		response.Header.Del("Content-Encoding") // that of what could not be read
	}
	if err == nil {
		if internal {
			problem.withhold(response.StatusCode)
		}
		problem.set("instance", path)
		problem.sayWhoFailed(response.Header)
		if internal {
			problem.set("detail", withheld(response.StatusCode, problem.text("msgId")))
		}
		body = problem.json()
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	response.ContentLength = int64(len(body))
	response.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}

// mayBeInternal says whether the bus gives a status to errors that have none of their own.
func mayBeInternal(status int) bool {
	switch status {
	case http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	default:
		return false
	}
}

// standIn is what takes the place of a problem which cannot be read.
func standIn(status int) object {
	return object{{"type", quote("about:blank")}, {"status", jsontext.Value(strconv.Itoa(status))}}
}

func parseProblem(body []byte) (object, error) {
	if len(body) > maxProblem {
		return nil, errNoObject
	}
	return parseObject(body)
}

// withhold leaves of a problem what tells nothing of the inside: the members of RFC 9457 and of the bus, as long as
// they are what they should be. Others are anything, a stack say, and so may be the words of the title.
func (o *object) withhold(status int) {
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
	o.set("title", http.StatusText(status))
}

// sayWhoFailed names the instance that answered, where no other is named.
func (o *object) sayWhoFailed(header http.Header) {
	if o.text("host") == "" {
		o.set("host", header.Get("Bus-From-Host"))
		o.set("id", header.Get("Bus-From-Id"))
		o.set("msgId", header.Get("Bus-Msg-Id"))
	}
}

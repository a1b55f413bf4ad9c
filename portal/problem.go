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

// blankType is the type of a problem about which the status says it all (RFC 9457, 4.2.1).
const blankType = "about:blank"

// maxProblem is the largest size of a problem in bytes; anything larger is not meant for people.
const maxProblem = 1 << 20

// adaptProblem prepares a problem document (RFC 9457) of a service for clients: instance becomes the path as the client
// sent it, the instance that failed is named, and of an internal one (see [bus.IsInternal]) all is removed that a service says
// of it: the detail, the type, and members of its own. A problem that cannot be parsed is passed on unchanged, unless it may be
// internal.
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
	if err != nil && (mayBeInternal(response.StatusCode) || bytes.Contains(body, []byte(`"internal"`))) {
		problem, err, internal = standIn(response.StatusCode), nil, true
		response.Header.Del("Content-Encoding") // of the body that could not be read
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

// mayBeInternal says whether the bus uses this status for errors that have no status of their own.
func mayBeInternal(status int) bool {
	switch status {
	case http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	default:
		return false
	}
}

// standIn returns a problem that replaces one that cannot be parsed.
func standIn(status int) object {
	return object{{"type", quote(blankType)}, {"status", jsontext.Value(strconv.Itoa(status))}}
}

func parseProblem(body []byte) (object, error) {
	if len(body) > maxProblem {
		return nil, errNoObject
	}
	return parseObject(body)
}

// withhold removes from a problem what may reveal internals. It keeps the status and who failed, if they have valid values.
// Other members may be anything, such as a stack trace, and so may a title and a type.
func (o *object) withhold(status int) {
	*o = slices.DeleteFunc(*o, func(m member) bool {
		switch m.name {
		case "host", "id", "msgId", "traceId":
			return m.value.Kind() != '"'
		case "type": // is set below, where it stands
			return false
		case "status":
			return m.value.Kind() != '0'
		default:
			return true
		}
	})
	o.set("type", blankType)
	o.set("title", http.StatusText(status))
}

// sayWhoFailed names the instance that responded, unless the problem names one.
func (o *object) sayWhoFailed(header http.Header) {
	if o.text("host") == "" {
		o.set("host", header.Get("Bus-From-Host"))
		o.set("id", header.Get("Bus-From-Id"))
		o.set("msgId", header.Get("Bus-Msg-Id"))
	}
}

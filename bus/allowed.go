package bus

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/restmap/strictjson"
)

// allowPath is where a host tells under which methods a path is served.
const allowPath = "/allow"

// newAllowed asks a host under which methods it serves a path.
func newAllowed(address subject.Address) (*outgoing, error) {
	query := url.Values{"port": {strconv.Itoa(address.Port)}, "path": {address.Path}}
	return newOutgoing(http.MethodGet, &url.URL{
		Scheme: "https", Host: address.Host + ":" + strconv.Itoa(controlPort), Path: allowPath, RawQuery: query.Encode(),
	}, nil, nil)
}

// parseAllowed reads the answer; an error when it is none.
func parseAllowed(body []byte) (methods []string, err error) {
	var answer struct {
		Methods []string `json:"methods"`
	}
	err = strictjson.Unmarshal(body, &answer)
	return answer.Methods, err
}

// errUntold says that a host does not tell what it serves.
var errUntold = errors.New("the host does not tell what it serves")

// askAllowed asks a host under which methods it serves a path, and returns the instance that has answered, too; errAbsent
// when nobody is there.
func (c *Conn) askAllowed(ctx context.Context, address subject.Address, ends time.Time) (methods []string, by peer, err error) {
	if address.Port == controlPort && address.Path == allowPath {
		return nil, peer{}, errAbsent // a host that does not answer this is not there
	}
	question, err := newAllowed(address)
	if err == nil {
		err = c.seal(ctx, question)
	}
	if err != nil {
		return nil, peer{}, err
	}
	question.CallDepth = min(question.CallDepth, wire.MaxCallDepth) // it calls nobody: a host answers it at any depth
	response, err := c.attempt(ctx, question, ends)
	switch {
	case err != nil:
		return nil, peer{}, err
	case response.Status != http.StatusOK:
		return nil, peer{}, errUntold
	}
	c.responders.heard(response.FromHost)
	methods, err = parseAllowed(response.Body)
	return methods, senderOf(response), err
}

// absentResponse is what the instance that was asked would have answered itself, had the broker delivered the request.
func (c *Conn) absentResponse(request *outgoing, methods []string, by peer) *wire.Response {
	refused := absent(request.address, methods)
	refused.Host, refused.ID, refused.MsgID = by.host, by.id, request.MsgID
	refused.TraceID, refused.Path = traceIDOf(request.Header), request.address.Path
	response := refused.response()
	response.OpCode, response.FromHost, response.FromID, response.MsgID, response.Queue = wire.OpRes, by.host, by.id, request.MsgID, by.host
	return response
}

// noResponder is the error of a request that nobody takes, as the last attempt has found.
func (c *Conn) noResponder(request *outgoing, last error) *Error {
	failed := newError(http.StatusServiceUnavailable, ExecutedNo, ErrNoResponder,
		"nobody serves %s on port %d in plane %s", request.address.Host, request.address.Port, c.plane)
	if gone, left := errors.AsType[leftError](last); left {
		failed.Detail = gone.Error()
	}
	failed.MsgID = request.MsgID
	return failed
}

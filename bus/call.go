package bus

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/restmap/strictjson"
)

// Args are the arguments of a call by name.
type Args map[string]any

// Call calls a function endpoint by its address, "https://calculator.example/add", and decodes what it answers.
//
// The arguments, [Args] or a struct with json tags, travel as one JSON object; nil stands for none. The names have to be
// those of the function: it ignores what it does not know, and takes what is missing as zero. The result points to what
// fits the response: a struct or a map with a field for each return value, in any case of letters, or a slice where a
// REST endpoint answers with a list; nil ignores what comes. By default the method is POST; another stands in front of
// the address, "GET https://products.example/products/1": with GET, HEAD and DELETE the arguments travel as query.
//
// A response of status 400 or above, and every failure on the way, is an [*Error]. The call takes as long as
// ctx allows: within a handler what is left of the time budget, else 20 s unless ctx ends earlier or later; 600 s at
// most.
func Call(ctx context.Context, conn *Conn, address string, arguments, result any) error {
	if target := reflect.ValueOf(result); result != nil && (target.Kind() != reflect.Pointer || target.IsNil()) {
		return newError(http.StatusBadRequest, NotExecuted, nil, "the result of %s is to go into a %T: hand over a pointer that is not nil", address, result)
	}
	request, err := newCall(address, arguments)
	if err != nil {
		return unsent(err)
	}
	response, err := conn.roundTrip(ctx, request)
	if err != nil {
		return err
	}
	if response.Status >= http.StatusBadRequest {
		return responseError(response)
	}
	if result == nil || len(response.Body) == 0 {
		return nil
	}
	if err := strictjson.UnmarshalAnyCase(response.Body, result); err != nil {
		return newError(http.StatusBadGateway, WasExecuted, err, "the response of %s does not fit %T: %s", address, result, err)
	}
	return nil
}

// newCall builds the request of a call.
func newCall(address string, arguments any) (*outgoing, error) {
	method := http.MethodPost
	if before, after, ok := strings.Cut(address, " "); ok {
		method, address = before, after
	}
	to, err := url.Parse(address)
	if err != nil {
		return nil, newError(http.StatusBadRequest, NotExecuted, err, "address %q is not a URL", address)
	}
	var body []byte
	if arguments != nil {
		if body, err = strictjson.Marshal(arguments); err != nil {
			return nil, newError(http.StatusBadRequest, NotExecuted, err, "the arguments cannot be written as JSON: %s", err)
		}
	}
	switch {
	case method == http.MethodGet, method == http.MethodHead, method == http.MethodDelete:
		if err := addQuery(to, body); err != nil {
			return nil, err
		}
		return newOutgoing(method, to, nil, nil)
	case body == nil:
		return newOutgoing(method, to, nil, nil)
	default:
		return newOutgoing(method, to, wire.Header{{Name: "Content-Type", Value: "application/json"}}, body)
	}
}

// addQuery writes the members of a JSON object into the query.
func addQuery(to *url.URL, object []byte) error {
	if object == nil {
		return nil
	}
	var members map[string]json.RawMessage
	if err := strictjson.Unmarshal(object, &members); err != nil {
		return newError(http.StatusBadRequest, NotExecuted, err, "the arguments of a query are the fields of an object: %s", err)
	}
	query := to.Query()
	for name, value := range members {
		query.Del(name)
		for _, text := range queryTexts(value) {
			query.Add(name, text)
		}
	}
	to.RawQuery = query.Encode()
	return nil
}

// queryTexts returns how a JSON value is written in a query: null is left out, a text stands for itself, an array is
// repeated value by value, and anything else stays JSON, so that no number loses a digit.
func queryTexts(value json.RawMessage) (texts []string) {
	var (
		text  string
		items []json.RawMessage
	)
	switch {
	case string(value) == "null":
	case strictjson.Unmarshal(value, &text) == nil:
		texts = append(texts, text)
	case strictjson.Unmarshal(value, &items) == nil:
		for _, item := range items {
			texts = append(texts, queryTexts(item)...)
		}
	default:
		texts = append(texts, string(value))
	}
	return texts
}

// newOutgoing addresses a request. HEAD travels as GET, and the caller drops the body.
func newOutgoing(method string, to *url.URL, header wire.Header, body []byte) (*outgoing, error) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	address, err := subject.FromURL(method, to)
	if err != nil {
		return nil, err
	}
	target := address.Path
	if to.RawQuery != "" {
		target += "?" + to.RawQuery
	}
	return &outgoing{
		address: address,
		Request: wire.Request{Method: method, Target: target, Host: address.Host, Header: header, Body: body},
	}, nil
}

// seal gives a request all that depends on who sends it and when. An error means that it must not leave.
func (c *Conn) seal(ctx context.Context, request *outgoing) (err error) {
	request.FromHost, request.FromID = c.host, c.id
	if request.subject, err = request.address.Subject(c.plane); err != nil {
		return unsent(err)
	}
	continueChain(ctx, &request.Request)
	if err := fits(request.Target, request.Header); err != nil {
		return unsent(err)
	}
	return nil
}

// fits refuses a head that nobody would accept, on either transport: see [wire.MaxHeadBytes].
func fits(target string, header wire.Header) error {
	const ownBytes, ownFields = 2 << 10, 16 // what the bus adds, and some
	size := ownBytes + len(target)
	for _, field := range header {
		size += len(field.Name) + len(field.Value) + len(": \r\n")
	}
	if size <= wire.MaxHeadBytes && len(header)+ownFields <= wire.MaxFields {
		return nil
	}
	return newError(http.StatusRequestHeaderFieldsTooLarge, NotExecuted, nil, "the head has %d fields and about %d bytes; the limits are %d and %d",
		len(header)+ownFields, size, wire.MaxFields, wire.MaxHeadBytes)
}

// stamp makes an attempt of a request: an id of its own, and the time that is left now.
func stamp(ctx context.Context, request *outgoing) *outgoing {
	attempt := *request
	attempt.MsgID = rand.Text() // 130 bits
	attempt.TimeBudget = budget(ctx).Truncate(time.Millisecond)
	return &attempt
}

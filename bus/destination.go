package bus

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/restmap"
	"github.com/busline/busline/restmap/strictjson"
)

// destination is the address of a function, "PUT https://products.example/products/{id}", taken apart. It turns
// arguments into requests, and does not change.
type destination struct {
	method     string
	address    string    // the URL, with {name} where an argument goes into its path
	parameters []string  // those names, {name+} as "name+"
	template   *outgoing // a request without arguments; nil when there are parameters
	inQuery    inQuery   // how arguments travel in a query

	json wire.Header // of requests with a body
	from *Conn       // whose calls go there; nil until settled
}

// parameterPattern matches what stands for an argument in a path: {id}, and {rest+} for several segments.
var parameterPattern = regexp.MustCompile(`\{([^/{}+]+\+?)\}`)

func parseDestination(address string) (*destination, error) {
	to := &destination{method: http.MethodPost, address: address, json: jsonContent()}
	if before, after, ok := strings.Cut(address, " "); ok {
		to.method, to.address = before, after
	}
	parsed, err := url.Parse(to.address)
	if err != nil {
		return nil, newError(http.StatusBadRequest, ExecutedNo, err, "address %q is not a URL", to.address)
	}
	to.parameters = parametersOf(to.address)
	if len(to.parameters) == 0 {
		to.template, err = newOutgoing(to.method, parsed, nil, nil)
	}
	return to, err
}

// settle notes, for what has no parameters, the subject and what the requests of one caller begin with.
func (d *destination) settle(c *Conn) (err error) {
	if d.template == nil {
		return nil
	}
	d.from = c
	model := d.template.Request
	model.FromHost, model.FromID = c.host, c.id
	if !d.takesQuery() {
		model.Header = d.json
	}
	d.template.head = wire.NewRequestHead(&model)
	d.template.subject, err = d.template.address.Subject(c.plane)
	return err
}

func parametersOf(address string) (names []string) {
	path, _, _ := strings.Cut(address, "?")
	if !strings.Contains(path, "{") {
		return nil
	}
	for _, match := range parameterPattern.FindAllStringSubmatch(path, -1) {
		names = append(names, match[1])
	}
	return names
}

// request writes arguments into a request. Those that the path names go there, and httpRequestBody is the body, as on the
// other side. The rest is the JSON body, or with GET, HEAD and DELETE the query; but not when that would lose something,
// as it does with an empty text in a list.
func (d *destination) request(arguments any) (*outgoing, error) {
	if arguments == nil && d.template != nil {
		return d.fill(nil), nil
	}
	object, err := strictjson.Marshal(arguments)
	if err != nil {
		return nil, newError(http.StatusBadRequest, ExecutedNo, err, "the arguments cannot be written as JSON: %s", err)
	}
	if d.template != nil && !d.takesQuery() && !bytes.Contains(object, []byte(`"`+restmap.RequestBody+`"`)) {
		return d.fill(object), nil
	}
	var members map[string]json.RawMessage
	if err := strictjson.Unmarshal(object, &members); err != nil {
		return nil, newError(http.StatusBadRequest, ExecutedNo, err, "the arguments of %s %s must be a JSON object, as from a struct or bus.Args: %s", d.method, d.address, err)
	}
	return d.spread(members)
}

func (d *destination) takesQuery() bool {
	return d.method == http.MethodGet || d.method == http.MethodHead || d.method == http.MethodDelete
}

// hasQuery says whether the address has arguments of its own; it has a template.
func (d *destination) hasQuery() bool { return strings.Contains(d.template.Target, "?") }

// fill is the short way: all arguments are in the body.
func (d *destination) fill(body []byte) *outgoing {
	request := d.unused()
	*request = *d.template
	request.reusable = true
	if body != nil {
		request.Header, request.Body = d.json, body
	}
	return request
}

// unused returns a request whose fields are all to be set.
func (d *destination) unused() *outgoing {
	if d.from == nil {
		return new(outgoing)
	}
	return unused[outgoing](&d.from.link.spare.outgoing)
}

func jsonContent() wire.Header {
	return wire.Header{{Name: "Content-Type", Value: "application/json"}}
}

// spread is the long way: each argument goes where it belongs.
func (d *destination) spread(members map[string]json.RawMessage) (*outgoing, error) {
	filled, err := d.fillPath(members)
	if err != nil {
		return nil, err
	}
	to, err := url.Parse(filled)
	if err != nil {
		return nil, newError(http.StatusBadRequest, ExecutedNo, err, "address %q is not a URL", filled)
	}
	body, whole := members[restmap.RequestBody]
	delete(members, restmap.RequestBody)
	switch {
	case whole || d.takesQuery() && d.inQuery.holds(members):
		query := to.Query()
		if name := d.inQuery.add(query, members); name != "" {
			return nil, newError(http.StatusBadRequest, ExecutedNo, nil,
				"argument %s of %s %s goes into the query: there it must be a list without null and empty texts", name, d.method, d.address)
		}
		to.RawQuery = query.Encode()
	case len(members) > 0:
		if body, err = strictjson.Marshal(members); err != nil {
			return nil, newError(http.StatusBadRequest, ExecutedNo, err, "the arguments cannot be written as JSON: %s", err)
		}
	}
	if len(body) == 0 {
		return newOutgoing(d.method, to, nil, nil)
	}
	return newOutgoing(d.method, to, jsonContent(), body)
}

// fillPath puts arguments into the path, and takes them out of the members.
func (d *destination) fillPath(members map[string]json.RawMessage) (string, error) {
	filled := d.address
	for _, parameter := range d.parameters {
		name, rest := strings.CutSuffix(parameter, "+")
		text, ok := pathText(members[name])
		if !ok {
			return "", newError(http.StatusBadRequest, ExecutedNo, nil,
				"argument %s of %s %s is part of the path: it must be a non-empty string, a number or a boolean", name, d.method, d.address)
		}
		delete(members, name)
		segments := []string{text}
		if rest {
			segments = strings.Split(text, "/")
		}
		for i, segment := range segments {
			segments[i] = url.PathEscape(segment)
		}
		filled = strings.Replace(filled, "{"+parameter+"}", strings.Join(segments, "/"), 1)
	}
	return filled, nil
}

// pathText returns how a JSON value is written in a path; false for what does not fit there.
func pathText(value json.RawMessage) (text string, ok bool) {
	if len(value) == 0 || strings.IndexByte("{[n", value[0]) >= 0 {
		return "", false
	}
	if strictjson.Unmarshal(value, &text) != nil {
		text = string(value)
	}
	return text, text != ""
}

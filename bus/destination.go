package bus

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/reflectapi/strictjson"
	"github.com/busline/busline/restmap"
)

// destination is a parsed address of a function, "PUT https://products.example/products/{id}". It encodes arguments to
// requests. It is immutable once bound.
type destination struct {
	method     string
	address    string      // the URL, with {name} for an argument in its path
	parameters []string    // the names in the path, {name+} as "name+"
	template   *clientCall // a request without arguments; nil if there are parameters
	inQuery    inQuery     // the encoding of arguments in a query
	route      string      // the path, "/products/{id}"; "" if a program may call any number of such addresses

	json wire.Header // of requests with a body
	from *Conn       // the connection that calls it; nil until bound
}

// parameterPattern matches a parameter in a path: {id}, or {rest+} for several segments.
var parameterPattern = regexp.MustCompile(`\{([^/{}+]+\+?)\}`)

func parseDestination(address string) (*destination, error) {
	to := &destination{method: http.MethodPost, address: address, json: jsonContent()}
	if before, after, ok := strings.Cut(address, " "); ok {
		to.method, to.address = before, after
	}
	parsed, err := url.Parse(to.address)
	if err != nil {
		return nil, notRun(http.StatusBadRequest, err, "address %q is not a URL", to.address)
	}
	to.parameters = parametersOf(to.address)
	if len(to.parameters) == 0 {
		to.template, err = newClientCall(to.method, parsed, nil, nil)
	} else {
		to.route = pathOf(to.address)
	}
	return to, err
}

// pathOf returns the path of an address as it is written, with its parameters.
func pathOf(address string) string {
	_, below, _ := strings.Cut(address, "://")
	path, _, _ := strings.Cut(below, "?")
	slash := strings.IndexByte(path, '/')
	if slash < 0 {
		return "/"
	}
	return path[slash:]
}

// bind sets, for an address without parameters, the subject and the head shared by all requests of one connection.
func (d *destination) bind(c *Conn) (err error) {
	if d.template == nil {
		return nil
	}
	d.from = c
	model := d.template.Request
	model.FromHost, model.FromID = c.host, c.id
	if !d.takesQuery() {
		model.Header = d.json
	}
	d.template.Head = wire.NewRequestHead(&model)
	d.template.Subject, err = d.template.Address.Subject(c.plane)
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

// request encodes arguments into a request. Arguments that the path names go there, and httpRequestBody is the body, as
// on the server. The others go into the JSON body, or with GET, HEAD and DELETE into the query; but all into the body
// if one of them is a list or an object, and into both if the query leaves open what one of them is.
func (d *destination) request(arguments any) (*clientCall, error) {
	if arguments == nil && d.template != nil {
		return d.withBody(nil), nil
	}
	object, err := strictjson.Marshal(arguments)
	if err != nil {
		return nil, notRun(http.StatusBadRequest, err, "the arguments cannot be written as JSON: %s", err)
	}
	if d.template != nil && !d.takesQuery() && !bytes.Contains(object, []byte(`"`+restmap.RequestBody+`"`)) {
		return d.withBody(object), nil
	}
	var members map[string]json.RawMessage
	if err := strictjson.Unmarshal(object, &members); err != nil {
		return nil, notRun(http.StatusBadRequest, err,
			"the arguments of %s %s must be a JSON object, as from a struct or bus.Args: %s", d.method, d.address, err)
	}
	return d.encodeMembers(members)
}

func (d *destination) takesQuery() bool {
	return d.method == http.MethodGet || d.method == http.MethodHead || d.method == http.MethodDelete
}

// hasQuery reports whether the address itself contains arguments. The destination must have a template.
func (d *destination) hasQuery() bool { return strings.Contains(d.template.Target, "?") }

// withBody returns a request with all arguments in the body. It is the fast path.
func (d *destination) withBody(body []byte) *clientCall {
	request := d.unused()
	*request = *d.template
	request.reusable, request.route = true, d.route
	if body != nil {
		request.Header, request.Body = d.json, body
	}
	return request
}

// unused returns a request from the pool; the caller has to set all its fields.
func (d *destination) unused() *clientCall {
	if d.from == nil {
		return new(clientCall)
	}
	return unused[clientCall](&d.from.shared.spare.outgoing)
}

func jsonContent() wire.Header {
	return wire.Header{{Name: "Content-Type", Value: "application/json"}}
}

// encodeMembers returns a request with each argument in the path, the query or the body. It is the slow path.
func (d *destination) encodeMembers(members map[string]json.RawMessage) (*clientCall, error) {
	filled, err := d.fillPath(members)
	if err != nil {
		return nil, err
	}
	to, err := url.Parse(filled)
	if err != nil {
		return nil, notRun(http.StatusBadRequest, err, "address %q is not a URL", filled)
	}
	body, whole := members[restmap.RequestBody]
	delete(members, restmap.RequestBody)
	switch {
	case whole || d.takesQuery() && isFlat(members):
		if open := d.inQuery.open(members); !whole && len(open) > 0 {
			if body, err = strictjson.Marshal(open); err != nil {
				return nil, notRun(http.StatusBadRequest, err, "the arguments cannot be written as JSON: %s", err)
			}
		}
		query := to.Query()
		if name := d.inQuery.add(query, members); name != "" {
			return nil, notRun(http.StatusBadRequest, nil,
				"argument %s of %s %s goes into the query: there it must be a list without null and empty texts", name,
				d.method, d.address)
		}
		to.RawQuery = query.Encode()
	case len(members) > 0:
		if body, err = strictjson.Marshal(members); err != nil {
			return nil, notRun(http.StatusBadRequest, err, "the arguments cannot be written as JSON: %s", err)
		}
	}
	var header wire.Header
	if len(body) > 0 {
		header = jsonContent()
	}
	request, err := newClientCall(d.method, to, header, body)
	if err != nil {
		return nil, err
	}
	request.route = d.route
	return request, nil
}

// fillPath puts arguments into the path, and removes them from the members.
func (d *destination) fillPath(members map[string]json.RawMessage) (string, error) {
	filled := d.address
	for _, parameter := range d.parameters {
		name, rest := strings.CutSuffix(parameter, "+")
		text, ok := pathText(members[name])
		if !ok {
			return "", notRun(http.StatusBadRequest, nil,
				"argument %s of %s %s is part of the path: it must be a non-empty string, a number or a boolean", name,
				d.method, d.address)
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

// pathText returns a JSON value as text for a path; false if a path cannot hold it.
func pathText(value json.RawMessage) (text string, ok bool) {
	if len(value) == 0 || strings.IndexByte("{[n", value[0]) >= 0 {
		return "", false
	}
	if strictjson.Unmarshal(value, &text) != nil {
		text = string(value)
	}
	return text, text != ""
}

// destinations caches the parsed addresses that a connection has called.
type destinations struct {
	conn *Conn

	mu    sync.RWMutex // protects known
	known map[string]*destination
}

// maxDestinations limits the cache. A program that calls more addresses, for example with an id in their text, parses
// them again.
const maxDestinations = 1024

func newDestinations(c *Conn) *destinations {
	return &destinations{conn: c, known: make(map[string]*destination)}
}

// destinationOf returns the destination of an address. It returns an error if the address or the type of the arguments
// is invalid.
func (c *Conn) destinationOf(address string, arguments reflect.Type) (*destination, error) {
	if err := c.plans.checkTags(arguments); err != nil {
		return nil, err
	}
	return c.plans.destinations.find(address)
}

// newDestination returns the destination of an address that is fixed in a program. It returns an error if the address
// or the type of the arguments is invalid.
func (c *Conn) newDestination(address string, arguments reflect.Type) (*destination, error) {
	to, err := parseDestination(address)
	if err != nil {
		return nil, err
	}
	to.route, to.inQuery = pathOf(to.address), inQueryOf(arguments)
	if err := c.plans.checkTags(arguments); err != nil {
		return nil, err
	}
	return to, to.bind(c)
}

// find returns the destination of an address. It returns an error if the address is invalid.
func (d *destinations) find(address string) (*destination, error) {
	d.mu.RLock()
	to := d.known[address]
	d.mu.RUnlock()
	if to != nil {
		return to, nil
	}
	to, err := parseDestination(address)
	if err == nil {
		err = to.bind(d.conn)
	}
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for other := range d.known {
		if len(d.known) < maxDestinations {
			break
		}
		delete(d.known, other)
	}
	d.known[address] = to
	return to, nil
}

// inQuery is the encoding of arguments in a query. In a query 5 and "5" are one text, so the types of the arguments
// matter. The zero value stands for unknown types.
type inQuery struct {
	json map[string]bool // arguments that are encoded as JSON
}

// inQueryOf returns the encoding for the fields of a struct.
func inQueryOf(arguments reflect.Type) (in inQuery) {
	if arguments.Kind() != reflect.Struct {
		return in
	}
	in.json = make(map[string]bool)
	members := schema.JSONMembers(arguments)
	for _, member := range members {
		in.json[member.Name] = !restmap.IsText(member.Type)
	}
	return in
}

// isFlat reports whether all members are plain texts, numbers, booleans and null.
func isFlat(members map[string]json.RawMessage) bool {
	for _, value := range members {
		if isContainer(value) {
			return false
		}
	}
	return true
}

// open returns the members whose type a query leaves open: null, a text that is empty or reads as JSON. An argument
// of type any can be all of them.
func (in inQuery) open(members map[string]json.RawMessage) map[string]json.RawMessage {
	open := make(map[string]json.RawMessage)
	for name, value := range members {
		var text string
		isText := value[0] == '"' && strictjson.Unmarshal(value, &text) == nil
		if string(value) == "null" || isText && (in.json[name] || text == "" || readsAsJSON(text)) {
			open[name] = value
		}
	}
	return open
}

// readsAsJSON reports whether a text may be taken for a JSON value.
func readsAsJSON(text string) bool {
	return strings.ContainsAny(text[:1], "{[\"") || json.Valid([]byte(text))
}

// add writes members into a query, replacing values of the same name. It returns the name of a member that would lose
// something, "" if there is none.
func (in inQuery) add(query url.Values, members map[string]json.RawMessage) (lossy string) {
	for name, value := range members {
		texts, whole := in.texts(name, value)
		if !whole {
			return name
		}
		query.Del(name)
		for _, text := range texts {
			query.Add(name, text)
		}
	}
	return ""
}

// texts returns the encoding of a JSON value in a query: null is omitted, a text stands for itself, a list of texts and
// numbers becomes repeated values, and anything else stays JSON, so that no number loses a digit. whole is false if the
// list would lose an element.
func (in inQuery) texts(name string, value json.RawMessage) (texts []string, whole bool) {
	var (
		text  string
		items []json.RawMessage
	)
	switch {
	case string(value) == "null":
		return nil, true
	case in.json[name]:
		return []string{string(value)}, true
	case strictjson.Unmarshal(value, &text) == nil:
		return []string{text}, true
	case strictjson.Unmarshal(value, &items) != nil || slices.ContainsFunc(items, isContainer):
		return []string{string(value)}, true
	}
	for _, item := range items {
		if strictjson.Unmarshal(item, &text) != nil {
			text = string(item)
		}
		if text == "" { // or null
			return nil, false
		}
		texts = append(texts, text)
	}
	return texts, true
}

func isContainer(value json.RawMessage) bool { return value[0] == '{' || value[0] == '[' }

// targetOf returns the request target: the path and the query, in the form that the query has after its way over the
// broker. It escapes blanks and control bytes, which net/url accepts; every decoder reads the same value.
func targetOf(path, query string) string {
	if query == "" {
		return path
	}
	return path + "?" + escapeControls(query)
}

func escapeControls(query string) string {
	if strings.IndexFunc(query, isControl) < 0 {
		return query
	}
	var escaped strings.Builder
	for i := range len(query) {
		if c := query[i]; isControl(rune(c)) {
			fmt.Fprintf(&escaped, "%%%02X", c)
		} else {
			escaped.WriteByte(c)
		}
	}
	return escaped.String()
}

// isControl reports whether a request line cannot hold a character: all ASCII except visible characters.
func isControl(c rune) bool { return c <= ' ' || c == '\x7f' }

// checkTags is untagged, which it calls once for each type.
func (p *callPlans) checkTags(arguments reflect.Type) error {
	known, ok := p.untagged.Load(arguments)
	if !ok {
		known, _ = p.untagged.LoadOrStore(arguments, untagged(arguments))
	}
	err, _ := known.(error)
	return err
}

// untagged returns an error for a struct of arguments with a field that has no json tag. The field would travel under
// its Go name, "Text", which is hardly the name of an argument; the callee ignores unknown names, so the argument would
// be zero.
//
// Only the fields of the struct itself and of embedded structs are checked, not those of nested values: a type such as
// struct{ X int } in a signature of a service has the member "X", and the caller's type may have to match it.
func untagged(arguments reflect.Type) error {
	for arguments != nil && arguments.Kind() == reflect.Pointer && !writesItself(arguments) {
		arguments = arguments.Elem()
	}
	if arguments == nil || arguments.Kind() != reflect.Struct || writesItself(arguments) {
		return nil
	}
	if hidden := schema.HiddenMember(arguments); hidden != "" {
		return notRun(http.StatusBadRequest, nil, "%s", hidden)
	}
	members := schema.JSONMembers(arguments)
	for _, member := range members {
		within := arguments
		for _, embedded := range member.Index[:len(member.Index)-1] {
			if within = within.Field(embedded).Type; within.Kind() == reflect.Pointer {
				within = within.Elem()
			}
		}
		field := within.Field(member.Index[len(member.Index)-1])
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name == "" && !field.Anonymous {
			return notRun(http.StatusBadRequest, nil,
				"field %s of %s has no json tag and would be sent as %q: tag it with the name of the argument, such as `json:%q`",
				field.Name, within, field.Name, strings.ToLower(field.Name[:1])+field.Name[1:])
		}
	}
	return nil
}

// writesItself reports whether a type has its own JSON encoding.
func writesItself(written reflect.Type) bool {
	_, streams := written.MethodByName("MarshalJSONTo")
	return streams || written.Implements(reflect.TypeFor[json.Marshaler]()) ||
		written.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/reflectapi/similar"
	"github.com/busline/busline/restmap/openapi"
)

// target has the flags that say what is called.
type target struct {
	method, instance string
	header           http.Header
}

func (t *target) register(set *pflag.FlagSet) {
	set.StringVarP(&t.method, "method", "X", "", "HTTP `method`, instead of the one in the document")
	set.StringVar(&t.instance, "instance", "", "`id` of the instance to call, as busline ls shows it")
	set.FuncP("header", "H", "`header` to send, 'Name: value'; may be repeated", func(text string) error {
		name, value, ok := strings.Cut(text, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || len(wire.FromHTTP(http.Header{name: {value}})) == 0 { // it would be left out
			return errors.New("a header that is for callers to set, such as Accept: text/plain")
		}
		if t.header == nil {
			t.header = make(http.Header)
		}
		t.header.Add(name, value)
		return nil
	})
}

// prepare converts operands to a request.
func (t *target) prepare(ctx context.Context, s *session, operands []string) (*prepared, error) {
	if len(operands) == 0 {
		return nil, misuse("name what to call, as in: %s calculator.example/add x=5 y=6", s.command)
	}
	to, err := parseAddress(operands[0])
	if err != nil {
		return nil, err
	}
	if t.instance != "" {
		if err := subject.CheckID(t.instance); err != nil {
			return nil, misuse("--instance: %w", err)
		}
		to.host = t.instance + "." + to.host
	}
	method := strings.ToUpper(t.method)
	if method != "" && subject.CheckMethod(method) != nil {
		return nil, misuse("-X %s: a method is a word such as GET", t.method)
	}
	args, err := parseArguments(ctx, operands[1:], s.files())
	if err != nil {
		return nil, err
	}
	planned, err := s.resolve(ctx, to, method, args)
	if err != nil {
		return nil, err
	}
	header := t.header
	if header == nil {
		header = make(http.Header)
	}
	draft, err := planned.prepare(args, header)
	if err == nil && s.ReadOnly && !planned.operation.onlyReads(draft.method) {
		err = misuse("%s %s may change something, as it is neither GET in the document nor declared "+
			"//busline:tool readOnly: %s", draft.method, planned.to, withWrite)
	}
	return draft, err
}

// onlyReads reports whether the document of a host promises that a call by a method changes nothing. What no document
// describes may.
func (o *operation) onlyReads(method string) bool {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if o == nil || method != o.method {
		return false
	}
	if o.Tool != nil && o.Tool.ReadOnly != nil {
		return *o.Tool.ReadOnly
	}
	return method == http.MethodGet
}

// plan is what is known of a call before its arguments are considered.
type plan struct {
	to        address
	method    string            // "" until the operation is chosen
	operation *operation        // nil if no document describes it
	inPath    map[string]string // values in the address for {parameters}
}

// resolve finds out which operation is called: from the document of the host, or, if that does not have the path or
// cannot be read, by asking the host whether it serves the path nevertheless. A method from the command line takes
// precedence.
func (s *session) resolve(ctx context.Context, to address, method string, args arguments) (*plan, error) {
	if to.host == "all" || to.port == subject.ControlPort || to.path == "/openapi.json" {
		return &plan{to: to, method: method}, nil // no document describes these
	}
	known, err := s.fetch(ctx, to.host, to.port)
	switch {
	case errors.Is(err, errUndescribed):
		return s.undescribed(ctx, to, method, nil)
	case errors.Is(err, errUnreadable): // which is not a reason not to call
		s.notef("%s; arguments are sent as text", cleanLine(err.Error()))
		return s.undescribed(ctx, to, method, nil)
	case err != nil:
		return nil, err
	}
	found := matching(known.document, to.path)
	if len(found) == 0 {
		return s.undescribed(ctx, to, method, operationsOf(known.document))
	}
	chosen, err := choose(found, to, method, args)
	if err != nil {
		return nil, err
	}
	values, _, _ := chosen.match(to.path)
	p := &plan{to: to, method: method, operation: chosen, inPath: values}
	if p.method == "" {
		p.method = chosen.method
	}
	return p, nil
}

// undescribed plans a call that no document describes: the path is hidden, or the caller may not call it. The host
// knows whether the path exists; if not, the error lists those that do.
func (s *session) undescribed(ctx context.Context, to address, method string, known []operation) (*plan, error) {
	methods, err := s.allowed(ctx, to)
	switch {
	case err != nil:
		return nil, err
	case len(methods) == 0 && to.port != plainPort:
		return nil, cmp.Or(s.otherPort(ctx, to), s.unknownPath(to, known))
	case len(methods) == 0:
		return nil, s.unknownPath(to, known)
	case method == "" && slices.Contains(methods, http.MethodGet):
		method = http.MethodGet
	case method == "":
		method = methods[0]
	}
	return &plan{to: to, method: method}, nil
}

// allowed asks a host for the methods of a path: none if it does not serve the path, or does not support the question.
func (s *session) allowed(ctx context.Context, to address) (methods []string, err error) {
	query := url.Values{"port": {strconv.Itoa(to.port)}, "path": {to.path}}
	response, text, err := s.get(ctx, fmt.Sprintf("%s:%d/allow?%s", to.host, subject.ControlPort, query.Encode()))
	if err != nil || response.StatusCode != http.StatusOK {
		return nil, err
	}
	var answer struct {
		Methods []string `json:"methods"`
	}
	if json.Unmarshal(text, &answer) == nil {
		methods = answer.Methods
	}
	return methods, nil
}

// otherPort returns the error for a path that a host serves on another port, or for a port on which it serves nothing;
// nil if it is neither.
func (s *session) otherPort(ctx context.Context, to address) error {
	instances, err := s.discover(ctx, to.host)
	if err != nil {
		return nil //nolint:nilerr // it is only a hint
	}
	notServed := portless(to, instances)
	for _, port := range portsOf(instances) {
		there := to
		if there.port = port; port == to.port {
			continue
		}
		if methods, err := s.allowed(ctx, there); err == nil && len(methods) > 0 {
			elsewhere := &failure{status: misused, err: fmt.Errorf("%s serves %s on port %d, not on %d: write %s", to.host,
				to.path, port, to.port, there)}
			if notServed != nil {
				elsewhere.status = absent
			}
			return elsewhere
		}
	}
	return notServed
}

// unknownPath returns the error for a path that a host does not serve.
func (s *session) unknownPath(to address, known []operation) error {
	var paths []string
	for _, each := range known {
		if !slices.Contains(paths, each.path) {
			paths = append(paths, each.path)
		}
	}
	text := fmt.Sprintf("%s serves nothing at %s", to.place(), to.path)
	if len(paths) == 0 && to.port == plainPort {
		return misuse("%s; http:// means port %d, leave it out for port %d", text, plainPort, subject.PublicPort)
	}
	if len(paths) == 0 {
		return misuse("%s, and shows no other paths%s", text, s.withoutToken())
	}
	return misuse("%s; its paths are %s%s%s", text, enumerated(paths), s.withoutToken(),
		similar.DidYouMean(to.path, paths))
}

// withoutToken is a reminder that some operations are shown only with a token.
func (s *session) withoutToken() string {
	if s.token() == "" {
		return " (seen without a token)"
	}
	return ""
}

// matching returns the operations of the path that matches best.
func matching(document *openapi.Document, path string) (found []*operation) {
	best := -1
	for _, each := range operationsOf(document) {
		_, literal, ok := each.match(path)
		switch {
		case !ok || literal < best:
			continue
		case literal > best:
			found, best = nil, literal
		}
		if len(found) == 0 || found[0].path == each.path {
			found = append(found, &each)
		}
	}
	return found
}

// choose picks one operation of a path. Without a method from the command line it is GET, unless only others take the
// arguments; it does not choose among several others, because they may change things.
func choose(found []*operation, to address, method string, args arguments) (*operation, error) {
	if len(found) == 1 {
		return found[0], nil
	}
	if method != "" {
		listed := method
		if method == http.MethodHead {
			listed = http.MethodGet
		}
		if at := slices.IndexFunc(found, func(o *operation) bool { return o.method == listed }); at >= 0 {
			return found[at], nil
		}
		return found[0], nil // the service refuses the method in its own words
	}
	fit := slices.DeleteFunc(slices.Clone(found), func(o *operation) bool { return !o.takesAt(to.path, args) })
	if len(fit) == 0 { // an argument that is in the path already is reported for the operation chosen without it
		fit = slices.DeleteFunc(slices.Clone(found), func(o *operation) bool { return !o.takes(args) })
	}
	switch {
	case len(fit) == 1, len(fit) > 1 && fit[0].method == http.MethodGet:
		return fit[0], nil
	case len(fit) == 0:
		return nil, unknownToAll(found, to, args)
	}
	return nil, misuse("%s has the methods %s; choose one with -X", to, strings.Join(methodsOf(fit), ", "))
}

// unknownToAll reports an argument that no method of a path takes, or that no method takes all of them.
func unknownToAll(found []*operation, to address, all arguments) error {
	for _, arg := range all.named {
		isTaken := slices.ContainsFunc(found, func(o *operation) bool { return o.takes(arguments{named: []argument{arg}}) })
		if isTaken {
			continue
		}
		var names []string
		for _, each := range found {
			for _, name := range parameterNames(each.parameters()) {
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
		return unknownArgument(to, arg.name, names)
	}
	return misuse("no method of %s takes all these arguments; %s shows those of %s", to, "busline describe "+to.String(),
		strings.Join(methodsOf(found), ", "))
}

func unknownArgument(to address, name string, names []string) error {
	return misuse("there is no argument %s: %s takes %s%s", name, to, orNothing(names), similar.DidYouMean(name, names))
}

// orNothing formats a list of names.
func orNothing(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func methodsOf(all []*operation) (methods []string) {
	for _, each := range all {
		methods = append(methods, each.method)
	}
	return methods
}

// takesAt is takes for an address whose path contains some arguments already.
func (o *operation) takesAt(path string, all arguments) bool {
	inPath, _, _ := o.match(path)
	return o.takes(all) && (o.isOpen() || !slices.ContainsFunc(all.named, func(one argument) bool {
		_, inPath := inPath[one.name]
		_, isMember := o.member(one.name)
		return inPath && !isMember
	}))
}

// takes reports whether an operation takes all these arguments, and a body if there is one.
func (o *operation) takes(all arguments) bool {
	if all.body != nil && o.body() == nil && !o.isOpen() {
		return false
	}
	parameters := o.parameters()
	for _, arg := range all.named {
		name, _, _ := strings.Cut(arg.name, ".")
		known := slices.ContainsFunc(parameters, func(p parameter) bool { return p.name == name || p.name == arg.name })
		if !known {
			_, known = o.member(name)
		}
		if !known && !o.isOpen() {
			return false
		}
	}
	return true
}

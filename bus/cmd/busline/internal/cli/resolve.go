package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/busline/busline/bus/subject"
)

// plan is what is known of a call before its arguments are considered.
type plan struct {
	to        address
	method    string            // "" until the operation is chosen
	operation *operation        // nil if no document describes it
	inPath    map[string]string // values in the address for {parameters}
}

// resolve finds out which operation is called: from the document of the host, or, if that does not have the path or cannot be
// read, by asking the host whether it serves the path nevertheless. A method from the command line takes precedence.
func (s *session) resolve(ctx context.Context, to address, method string, given arguments) (*plan, error) {
	if to.host == "all" || to.port == subject.ControlPort || to.path == "/openapi.json" {
		return &plan{to: to, method: method}, nil // no document describes these
	}
	known, err := s.fetch(ctx, to.host, to.port)
	switch {
	case errors.Is(err, errUndescribed):
		return s.undescribed(ctx, to, method, nil)
	case errors.Is(err, errUnreadable): // which is no reason not to call
		s.notef("%s; arguments are sent as text", cleanLine(err.Error()))
		return s.undescribed(ctx, to, method, nil)
	case err != nil:
		return nil, err
	}
	found := matching(known.document, to.path)
	if len(found) == 0 {
		return s.undescribed(ctx, to, method, operationsOf(known.document))
	}
	chosen, err := choose(found, to, method, given)
	if err != nil {
		return nil, err
	}
	values, _, _ := chosen.match(to.path)
	made := &plan{to: to, method: method, operation: chosen, inPath: values}
	if made.method == "" {
		made.method = chosen.method
	}
	return made, nil
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
	conn, err := s.join(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := s.limited(ctx)
	defer cancel()
	query := url.Values{"port": {strconv.Itoa(to.port)}, "path": {to.path}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://%s:%d/allow?%s", to.host, subject.ControlPort, query.Encode()), http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := conn.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return nil, err
	}
	var answer struct {
		Methods []string `json:"methods"`
	}
	if json.Unmarshal(text, &answer) != nil {
		return nil, nil
	}
	return answer.Methods, nil
}

// otherPort returns the error for a path that a host serves on another port, or for a port on which it serves nothing; nil if
// it is neither.
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
			elsewhere := &failure{status: misused, err: fmt.Errorf("%s serves %s on port %d, not on %d: write %s", to.host, to.path, port, to.port, there)}
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
	return misuse("%s; its paths are %s%s%s", text, enumerated(paths), s.withoutToken(), didYouMean(to.path, paths))
}

// withoutToken is a reminder that some operations are shown only with a token.
func (s *session) withoutToken() string {
	if s.token() == "" {
		return " (seen without a token)"
	}
	return ""
}

package mcp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/reflectapi/similar"
	"github.com/busline/busline/reflectapi/strictjson"
	"github.com/busline/busline/restmap"
)

// arguments are those of a call, by name.
type arguments map[string]json.RawMessage

// parseArguments parses one JSON object.
func parseArguments(raw json.RawMessage) (arguments, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	args := make(arguments)
	if err := strictjson.Unmarshal(raw, &args); err != nil {
		return nil, bus.Errorf(http.StatusBadRequest, "the arguments are not one JSON object: %w", err)
	}
	return args, nil
}

// is reports whether an argument is absent, or null.
func isAbsent(value json.RawMessage) bool { return len(value) == 0 || string(value) == "null" }

// textOf returns an argument as it is in a path, a query or a header: a string without quotes, all else as JSON.
func textOf(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// request returns the request for a call of a tool.
func (t *tool) request(ctx context.Context, args arguments) (*http.Request, error) {
	in := t.planned().in
	if err := t.checkNames(args); err != nil {
		return nil, err
	}
	used := make(map[string]bool)
	path, err := t.pathOf(args, used)
	if err != nil {
		return nil, err
	}
	query := make(url.Values)
	for _, name := range in.Query {
		for _, text := range args.member(strings.Split(name, ".")) {
			query.Add(name, text)
		}
		argument, _, _ := strings.Cut(name, ".")
		used[argument] = true
	}
	for _, name := range in.JSON {
		if used[name] = true; !isAbsent(args[name]) {
			query.Set(name, string(args[name]))
		}
	}
	header := http.Header{"Accept": {jsonType}}
	if t.plan.out.streams {
		header.Set("Accept", restmap.NDJSON)
	}
	for _, name := range in.Header {
		used[name] = true
		switch text := textOf(args[name]); {
		case name == restmap.IdempotencyKey && strings.TrimSpace(text) == "":
			header.Set(name, rand.Text())
		case !isAbsent(args[name]):
			header.Set(name, text)
		}
	}
	body, err := t.bodyOf(args, used)
	if err != nil {
		return nil, err
	}
	address := "https://" + t.host + publicPort + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, t.method, address, bytes.NewReader(body))
	if err != nil {
		return nil, bus.Errorf(http.StatusBadRequest, "the arguments make no address: %w", err)
	}
	if in.Body != nil {
		header.Set("Content-Type", jsonType)
	}
	request.Header = header
	return request, nil
}

const jsonType = "application/json"

// checkNames returns an error for an argument that the function does not have. A service ignores it in a body, but a
// model has to learn that it was not heard.
func (t *tool) checkNames(args arguments) error {
	in := t.planned().in
	if in.Object.AdditionalProperties != nil {
		return nil
	}
	known := slices.Sorted(maps.Keys(in.Object.Properties))
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if !slices.Contains(known, name) {
			return bus.Errorf(http.StatusBadRequest, "there is no argument %.80q: there are %s%s", name,
				cmp.Or(strings.Join(known, ", "), "none"), similar.DidYouMean(name, known))
		}
	}
	return nil
}

// pathOf returns the path of a call, with the arguments in it. An error lists all that cannot be there.
func (t *tool) pathOf(args arguments, used map[string]bool) (string, error) {
	var violations []restmap.ArgumentError
	refuse := func(name, format string, arguments ...any) {
		violations = append(violations, restmap.ArgumentError{Name: name, In: "path",
			Detail: fmt.Sprintf(format, arguments...)})
	}
	segments := strings.Split(t.path, "/")
	for i, segment := range segments {
		if !strings.HasPrefix(segment, "{") || !strings.HasSuffix(segment, "}") {
			continue
		}
		name := segment[1 : len(segment)-1]
		used[name] = true
		if isAbsent(args[name]) {
			refuse(name, "is missing")
			continue
		}
		parts := []string{textOf(args[name])}
		if slices.Contains(t.plan.in.Rest, name) {
			parts = strings.Split(parts[0], "/")
		}
		for at, part := range parts {
			if part == "" || part == "." || part == ".." { // would lead elsewhere
				refuse(name, "%.80q cannot be in a path", part)
			}
			parts[at] = url.PathEscape(part)
		}
		segments[i] = strings.Join(parts, "/")
	}
	if len(violations) > 0 {
		texts := make([]string, len(violations))
		for i, each := range violations {
			texts[i] = each.Name + " (path): " + each.Detail
		}
		return "", &bus.Error{Status: http.StatusUnprocessableEntity, Detail: strings.Join(texts, "; "), Arguments: violations}
	}
	return strings.Join(segments, "/"), nil
}

// bodyOf returns the body of a call: one argument, or all that are nowhere else.
func (t *tool) bodyOf(args arguments, used map[string]bool) ([]byte, error) {
	name := t.plan.in.Body
	switch {
	case name == nil:
		return nil, nil
	case *name != "" && len(args[*name]) == 0:
		return []byte("null"), nil
	case *name != "":
		return args[*name], nil
	}
	members := make(arguments)
	for argument, value := range args {
		if !used[argument] && argument != t.plan.stopAfter {
			members[argument] = value
		}
	}
	return strictjson.Marshal(members)
}

// member returns the texts of a member of an argument, one for each item of a list.
func (a arguments) member(path []string) (texts []string) {
	value := a[path[0]]
	for _, name := range path[1:] {
		var members arguments
		if json.Unmarshal(value, &members) != nil {
			return nil
		}
		value = members[name]
	}
	var items []json.RawMessage
	if json.Unmarshal(value, &items) != nil {
		items = []json.RawMessage{value}
	}
	for _, item := range items {
		if !isAbsent(item) {
			texts = append(texts, textOf(item))
		}
	}
	return texts
}

// stopAfter returns after how many elements a stream ends.
func (t *tool) stopAfter(args arguments, most int) (int, error) {
	value := args[t.planned().stopAfter]
	if isAbsent(value) {
		return most, nil
	}
	elements, err := strconv.Atoi(string(value))
	if err != nil || elements < 1 {
		return 0, bus.Errorf(http.StatusUnprocessableEntity, "%s: expects an integer from 1", t.plan.stopAfter)
	}
	return min(elements, most), nil
}

// calledBy returns the name and the arguments in those of the tool that calls others.
func calledBy(raw json.RawMessage) (name string, args json.RawMessage, err error) {
	var called struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := strictjson.Unmarshal(raw, &called); err != nil || called.Name == "" {
		return "", nil, bus.Errorf(http.StatusBadRequest, "%s takes the name of a tool, and its arguments as one JSON object",
			callName)
	}
	return called.Name, called.Arguments, nil
}

package restmap

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/reflectapi/strictjson"
)

// constraintsOf returns the constraints on the arguments of a method, nil if there are none. Invalid tags in arguments
// or results are errors.
func constraintsOf(method *reflectapi.Method) (*schema.Constraints, error) {
	constrained := false
	var errs []error
	found := map[string]bool{} // types are often those of arguments and results
	note := func(kind, name string, err error) {
		if err != nil && !found[err.Error()] {
			found[err.Error()] = true
			errs = append(errs, fmt.Errorf("%s %s: %w", kind, name, err))
		}
	}
	for _, argument := range method.Args {
		constraints, err := schema.ConstraintsOf(argument.Type)
		note("argument", argument.Name, err)
		constrained = constrained || constraints != nil || argument.Tag != ""
	}
	for _, result := range method.Results {
		note("result", result.Name, schema.CheckTags(result.Type))
	}
	if len(errs) > 0 || !constrained {
		return nil, errors.Join(errs...)
	}
	return method.Constraints()
}

// checkConstraints checks the arguments of a request against their constraints.
func (p *input) checkConstraints(in reflect.Value, request *Request) error {
	var found []schema.Violation
	switch {
	case p.constraints == nil:
		return nil
	case p.constraints.Comparable():
		if found = p.constraints.Check(in); len(found) > 0 {
			found = p.wordedBySent(found, in, request)
		}
	default:
		sent, err := p.sent(in, request)
		if err != nil {
			return bodyError(err, request.Body)
		}
		found = p.constraints.CheckJSON(sent)
	}
	if len(found) == 0 {
		return nil
	}
	return p.unprocessable(found, request)
}

// smallBody is the size in bytes up to which a body is parsed a second time to word an error.
const smallBody = 64 << 10

// wordedBySent rewords violations by what was sent, because only the request shows whether an argument is wrong or
// missing.
func (p *input) wordedBySent(found []schema.Violation, in reflect.Value, request *Request) []schema.Violation {
	if len(request.Body) > smallBody {
		return found
	}
	if sent, err := p.sent(in, request); err == nil {
		if worded := p.constraints.CheckJSON(sent); len(worded) > 0 {
			return worded
		}
	}
	return found
}

// onlyText reports whether the JSON of the arguments is needed to check their constraints.
func (p *input) onlyText() bool { return p.constraints != nil && !p.constraints.Comparable() }

// satisfies reports whether arguments passed by value satisfy the constraints.
func (p *input) satisfies(in reflect.Value) bool {
	return p.constraints == nil || len(p.constraints.Check(in)) == 0
}

// sent combines what a request contains into one JSON object, however each argument was sent.
func (p *input) sent(in reflect.Value, request *Request) (members map[string]any, err error) {
	members = make(map[string]any)
	if request.Query != "" {
		p.form().addPresent(members, in, request.Query, inQuery)
	}
	switch {
	case mediaKind(request.ContentType, len(request.Body) == 0) == formMedia && p.bodyIndex < 0:
		p.form().addPresent(members, in, string(request.Body), inBody)
	case p.bodyIndex >= 0:
		members[RequestBody], err = p.sentBody(in, request)
	case len(request.Body) > 0:
		var body map[string]any
		err = p.unmarshalStrictly(strictjson.PlainIntegers(request.Body), &body)
		maps.Copy(members, body)
	}
	for _, parameter := range p.parameters {
		members[parameter.name] = asJSON(in.FieldByIndex(parameter.index))
	}
	for _, missing := range p.defaults { // null is not missing: it is zero
		name := p.endpoint.Method.Args[missing.Index].Name
		if value, given := members[name]; given && value == nil {
			members[name] = asJSON(in.Field(missing.Index))
		}
	}
	return members, err
}

// sentBody returns the JSON from which the argument for the whole body was made.
func (p *input) sentBody(in reflect.Value, request *Request) (body any, err error) {
	switch {
	case len(request.Body) == 0:
		return map[string]any{}, nil
	case mediaKind(request.ContentType, false) != formMedia:
		err = p.unmarshalStrictly(strictjson.PlainIntegers(request.Body), &body)
		return body, err
	}
	return p.bodyForm.presentOf(in.Field(p.bodyIndex), string(request.Body)), nil
}

// unprocessable returns the error for arguments that can be parsed but violate their constraints.
func (p *input) unprocessable(found []schema.Violation, request *Request) error {
	places := p.placesOf(request)
	errs := make([]ArgumentError, len(found))
	details := make([]string, 0, maxReported+1)
	for i, violation := range found {
		argument := violation.Path
		if end := strings.IndexAny(argument, ".["); end >= 0 {
			argument = argument[:end]
		}
		invalid := ArgumentError{Name: violation.Path, In: places(argument), Detail: violation.Detail}
		if invalid.In == inQuery {
			invalid.Name = p.form().asWritten(violation.Path, request.Query)
		}
		invalid.Name = shortened(invalid.Name)
		text := invalid.Name + " (" + invalid.In + "): " + invalid.Detail
		if argument == RequestBody {
			invalid.Name = shortened(strings.TrimPrefix(strings.TrimPrefix(violation.Path, RequestBody), "."))
			text = invalid.Name + " (body): " + invalid.Detail
			if invalid.Name == "" {
				text = "the body " + invalid.Detail
			}
		}
		errs[i] = invalid
		if i < maxReported {
			details = append(details, text)
		}
	}
	if more := len(found) - maxReported; more > 0 {
		details = append(details, fmt.Sprintf("and %d more", more))
	}
	return &InputError{Status: 422, Detail: strings.Join(details, "; "), Arguments: errs}
}

// placesOf says where an argument is, or should have been.
func (p *input) placesOf(request *Request) func(argument string) string {
	queried := p.form().namesGiven(request.Query, inQuery)
	inside := p.namesInside(request)
	return func(argument string) string {
		switch {
		case slices.ContainsFunc(p.parameters, func(t target) bool { return t.name == argument }):
			return inPath
		case inside[argument] || argument == RequestBody:
			return inBody
		case queried[argument] || !hasBody(request.Method):
			return inQuery
		default:
			return inBody
		}
	}
}

// namesInside returns the names of the arguments in a body.
func (p *input) namesInside(request *Request) map[string]bool {
	names := make(map[string]bool)
	switch {
	case p.bodyIndex >= 0:
	case mediaKind(request.ContentType, len(request.Body) == 0) == formMedia:
		return p.form().namesGiven(string(request.Body), inBody)
	default:
		var members map[string]json.RawMessage
		_ = strictjson.Unmarshal(request.Body, &members) // it has been parsed before
		for name := range members {
			names[name] = true
		}
	}
	return names
}

// addPresent adds the members of a filled struct that a form contains, and only those: a constraint may require the
// others. JSON texts are added as they were written, everything else as it was parsed.
func (f *form) addPresent(members map[string]any, filled reflect.Value, text, place string) {
	values, err := url.ParseQuery(text)
	if err != nil {
		return // it has been parsed before
	}
	values, _ = f.inFull(values)
	read := make(map[string]any) // of the arguments in the form
	for name := range f.namesGiven(text, place) {
		if field, known := f.fields[name]; known {
			if value, isThere := field.of(filled); isThere {
				read[name] = asJSON(value)
			}
			delete(members, name) // a later value replaces an earlier one
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) { // JSON before the parts that change it
		argument, behind, dotted := strings.Cut(name, ".")
		texts := values[name]
		field, isField := f.fields[argument]
		switch _, known := read[argument]; {
		case !isField:
			members[argument] = texts[0] // an argument that is missing may be meant
		case !known || !field.isGiven(place, name, texts):
		case dotted && field.union != nil:
			members[argument] = read[argument]
		case dotted:
			members[argument] = withPart(members[argument], read[argument], strings.Split(behind, "."), field.formPart)
		default:
			members[argument] = read[argument]
			if written, ok := writtenAsJSON(texts); ok && !isText(field.typ) {
				members[argument] = written
			}
		}
	}
}

// writtenAsJSON parses texts that are a single object or array.
func writtenAsJSON(texts []string) (written any, ok bool) {
	if len(texts) != 1 || !strings.HasPrefix(texts[0], "[") && !strings.HasPrefix(texts[0], "{") {
		return nil, false
	}
	err := strictjson.Unmarshal(strictjson.PlainIntegers([]byte(texts[0])), &written)
	return written, err == nil
}

// withPart copies one part of a parsed value into JSON; way holds the names and indexes that lead to it, and of is what
// has that part. The parsed value has all parts, whether or not the form mentions them, except those that its type
// omits if they are zero.
func withPart(into, read any, way []string, of formPart) any {
	if len(way) == 0 {
		return read
	}
	switch read := read.(type) {
	case map[string]any:
		object, ok := into.(map[string]any)
		if !ok {
			object = make(map[string]any)
		}
		name, rest := way[0], way[1:]
		if all := strings.Join(way, "."); read[all] != nil { // a key may contain dots
			name, rest = all, nil
		}
		part, there := read[name]
		inner, known := of.parts[name]
		if !there && known {
			part, there = asJSON(reflect.Zero(inner.typ)), true
		}
		if there {
			object[name] = withPart(object[name], part, rest, inner)
		}
		return object
	case []any:
		list, _ := into.([]any)
		index, err := strconv.Atoi(way[0])
		if err != nil || index >= len(read) {
			return list
		}
		for len(list) <= index {
			list = append(list, withoutMembers(read[len(list)]))
		}
		list[index] = withPart(list[index], read[index], way[1:], of)
		return list
	}
	return read
}

// withoutMembers returns what stands in a list for an element that the form does not mention.
func withoutMembers(element any) any {
	if _, isObject := element.(map[string]any); isObject {
		return make(map[string]any)
	}
	return element
}

// presentOf returns the members of a whole body that a form contains.
func (b *formBody) presentOf(body reflect.Value, text string) any {
	members := make(map[string]any)
	if b.object != nil {
		for body.Kind() == reflect.Pointer {
			body = body.Elem()
		}
		b.object.addPresent(members, body, text, inBody)
		return members
	}
	values, err := url.ParseQuery(text)
	read, ok := asJSON(body).(map[string]any)
	if err != nil || !ok {
		return members
	}
	for name, texts := range values {
		if strings.Join(texts, "") != "" {
			members[name] = read[name]
		}
	}
	return members
}

// namesGiven returns the names of arguments in a query or a form that have a value. An empty value does not count:
// browsers send it for fields that were left blank.
func (f *form) namesGiven(text, place string) map[string]bool {
	names := make(map[string]bool)
	values, err := url.ParseQuery(text)
	if err != nil {
		return names
	}
	values, _ = f.inFull(values)
	for name, texts := range values {
		argument, _, _ := strings.Cut(name, ".")
		if f.fields[argument].isGiven(place, name, texts) {
			names[argument] = true
		}
	}
	return names
}

// asJSON returns a value as decoded JSON, nil if it has no JSON.
func asJSON(v reflect.Value) (read any) {
	data, err := strictjson.PlanOf(v.Type()).Marshal(v)
	if err != nil || strictjson.Unmarshal(data, &read) != nil {
		return nil
	}
	return read
}

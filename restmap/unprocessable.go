package restmap

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/restmap/strictjson"
)

// unprocessable returns the error for arguments that can be parsed but violate their constraints.
func (p *input) unprocessable(found []reflectapi.Violation, request *Request) error {
	places := p.placesOf(request)
	faults := make([]ArgumentError, len(found))
	details := make([]string, 0, maxFaults+1)
	for i, violation := range found {
		argument := violation.Path
		if end := strings.IndexAny(argument, ".["); end >= 0 {
			argument = argument[:end]
		}
		fault := ArgumentError{Name: shortened(violation.Path), In: places(argument), Detail: violation.Detail}
		text := fault.Name + " (" + fault.In + "): " + fault.Detail
		if argument == RequestBody {
			fault.Name = shortened(strings.TrimPrefix(strings.TrimPrefix(violation.Path, RequestBody), "."))
			text = fault.Name + " (body): " + fault.Detail
			if fault.Name == "" {
				text = "the body " + fault.Detail
			}
		}
		faults[i] = fault
		if i < maxFaults {
			details = append(details, text)
		}
	}
	if more := len(found) - maxFaults; more > 0 {
		details = append(details, fmt.Sprintf("and %d more", more))
	}
	return &InputError{Status: 422, Detail: strings.Join(details, "; "), Arguments: faults}
}

// placesOf says where an argument is, or should have been.
func (p *input) placesOf(request *Request) func(argument string) string {
	queried := namesGiven(request.Query)
	inside := p.namesInside(request)
	return func(argument string) string {
		switch {
		case slices.ContainsFunc(p.parameters, func(t target) bool { return t.name == argument }):
			return inPath
		case inside[argument] || argument == RequestBody:
			return inBody
		case queried[argument]:
			return inQuery
		}
		return p.elsewhere()
	}
}

// namesInside returns the names of the arguments in a body.
func (p *input) namesInside(request *Request) map[string]bool {
	names := make(map[string]bool)
	switch {
	case p.bodyIndex >= 0:
	case mediaKind(request.ContentType, len(request.Body) == 0) == formMedia:
		return namesGiven(string(request.Body))
	default:
		var members map[string]json.RawMessage
		_ = strictjson.Unmarshal(request.Body, &members) // it has been parsed before
		for name := range members {
			names[name] = true
		}
	}
	return names
}

package restmap

import (
	"errors"
	"strings"
)

// InputError is a request that cannot be converted to the arguments of a method, described for the caller, whose fault
// it is. It never repeats the input.
type InputError struct {
	Status    int             // 400; 422 if a constraint is violated; 415 for a content type that is neither JSON nor a form
	Detail    string          // one sentence that names all faulty arguments
	Arguments []ArgumentError // at most 20, or for a 422 one for each violation, at most 100; empty if the request as a whole is at fault
}

// Error returns the detail.
func (e *InputError) Error() string { return e.Detail }

// StatusCode returns the HTTP status.
func (e *InputError) StatusCode() int { return e.Status }

// ArgumentError is a fault of one argument.
type ArgumentError struct {
	Name   string `json:"name"`   // as the caller writes it: "x", "p1.x", "tags[2]"; "" for the body as a whole
	In     string `json:"in"`     // "query", "path" or "body"
	Detail string `json:"detail"` // "expects an integer"
}

// insideError is a fault in a part of a JSON text.
type insideError struct {
	path   string // "lines[0].n"; "" is the whole
	detail string
}

// Error returns the detail, after the place.
func (f *insideError) Error() string { return strings.TrimPrefix(f.path+" "+f.detail, " ") }

// faultOf returns the fault of an argument's text. Its name is that of the place within the argument.
func faultOf(name, in string, err error) ArgumentError {
	detail := err.Error()
	if inside, ok := errors.AsType[*insideError](err); ok {
		detail = inside.detail
		if inside.path != "" && inside.path[0] != '[' {
			name += "."
		}
		name += inside.path
	}
	return ArgumentError{Name: name, In: in, Detail: detail}
}

// Limits of an InputError, which bound its size.
const (
	maxFaults     = 20
	maxNameLength = 100 // bytes
)

// badArguments returns the error for a request with these faults, nil if there are none.
func badArguments(faults []ArgumentError) error {
	if len(faults) == 0 {
		return nil
	}
	faults = faults[:min(len(faults), maxFaults)]
	var details []string
	for i, fault := range faults {
		faults[i].Name = shortened(fault.Name)
		details = append(details, faults[i].Name+" ("+fault.In+"): "+fault.Detail)
	}
	return &InputError{Status: 400, Detail: strings.Join(details, "; "), Arguments: faults}
}

// shortened cuts off a name that is too long to be useful.
func shortened(name string) string {
	if len(name) > maxNameLength {
		return strings.ToValidUTF8(name[:maxNameLength], "") + "…"
	}
	return name
}

// badRequest returns the error for a request that is malformed as a whole.
func badRequest(detail string) error { return &InputError{Status: 400, Detail: detail} }

// unsupported returns the error for a body in an unsupported content type.
func unsupported(detail string) error { return &InputError{Status: 415, Detail: detail} }

package main

import (
	"fmt"
	"go/types"
	"slices"
	"strings"
	"unicode"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/restmap"
)

// clientMethod returns what the template needs for a method of the client.
func (o *operation) clientMethod(names clientNames, fields scope, packages *imports,
	closed func(types.Type) bool) *clientMethod {
	m := &clientMethod{
		Name: o.name, Field: fields.free(unexported(o.name)), Comment: o.doc,
		Method: o.endpoint.ClientRoute().Method, Path: o.endpoint.Path().String(), Port: o.port, Key: o.declared.Key,
		Idempotent: o.declared.Idempotent,
		Arguments:  "struct{}", Results: "struct{}",
	}
	if len(o.served.Args) > 0 {
		m.Arguments = names.arguments(o.name)
	}
	background := packages.need("context", "context")
	w := &methodWriter{operation: o, qualifier: packages.inCode, isClosed: closed}
	w.choose(append(namesIn(w.streamType()), "c", "m", "response", m.Arguments, background,
		strings.Split(w.statusType(), ".")[0])...)
	w.arguments(m, background)
	if o.served.Streams {
		w.stream(m)
	} else {
		w.results(m, names)
	}
	if m.Comment == "" {
		does := "calls the method"
		if names.events {
			does = "publishes the event"
		}
		m.Comment = fmt.Sprintf("%s %s %s, which has no comment.", o.name, does, o.name)
	}
	switch {
	case o.served.TakesContext:
	case o.served.Streams:
		m.Comment += "\n\nIt takes no context, so that only leaving the loop cancels it."
	default:
		m.Comment += "\n\nIt takes no context, so that it cannot be cancelled."
	}
	return m
}

// methodWriter writes the parts of one method in Go.
type methodWriter struct {
	*operation
	qualifier   types.Qualifier
	isClosed    func(types.Type) bool // reports whether constants are the only values of a type
	params, out []string              // names in Go
}

// choose gives parameters and results the names that they have in source, or unused ones if they are unnamed. The names
// that the body of the method uses are reserved.
func (w *methodWriter) choose(reserved ...string) {
	names := newScope(reserved...)
	w.params, w.out = namesOf(w.signature.Params()), namesOf(w.signature.Results())
	for _, list := range [][]string{w.params, w.out} {
		for i, name := range list {
			if !isBlank(name) {
				list[i] = names.free(name)
			}
		}
	}
	for i, name := range w.params {
		if isBlank(name) {
			w.params[i] = names.free("ctx") // all others have names in source
		}
	}
	for i, name := range w.out {
		switch {
		case isBlank(name) && i == len(w.out)-1:
			w.out[i] = names.free("err")
		case isBlank(name):
			w.out[i] = names.free("result")
		}
	}
}

// arguments fills in the parameters of a method.
func (w *methodWriter) arguments(m *clientMethod, background string) {
	ctx, arguments := background+".Background()", w.params
	if w.served.TakesContext {
		ctx, arguments = w.params[0], w.params[1:]
	}
	m.Given = fmt.Sprintf("%s, %s{%s}", ctx, m.Arguments, strings.Join(arguments, ", "))
	m.Params = w.list(w.params, w.signature.Params(), w.signature.Variadic())
	fields, skipped := newScope(), len(w.params)-len(arguments)
	for i, argument := range w.served.Args {
		field := clientField{
			Name: fields.free(fieldName(argument.Name)), JSON: argument.Name,
			Type: typeText(w.signature.Params().At(skipped+i).Type(), false, w.qualifier),
		}
		if w.served.IsOmittable(i) || argument.MayBeMissing() && w.isClosed(w.signature.Params().At(skipped+i).Type()) {
			field.JSON += ",omitzero"
		}
		m.ArgumentFields = append(m.ArgumentFields, field)
	}
}

// results fills in the results of a method.
func (w *methodWriter) results(m *clientMethod, names clientNames) {
	m.Outcomes = w.list(w.out, w.signature.Results(), false)
	var returned []string
	for i, result := range w.served.Results {
		text := typeText(w.signature.Results().At(i).Type(), false, w.qualifier)
		switch result.Name {
		case restmap.ResponseBody:
			m.Results = text
			returned = append(returned, "response.Results")
		case restmap.StatusCode:
			returned = append(returned, w.status())
		default:
			field := clientField{fieldName(result.Name), text, result.Name}
			m.ResultFields, m.Results = append(m.ResultFields, field), names.results(w.name)
			returned = append(returned, "response.Results."+field.Name)
		}
	}
	err := w.out[len(w.out)-1]
	m.Returned, m.Taken = strings.Join(append(returned, err), ", "), "response, "+err+" :="
	if len(returned) == 0 {
		m.Taken = "_, " + err + " ="
	}
}

// stream fills in the only result of a method that streams.
func (w *methodWriter) stream(m *clientMethod) {
	m.Streams = true
	m.Outcomes = typeText(w.signature.Results().At(0).Type(), false, w.qualifier)
	m.Results = typeText(elementOf(w.signature), false, w.qualifier)
	m.Returned = fmt.Sprintf("c.%s.Stream(%s)", m.Field, m.Given)
	if t := w.streamType(); t != "" {
		m.Returned = t + "(" + m.Returned + ")"
	}
}

// elementOf returns the type of the elements of the only result of a method, an iterator.
func elementOf(t *types.Signature) types.Type {
	iterator, _ := t.Results().At(0).Type().Underlying().(*types.Signature)
	yield, _ := iterator.Params().At(0).Type().Underlying().(*types.Signature)
	return yield.Params().At(0).Type()
}

// streamType returns the type of a stream to which that of a call has to be converted, else "".
func (w *methodWriter) streamType() string {
	if !w.served.Streams {
		return ""
	}
	named, isNamed := types.Unalias(w.signature.Results().At(0).Type()).(*types.Named)
	if !isNamed || named.Obj().Pkg().Path() == "iter" {
		return ""
	}
	return types.TypeString(named, w.qualifier)
}

// namesIn returns the identifiers in the text of a type.
func namesIn(typeText string) []string {
	return strings.FieldsFunc(typeText, func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r) &&
			!unicode.IsDigit(r)
	})
}

// status returns the expression for the response's status, in the type that the method returns.
func (w *methodWriter) status() string {
	if t := w.statusType(); t != "" {
		return t + "(response.Status)"
	}
	return "response.Status"
}

// statusType returns the type of the status unless it is int, else "".
func (w *methodWriter) statusType() string {
	i := slices.IndexFunc(w.served.Results, func(v reflectapi.Value) bool { return v.Name == restmap.StatusCode })
	if i < 0 || types.Identical(w.signature.Results().At(i).Type(), types.Typ[types.Int]) {
		return ""
	}
	return types.TypeString(w.signature.Results().At(i).Type(), w.qualifier)
}

// list writes names and types as in a signature.
func (w *methodWriter) list(names []string, values *types.Tuple, variadic bool) string {
	var texts []string
	for i, name := range names {
		texts = append(texts, name+" "+typeText(values.At(i).Type(), variadic && i == len(names)-1, w.qualifier))
	}
	return strings.Join(texts, ", ")
}

package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/restmap"
)

// checkClient finds what prevents a client, though not a service.
func (d *description) checkClient(names clientNames) {
	callable := 0
	for _, o := range d.operations {
		reason := d.source.unnameable(o.signature)
		if o.served.Streams {
			reason = cmp.Or(reason, d.source.unnameable(elementOf(o.signature)))
		}
		if reason != "" {
			d.refuse(o, fmt.Errorf("has the type %s: this package cannot name it", reason))
		}
		if o.served.Kind == reflectapi.Web {
			continue
		}
		callable++
		if !o.served.ReturnsError && !o.served.Streams {
			d.refuse(o, errors.New("returns no error, but a call over the bus can fail: add an error as its last result, "+
				"or write no client with -client none"))
		}
		if slices.Contains([]string{"ForHost", "ForInstance", "Multicast"}, o.name) {
			d.refuse(o,
				errors.New("has the name of a method that every client has: rename it, or write no client with -client none"))
		}
		if !o.served.Streams {
			d.checkResults(o, names)
		}
	}
	if callable == 0 && len(d.diagnostics) == 0 {
		d.diagnostics = append(d.diagnostics, diagnostic{d.api.at,
			fmt.Sprintf("%s has only web methods, which no client has: write no client with -client none", d.api.name)})
	}
	d.checkArguments(names)
	d.checkNames(names)
}

// checkEvents finds methods that cannot be events.
func (d *description) checkEvents() {
	if err := d.api.declared.CheckScope(reflectapi.OfEventInterface); err != nil {
		d.diagnostics = append(d.diagnostics, diagnostic{d.api.at, fmt.Sprintf("%s: its comment %s", d.api.name, err)})
	}
	for _, o := range d.operations {
		rest, is := strings.CutPrefix(o.name, "On")
		switch {
		case !is || rest == "" || startsLower(rest):
			d.refuse(o, fmt.Errorf("is not an event: call it On%s, or take it out of the interface", o.name))
		case o.served.Kind == reflectapi.Web:
			d.refuse(o, errors.New("is a web method, which cannot be an event"))
		case o.declared.CheckScope(reflectapi.OfEvent) != nil:
			d.refuse(o, o.declared.CheckScope(reflectapi.OfEvent))
		case len(o.served.Results) > 0:
			d.refuse(o, fmt.Errorf("returns %s, but nobody waits for results of an event: it may return only an error",
				o.served.Results[0].Name))
		}
	}
}

// checkCalls finds methods that are declared as events, and callers that are no hosts.
func (d *description) checkCalls() {
	if err := subject.CheckCallers(d.api.declared.Callers); err != nil {
		d.diagnostics = append(d.diagnostics, diagnostic{d.api.at,
			fmt.Sprintf("%s: %s: %s", d.api.name, reflectapi.CallersDirective, err)})
	}
	for _, o := range d.operations {
		if err := o.declared.CheckScope(reflectapi.OfCall | reflectapi.OfWebMethod); err != nil {
			d.refuse(o, err)
		}
		if err := subject.CheckCallers(o.declared.Callers); err != nil {
			d.refuse(o, fmt.Errorf("%s: %w", reflectapi.CallersDirective, err))
		}
	}
}

// checkResults finds results that would get the same field.
func (d *description) checkResults(o *operation, names clientNames) {
	fields := make(map[string]string)
	for _, result := range o.served.Results {
		if isMagic(result.Name) {
			continue
		}
		field := fieldName(result.Name)
		if other, exists := fields[field]; exists {
			d.refuse(o, fmt.Errorf("the results %s and %s would both be the field %s of %s: rename one of them", other,
				result.Name, field, names.results(o.name)))
		}
		fields[field] = result.Name
	}
}

// checkArguments finds methods whose arguments would get the same type, because their names differ only in the capitals
// of their first word.
func (d *description) checkArguments(names clientNames) {
	methods := make(map[string]string)
	for _, o := range d.operations {
		if o.served.Kind == reflectapi.Web || len(o.served.Args) == 0 {
			continue
		}
		declared := names.arguments(o.name)
		if other, exists := methods[declared]; exists {
			d.refuse(o, fmt.Errorf("its arguments would be of the type %s, and so would those of %s: rename one of them",
				declared, other))
		}
		methods[declared] = o.name
	}
}

// declared returns the names that a client declares in the package.
func (d *description) declared(names clientNames) []string {
	all := []string{names.client, "New" + names.client, names.multicast()}
	if !names.events {
		all = append(all, names.maker())
	}
	for _, o := range d.operations {
		if o.served.Kind == reflectapi.Web {
			continue
		}
		if len(o.served.Args) > 0 {
			all = append(all, names.arguments(o.name))
		}
		if o.hasResults() {
			all = append(all, names.results(o.name))
		}
	}
	if !names.events {
		for _, problem := range d.problems(names, newImports(d.source, "", nil)) {
			all = append(all, problem.As(), problem.Maker())
		}
	}
	return all
}

// As is the function that returns the details of an error, Maker the one that makes such an error.
func (p *clientProblem) As() string    { return "As" + p.Name }
func (p *clientProblem) Maker() string { return p.Name + "Error" }

// hasResults reports whether the results of a method need a struct.
func (o *operation) hasResults() bool {
	return !o.served.Streams && slices.ContainsFunc(o.served.Results,
		func(v reflectapi.Value) bool { return !isMagic(v.Name) })
}

// isMagic reports whether a result is the body or the status of the response.
func isMagic(name string) bool { return name == restmap.ResponseBody || name == restmap.StatusCode }

// checkNames finds names of the client that the package has declared already.
func (d *description) checkNames(names clientNames) {
	for _, name := range d.declared(names) {
		if object := d.source.pkg.Scope().Lookup(name); object != nil {
			d.diagnostics = append(d.diagnostics, d.source.conflict(object))
		}
	}
}

// taken is the diagnostic of a name that is declared already. For names declared by apigen, one line for the file is
// enough.
func (s *sources) conflict(object types.Object) diagnostic {
	at := s.position(object.Pos())
	i := slices.IndexFunc(s.files, func(f *ast.File) bool { return s.fileName(f) == at.Filename })
	if i >= 0 && isOurs(s.files[i]) {
		return diagnostic{token.Position{Filename: at.Filename}, "apigen wrote this file too, and it declares the same " +
			"names: delete it, or give this client a name of its own with -client"}
	}
	return diagnostic{at,
		fmt.Sprintf("%s is declared here, but the client needs the name: rename it, or the client with -client",
			object.Name())}
}

// isOurs reports whether apigen wrote a file.
func isOurs(file *ast.File) bool {
	return len(file.Comments) > 0 && strings.HasPrefix(file.Comments[0].List[0].Text, generatedMark)
}

package main

import (
	"fmt"
	"go/types"
	"slices"
	"strings"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/reflectapi"
)

// clientDirective returns the line of a signature table that says that the interface has a client, and on which port it
// calls unless the interface declares that itself.
func clientDirective(wanted request, calls host) []string {
	if wanted.client == noClient || wanted.events {
		return nil
	}
	line := reflectapi.ClientDirective + " " + wanted.client
	if _, port, found := strings.Cut(calls.address, ":"); found {
		line += " " + port
	}
	return []string{line}
}

// ports gives each operation the port that a client calls, and refuses a host with another one.
func (d *description) ports(calls host) {
	_, _, hosted := strings.Cut(calls.address, ":")
	for _, o := range d.operations {
		port, at := o.declared.Port, o.at
		if port == 0 {
			port, at = d.api.declared.Port, d.api.at
		}
		if hosted && port != 0 {
			d.diagnostics = append(d.diagnostics, diagnostic{at,
				fmt.Sprintf("%s %d is declared, and the host %s has a port, too: leave one of them", reflectapi.PortDirective, port,
					calls.address)})
			return
		}
		if port != subject.PublicPort {
			o.port = port
		}
	}
}

// findDetails checks that the Go types exist that problems name.
func (d *description) findDetails() {
	for _, o := range d.operations {
		for _, problem := range o.declared.Problems {
			if problem.DetailsName == "" {
				continue
			}
			if d.detailsType(problem.DetailsName) == nil {
				d.refuse(o, fmt.Errorf("%s %d %s: there is no struct %s; declare it beside the interface, "+
					"or name it with the name of a package that this one imports",
					reflectapi.ProblemDirective, problem.Status, problem.Type, problem.DetailsName))
			}
		}
	}
}

// detailsType returns the struct that a problem names; nil if there is none.
func (d *description) detailsType(name string) types.Type {
	scope := d.api.named.Pkg()
	if qualifier, rest, qualified := strings.Cut(name, "."); qualified {
		if scope, name = importOf(scope, qualifier), rest; scope == nil {
			return nil
		}
	}
	found, isType := scope.Scope().Lookup(name).(*types.TypeName)
	if !isType || !isStruct(found.Type()) {
		return nil
	}
	return found.Type()
}

// importOf returns the package of that name that another one imports, nil if it imports none.
func importOf(of *types.Package, name string) *types.Package {
	imports := of.Imports()
	if i := slices.IndexFunc(imports, func(p *types.Package) bool { return p.Name() == name }); i >= 0 {
		return imports[i]
	}
	return nil
}

// problems returns the kinds of failure with details, each once.
func (d *description) problems(names clientNames, packages *imports) (problems []*clientProblem) {
	for _, o := range d.operations {
		for _, problem := range o.declared.Problems {
			same := func(p *clientProblem) bool { return p.Type == problem.Type }
			if problem.DetailsName == "" || slices.ContainsFunc(problems, same) {
				continue
			}
			problems = append(problems, &clientProblem{
				Name:   names.prefix + problem.DetailsName[strings.LastIndexByte(problem.DetailsName, '.')+1:],
				Status: problem.Status, Type: problem.Type,
				Details: types.TypeString(d.detailsType(problem.DetailsName), packages.inCode),
			})
		}
	}
	return problems
}

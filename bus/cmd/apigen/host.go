package main

import (
	"fmt"
	"go/constant"
	"go/types"
	"strconv"

	"github.com/busline/busline/restmap"
)

// host is the host that a client calls, or that a publisher publishes events for.
type host struct {
	expression string // in Go: "Host", `"calculator.example"`
	address    string // its value
	guess      error  // says that nothing names it; nil if something does
}

// host returns the host of the flags, otherwise the package's constant Host, otherwise one named like the interface.
// There is no such default for events: those of a wrong host reach no subscriber, which is no error when they are
// published.
func (d *description) host(wanted request) host {
	if wanted.host != "" {
		return host{expression: strconv.Quote(wanted.host), address: wanted.host}
	}
	declared := d.source.pkg.Scope().Lookup("Host")
	switch declared := declared.(type) {
	case *types.Var:
		d.refuseHost(declared,
			"Host is a variable, but a client needs a fixed host: make it a constant, or name the host with -host")
		return host{}
	case *types.Const:
		return d.constantHost(declared)
	}
	if wanted.events {
		d.diagnostics = append(d.diagnostics, diagnostic{d.api.at,
			fmt.Sprintf("nothing says which host publishes the events of %s: declare a constant Host, or name it with -host",
				d.api.named.Name())})
		return host{}
	}
	address := restmap.Kebab(d.api.named.Name())
	if checkHost(address) != nil {
		d.diagnostics = append(d.diagnostics, diagnostic{d.api.at,
			fmt.Sprintf("%s does not make a valid host: declare a constant Host, or name one with -host", d.api.named.Name())})
	}
	guess := fmt.Errorf("nothing says which host serves %s: the client calls %q; declare a constant Host, "+
		"or name it with -host", d.api.named.Name(), address)
	return host{strconv.Quote(address), address, guess}
}

// constantHost returns the value of a constant, which has to be a string with a valid host.
func (d *description) constantHost(declared *types.Const) host {
	if !types.Identical(types.Default(declared.Type()), types.Typ[types.String]) {
		what := "of the type " + types.TypeString(types.Default(declared.Type()), d.source.qualifier)
		if isInvalid(declared.Type()) {
			what = "of an unknown type"
		}
		d.refuseHost(declared,
			fmt.Sprintf("Host is a constant %s, but a client needs a string: declare it as one, or name the host with -host",
				what))
		return host{}
	}
	address := constant.StringVal(declared.Val())
	if err := checkHost(address); err != nil {
		d.refuseHost(declared, fmt.Sprintf("%s; correct it, or name another with -host", err))
	}
	return host{expression: "Host", address: address}
}

func (d *description) refuseHost(declared types.Object, text string) {
	d.diagnostics = append(d.diagnostics, diagnostic{d.source.position(declared.Pos()), text})
}

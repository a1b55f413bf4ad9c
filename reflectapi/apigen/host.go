package main

import (
	"fmt"
	"go/constant"
	"go/types"
	"strconv"

	"github.com/busline/busline/restmap"
)

// host is where a client calls.
type host struct {
	expression string // in Go: "Host", `"calculator.example"`
	address    string // what that is
}

// host returns the host of the flags, else the package's constant Host, else one named like the
// interface.
func (d *description) host(wanted string) host {
	if wanted != "" {
		return host{strconv.Quote(wanted), wanted}
	}
	if given, ok := d.source.pkg.Scope().Lookup("Host").(*types.Const); ok && types.Identical(types.Default(given.Type()), types.Typ[types.String]) {
		address := constant.StringVal(given.Val())
		if err := checkHost(address); err != nil {
			d.faults = append(d.faults, fault{d.source.position(given.Pos()), fmt.Sprintf("%s; correct it, or name another with -host", err)})
		}
		return host{"Host", address}
	}
	address := restmap.Kebab(d.api.named.Name())
	if checkHost(address) != nil {
		d.faults = append(d.faults, fault{d.api.at, fmt.Sprintf("%s names no host: declare a constant Host, or name one with -host", d.api.named.Name())})
	}
	return host{strconv.Quote(address), address}
}

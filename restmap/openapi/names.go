package openapi

import (
	"strconv"
	"strings"

	"github.com/busline/busline/restmap"
)

// names gives each endpoint of a document a name of its own, out of the characters that
// the name of a component may have.
type names struct {
	of   map[*Described]string
	used map[string]bool
}

func newNames(endpoints []*Described) *names {
	n := &names{of: make(map[*Described]string), used: make(map[string]bool)}
	for _, endpoint := range endpoints {
		name := identifier(endpoint.Name)
		if n.used[name] && endpoint.Style == restmap.REST { // one method served both ways
			name += "REST"
		}
		n.of[endpoint] = n.claim(name)
	}
	return n
}

// claim returns a name that nobody has: the wanted one, else with a number from 2 behind it.
func (n *names) claim(wanted string) string {
	name := wanted
	for i := 2; n.used[name]; i++ {
		name = wanted + strconv.Itoa(i)
	}
	n.used[name] = true
	return name
}

// components returns the names of the components that the endpoints may have.
func (n *names) components() []string {
	var all []string
	for name := range n.used {
		all = append(all, name+"_in", name+"_out")
	}
	return all
}

// identifier writes a name in the characters that OpenAPI allows: Add stays Add, and
// "GET /files/{path+}" becomes GET_files_path.
func identifier(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return !allowed(r) })
	if len(words) == 0 {
		return "endpoint"
	}
	return strings.Join(words, "_")
}

// allowed reports whether the name of a component may have a character.
//
// https://spec.openapis.org/oas/v3.0.0#components-object
func allowed(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '.' || r == '_'
}

package openapi

import (
	"strconv"
	"strings"

	"github.com/busline/busline/restmap"
)

// names gives each endpoint of a document a unique name, in the characters allowed for components.
type names struct {
	of   map[*Described]string
	used map[string]bool
}

func newNames(endpoints []*Described) *names {
	n := &names{of: make(map[*Described]string), used: make(map[string]bool)}
	for _, endpoint := range endpoints {
		name := identifier(endpoint.Name)
		if n.used[name] && endpoint.Style == restmap.REST { // a method served in both styles
			name += "REST"
		}
		n.of[endpoint] = n.claim(name)
	}
	return n
}

// claim returns an unused name: the wanted one, otherwise with a number from 2 appended.
func (n *names) claim(wanted string) string {
	name := wanted
	for i := 2; n.used[name]; i++ {
		name = wanted + strconv.Itoa(i)
	}
	n.used[name] = true
	return name
}

// components returns the component names that the endpoints may use.
func (n *names) components() []string {
	var all []string
	for name := range n.used {
		all = append(all, name+"_in", name+"_out")
	}
	return all
}

// identifier converts a name to the characters that OpenAPI allows: Add stays Add, and "GET /files/{path+}" becomes
// GET_files_path.
func identifier(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return !allowed(r) })
	if len(words) == 0 {
		return "endpoint"
	}
	return strings.Join(words, "_")
}

// allowed reports whether the name of a component may contain a character.
//
// https://spec.openapis.org/oas/v3.0.0#components-object
func allowed(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '.' || r == '_'
}

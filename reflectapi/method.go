package reflectapi

import (
	"reflect"
	"strings"
)

// Kind says how a method is served.
type Kind int

const (
	// Function is Name([ctx context.Context,] args…) ([results…][, error]).
	Function Kind = iota
	// Web is Name(w http.ResponseWriter, r *http.Request) [error].
	Web
)

// Value is one named argument or result.
type Value struct {
	Name string // as declared, e.g. "sum"
	Type reflect.Type
}

// Method is one exported method, described and ready to be called. Describe makes it; it is immutable, and is safe for concurrent use.
type Method struct {
	Name string // e.g. "Add"
	Doc  string // its doc comment, "" if there is none or no source is available
	Kind Kind

	// Route is what its interface declares with RouteDirective, "POST /orders/{id}/cancel"; "" if it declares none.
	Route string

	Args    []Value // without the context; the last one is a slice when Variadic
	Results []Value // without the error

	TakesContext bool
	ReturnsError bool
	Variadic     bool

	// In and Out are struct types with one exported field per argument or result, in
	// order, tagged `json:"<name>" schema:"<name>"`. Both are nil for Web.
	In, Out reflect.Type

	// Origin is the source of the names: "code", "signature table", "embedded source", "source file" or "DWARF"; "" if
	// the method needs none. DocOrigin is that of Doc.
	Origin, DocOrigin string

	home string // package path of the service, whose types are written unqualified
	plan plan
}

// Signature returns the method as text, without context and error, with types of the service's own package unqualified:
// "Add(x int, y int) (sum int)".
func (m *Method) Signature() string {
	if m.Kind == Web {
		return m.Name + "(w http.ResponseWriter, r *http.Request)"
	}
	args := m.list(m.Args)
	if last := len(args) - 1; m.Variadic {
		args[last] = m.Args[last].Name + " ..." + typeText(m.Args[last].Type.Elem(), m.home)
	}
	text := m.Name + "(" + strings.Join(args, ", ") + ")"
	if len(m.Results) > 0 {
		text += " (" + strings.Join(m.list(m.Results), ", ") + ")"
	}
	return text
}

// list writes each value as "name type".
func (m *Method) list(values []Value) []string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = v.Name + " " + typeText(v.Type, m.home)
	}
	return texts
}

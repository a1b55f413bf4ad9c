package tsclient

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/restmap"
)

// problem is a kind of problem that an operation declares.
type problem struct {
	kind    string // "https://shop.example/problems/out-of-stock"
	status  string
	details []*schema.Schema // what it has beside the members of all problems
}

// guards are the functions that tell kinds of problems apart.
type guards struct {
	names   map[string]string   // by kind: isOutOfStock
	details map[string][]string // the types of the details, by kind
	status  map[string]string
}

func newGuards() *guards {
	return &guards{names: make(map[string]string), details: make(map[string][]string), status: make(map[string]string)}
}

// choose names the guards of all kinds of problems.
func (g *guards) choose(services []*service) {
	kinds := make(map[string]bool)
	for _, s := range services {
		for _, o := range s.operations {
			for _, each := range o.problems() {
				kinds[each.kind] = true
			}
		}
	}
	sorted := slices.Sorted(maps.Keys(kinds))
	candidates := make([][]string, len(sorted))
	for i, kind := range sorted {
		candidates[i] = guardNames(kind)
	}
	for i, name := range distinct(candidates, names{}) {
		g.names[sorted[i]] = name
	}
}

// guardNames returns what the guard of a kind may be called, by more and more of its URI.
func guardNames(kind string) (all []string) {
	segments := strings.FieldsFunc(kind, func(r rune) bool { return strings.ContainsRune("/#?:", r) })
	for i := range slices.Backward(segments) {
		all = append(all, "is"+upperCamel(strings.Join(segments[i:], "-")))
	}
	if len(all) == 0 {
		return []string{"is_"}
	}
	return all
}

// throws returns a tag for each kind of problem of an operation.
func (g *guards) throws(o *operation) (tags []string) {
	for _, each := range o.problems() {
		if tag := "@throws {@link " + g.names[each.kind] + "}"; !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}

// problems returns the kinds of problems that an operation declares, by status.
func (o *operation) problems() (all []problem) {
	for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
		media := o.Responses[status].Content[restmap.ProblemType]
		if media == nil || media.Schema == nil {
			continue
		}
		for _, each := range append(slices.Clone(media.Schema.AnyOf), media.Schema) {
			if kind, details := declaredProblem(each); kind != "" {
				all = append(all, problem{kind, status, details})
			}
		}
	}
	return all
}

// declaredProblem reads a schema that combines that of all problems, that of the type, and perhaps that of the details.
func declaredProblem(d *schema.Schema) (kind string, details []*schema.Schema) {
	for i, part := range d.AllOf {
		if i == 0 {
			continue
		}
		if typed := part.Properties["type"]; typed != nil && len(typed.Enum) == 1 {
			kind, _ = typed.Enum[0].(string)
		} else {
			details = append(details, part)
		}
	}
	return kind, details
}

// problemShapes returns the shapes of the details of an operation's problems, "" for none, and adds the details to the
// guards.
func (g *generator) problemShapes(s *service, o *operation) string {
	var shapes []string
	for _, each := range o.problems() {
		var types []string
		for _, part := range each.details {
			types = append(types, g.expression(s, part, ""))
		}
		joined := strings.Join(types, " & ")
		if !slices.Contains(g.guards.details[each.kind], joined) {
			g.guards.details[each.kind] = append(g.guards.details[each.kind], joined)
		}
		g.guards.status[each.kind] = each.status
		if shape := g.shape(&schema.Schema{AllOf: each.details}); len(each.details) > 0 && shape != "" {
			shapes = append(shapes, literalKey(each.kind)+": "+shape)
		}
	}
	if len(shapes) == 0 {
		return ""
	}
	return "{" + strings.Join(slices.Compact(shapes), ", ") + "}"
}

// functions returns the guards.
func (g *guards) functions() string {
	var out strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(g.names)) {
		details := slices.DeleteFunc(g.details[kind], func(one string) bool { return one == "" })
		narrowed := "Problem & {readonly type: " + quote(kind) + "}"
		if len(details) > 0 {
			slices.Sort(details)
			narrowed = "Problem & {readonly type: " + quote(kind) + "; readonly details: " + strings.Join(details, " | ") + "}"
		}
		doc := fmt.Sprintf("Reports whether a call failed with %s (status %s).", kind, g.status[kind])
		out.WriteString("\n" + comment("", doc))
		fmt.Fprintf(&out, "export function %s(error: unknown): error is %s {\n", g.names[kind], narrowed)
		fmt.Fprintf(&out, "  return error instanceof Problem && error.type === %s;\n}\n", quote(kind))
	}
	return out.String()
}

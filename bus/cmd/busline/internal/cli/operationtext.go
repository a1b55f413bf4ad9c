package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi/schema"
)

// writeOperation writes one operation.
func (s *session) writeOperation(text *strings.Builder, o *operation) {
	text.WriteString(s.style().bold(o.heading()))
	if o.needsToken() {
		text.WriteString("  (needs a token)")
	}
	if len(o.Callers) > 0 {
		text.WriteString("  (only for " + cleanLine(strings.Join(o.Callers, ", ")) + ")")
	}
	text.WriteString("\n")
	if !o.isOpen() {
		writeIndented(text, "  ", o.Summary)
	}
	writeIndented(text, "  ", o.Description)
	o.table().write(text, "  ")
}

// table lists the arguments and results of an operation.
func (o *operation) table() (rows table) {
	d := schemas{o.document}
	takes := listing{d, &rows, "takes"}
	for _, each := range o.parameters() {
		takes.value(each, []*schema.Schema{d.resolve(o.body())})
	}
	if o.isUnlisted(o.body()) {
		takes.row(parameter{name: wholeBody, schema: o.body(), in: inBody})
	}
	returns, whole := listing{d, &rows, "returns"}, wholeBody
	if o.streams() {
		returns.verb, whole = "streams", eachElement
	}
	for _, each := range o.results() {
		if each.name != "" {
			returns.value(each, []*schema.Schema{d.resolve(o.result())})
			continue
		}
		returns.row(parameter{name: whole, schema: each.schema})
		returns.parts("", each, nil)
	}
	if o.isOpen() {
		rows.add("", takes.verb, "whatever the handler takes")
	}
	return rows
}

// results returns the results of an operation; one without a name is the whole body.
func (o *operation) results() (all []parameter) {
	d, result := schemas{o.document}, o.result()
	for _, name := range d.propertyNames(result) {
		all = append(all, parameter{name: name, schema: d.resolve(result).Properties[name]})
	}
	if o.isUnlisted(result) {
		all = append(all, parameter{schema: result})
	}
	return all
}

const (
	wholeBody   = "(the whole body)"
	eachElement = "(each element)"
)

// isUnlisted reports whether a body has no described members, but may have content nevertheless.
func (o *operation) isUnlisted(body *schema.Schema) bool {
	d := schemas{o.document}
	return body != nil && len(d.propertyNames(body)) == 0 && !o.isArguments(body)
}

// listing lists values: the arguments of a method, or its results.
type listing struct {
	schemas
	rows *table
	verb string
}

// value lists a value, and its parts with their names on the command line.
func (l listing) value(v parameter, above []*schema.Schema) {
	l.row(v)
	l.parts(v.name+".", v, above)
}

// parts lists the members of an object, or of the objects in an array.
func (l listing) parts(prefix string, of parameter, above []*schema.Schema) {
	const deepest = 7 // schemas; each level may add two
	whole := l.resolve(of.schema)
	if slices.Contains(above, whole) || len(above) >= deepest {
		return
	}
	resolved := whole
	if l.kind(of.schema) == typeArray {
		resolved = l.resolve(whole.Items)
		prefix += "0."
	}
	above = append(above, whole, resolved)
	for _, name := range l.propertyNames(resolved) {
		asked := of.in != "" && slices.Contains(resolved.Required, name)
		l.value(parameter{name: prefix + name, schema: resolved.Properties[name], in: of.in, asked: asked}, above)
	}
}

// row lists a value: its name, type, place, conditions and description.
func (l listing) row(v parameter) {
	notes := strings.Join(l.asked(v), ", ")
	if description := cleanLine(l.description(v.schema)); description != "" && notes != "" {
		notes += "; " + description
	} else {
		notes += description
	}
	l.rows.add(notes, l.verb, cleanLine(v.name), cleanLine(l.text(v.schema)), v.in)
}

// asked returns the conditions on an argument in addition to its type. For a result these would be promises, of which
// only the choices matter.
func (d schemas) asked(v parameter) (all []string) {
	if v.in == "" {
		if choices := choicesOf(d.resolve(v.schema)); choices != "" {
			all = append(all, choices)
		}
		return all
	}
	if v.asked {
		all = append(all, "required")
	}
	if v.rest {
		all = append(all, "may contain slashes")
	}
	return append(all, d.demands(v.schema)...)
}

// writeIndented writes paragraphs, if there are any.
func writeIndented(text *strings.Builder, indent, paragraphs string) {
	for line := range strings.Lines(clean(strings.TrimSpace(paragraphs))) {
		text.WriteString(strings.TrimRight(indent+line, " \n") + "\n")
	}
}

// differences returns a line that says which instances have different documents of a port, as during an update, or when
// two programs share a host; "" if all have the same. Calls reach any of them, and so do requests for the document.
func (s *session) differences(ctx context.Context, instances []instance, port int) string {
	var texts []string
	var groups [][]string // the instances with each text
	for _, each := range instances {
		if !slices.Contains(each.Ports, port) {
			continue
		}
		known, err := s.fetch(ctx, each.ID+"."+each.Host, port)
		if err != nil {
			continue // it has gone, or hides everything
		}
		at := slices.Index(texts, string(known.text))
		if at < 0 {
			at = len(texts)
			texts, groups = append(texts, string(known.text)), append(groups, nil)
		}
		groups[at] = append(groups[at], cleanLine(each.ID))
	}
	if len(groups) < 2 {
		return ""
	}
	var lists []string
	for _, ids := range groups {
		lists = append(lists, strings.Join(ids, ", "))
	}
	first := groups[0][0] + "." + instances[0].Host
	return fmt.Sprintf("%d different documents of port %d: %s (busline describe %s shows that of one)\n", len(groups),
		port, strings.Join(lists, " / "), first)
}

// heading returns the method and the address: "POST calculator.example/add".
func (o *operation) heading() string {
	return cleanLine(o.method + " " + strings.TrimSuffix(o.place, ":443") + o.path)
}

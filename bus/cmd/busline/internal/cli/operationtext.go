package cli

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/busline/busline/reflectapi"
)

// writeOperation writes one operation.
func (s *session) writeOperation(text *strings.Builder, o *operation) {
	text.WriteString(s.style().bold(o.method + " " + cleanLine(strings.TrimSuffix(o.place, ":443")+o.path)))
	if o.needsToken() {
		text.WriteString("  (asks for a token)")
	}
	text.WriteString("\n")
	if !o.isOpen() {
		writeIndented(text, "  ", o.Summary)
	}
	writeIndented(text, "  ", o.Description)
	table := tabwriter.NewWriter(text, 0, 0, 2, ' ', 0)
	d := schemas{o.document}
	for _, each := range o.parameters() {
		d.writeRows(table, "takes", each.name, each.schema, each.in, []*reflectapi.Schema{d.resolve(o.body())})
	}
	if o.body() != nil && len(d.propertyNames(o.body())) == 0 && d.kind(o.body()) != typeObject {
		d.writeRow(table, "takes", wholeBody, o.body(), inBody)
	}
	if result := o.result(); result != nil {
		names := d.propertyNames(result)
		for _, name := range names {
			d.writeRows(table, "returns", name, d.resolve(result).Properties[name], "", []*reflectapi.Schema{d.resolve(result)})
		}
		if d.kind(result) != typeObject {
			d.writeRow(table, "returns", wholeBody, result, "")
			d.writeParts(table, "returns", "", result, "", nil)
		}
	}
	if o.isOpen() {
		fmt.Fprintf(table, "  takes\twhatever the handler takes\n")
	}
	_ = table.Flush() // a strings.Builder takes everything
}

const wholeBody = "(the whole body)"

// writeRows writes a value, and the parts of it as they are named on the command line.
func (d schemas) writeRows(table *tabwriter.Writer, verb, name string, schema *reflectapi.Schema, in string, above []*reflectapi.Schema) {
	d.writeRow(table, verb, name, schema, in)
	d.writeParts(table, verb, name+".", schema, in, above)
}

// writeParts writes the members of an object, or of the objects in an array.
func (d schemas) writeParts(table *tabwriter.Writer, verb, prefix string, schema *reflectapi.Schema, in string, above []*reflectapi.Schema) {
	const deepest = 7 // schemas, two of which a level may add
	resolved := d.resolve(schema)
	if slices.Contains(above, resolved) || len(above) >= deepest {
		return
	}
	if d.kind(schema) == typeArray {
		resolved = d.resolve(resolved.Items)
		prefix += "0."
	}
	above = append(above, d.resolve(schema), resolved)
	for _, member := range d.propertyNames(resolved) {
		d.writeRows(table, verb, prefix+member, resolved.Properties[member], in, above)
	}
}

// writeRow writes a line of the table: what it is called, its type, where it goes, what there is to say.
func (d schemas) writeRow(table *tabwriter.Writer, verb, name string, schema *reflectapi.Schema, in string) {
	resolved := d.resolve(schema)
	kind := d.text(schema)
	if len(resolved.Enum) > 0 {
		texts := make([]string, len(resolved.Enum))
		for i, each := range resolved.Enum {
			texts[i] = fmt.Sprint(each)
		}
		kind += ": " + strings.Join(texts, ", ")
	}
	line := fmt.Sprintf("  %s\t%s\t%s\t%s\t%s", verb, cleanLine(name), cleanLine(kind), in, cleanLine(resolved.Description))
	fmt.Fprintln(table, strings.TrimRight(line, "\t"))
}

// writeIndented writes paragraphs, if there are any.
func writeIndented(text *strings.Builder, indent, paragraphs string) {
	for line := range strings.Lines(clean(strings.TrimSpace(paragraphs))) {
		text.WriteString(strings.TrimRight(indent+line, " \n") + "\n")
	}
}

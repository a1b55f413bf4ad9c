package reflectapi

import (
	"errors"
	"fmt"
	"go/ast"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/busline/busline/reflectapi/similar"
)

// DirectivePrefix begins the lines in the comments of an interface that declare more of it than Go's syntax does:
//
//	// Orders takes orders.
//	//
//	//busline:port 444
//	//busline:resource orders
//	type Orders interface {
//		// Cancel cancels an order.
//		//
//		//busline:route POST /orders/{id}/cancel
//		//busline:arg reason maxLength=200 default=none why the order is cancelled
//		//busline:status 202
//		//busline:problem 409 too-late TooLate
//		Cancel(ctx context.Context, id int, reason string) error
//	}
//
//	// Events are what happens to orders.
//	type Events interface {
//		// OnSent tells that an order is on its way.
//		//
//		//busline:key id
//		OnSent(ctx context.Context, id int, carrier string) error
//	}
//
// apigen copies them to the signature table, from which services read them, so that these and the generated client agree. Like
// all comments of this form (https://go.dev/doc/comment#syntax) they are no part of the text that people read.
const DirectivePrefix = "//busline:"

// The directives. Those of a type are port, resource and, in signature tables, client.
const (
	RouteDirective    = DirectivePrefix + "route"    // METHOD /path
	MethodDirective   = DirectivePrefix + "method"   // METHOD; the path stays
	PortDirective     = DirectivePrefix + "port"     // 1 to 65535
	ResourceDirective = DirectivePrefix + "resource" // collection of methods that are bare verbs
	ArgDirective      = DirectivePrefix + "arg"      // name, keywords, description
	ResultDirective   = DirectivePrefix + "result"   // likewise
	StatusDirective   = DirectivePrefix + "status"   // of success; the first is the default
	ProblemDirective  = DirectivePrefix + "problem"  // status, type, Go type of the details
	KeyDirective      = DirectivePrefix + "key"      // the argument of an event that orders it
	FieldDirective    = DirectivePrefix + "field"    // of the form of a web method: name, type, keywords, description
	ClientDirective   = DirectivePrefix + "client"   // type and perhaps the port of the client, written by apigen
)

// Declared is what directives declare of a method or of an interface as a whole. The zero value declares nothing.
type Declared struct {
	Lines []string // the directives themselves

	HTTPMethod string // "PUT"; "" leaves it to the name
	Path       string // "/orders/{id}/cancel"; "" leaves it to the name
	Port       int    // 0 leaves it to the service
	Resource   string // of an interface: its collection; "" leaves it to the name
	Client     string // of an interface: the type of its generated client; "" if it has none

	Statuses []int     // of success; the first one is that of a method without httpStatusCode; none stands for 200
	Problems []Problem // kinds of failure
	Key      string    // of an event: the argument that orders it, as those with equal keys are handled in order; "" for none

	Form []FormField // of a web method: the fields and files of the form that it reads

	values []valueDirective
}

// Problem is a kind of failure that a method declares.
type Problem struct {
	Status      int          // 400 to 599
	Type        string       // URI reference: "out-of-stock"
	DetailsName string       // Go type of the details as written; "" if there are none
	Details     reflect.Type // nil if there are none, or if only source is available
}

// valueDirective declares more of one argument or result.
type valueDirective struct {
	result   bool
	name     string
	keywords []string // of a jsonschema tag: "minimum=1", "required"
	optional bool     // it may be missing although the zero value does not fit
}

// DirectivesIn returns what a comment declares. The error says what is wrong with a directive, and the remedy. Whether it fits the
// method is checked when that is described.
func DirectivesIn(comment *ast.CommentGroup) (declared Declared, err error) {
	if comment == nil {
		return declared, nil
	}
	for _, line := range comment.List {
		if !strings.HasPrefix(line.Text, DirectivePrefix) {
			continue
		}
		if err := declared.read(line.Text); err != nil {
			return declared, err
		}
	}
	return declared, nil
}

// read reads one directive.
func (d *Declared) read(line string) error {
	words := strings.Fields(line)
	name, words := words[0], words[1:]
	usage, known := usages()[name]
	if !known {
		return fmt.Errorf("its comment has %s, which is not a directive: there are %s", name, strings.Join(directives(), ", "))
	}
	if isOnce(name) && d.has(name) {
		return fmt.Errorf("its comment has more than one %s: leave one", name)
	}
	if !d.take(name, words) {
		return fmt.Errorf("its comment has %q: write %s", line, usage)
	}
	if name == RouteDirective && d.has(MethodDirective) || name == MethodDirective && d.has(RouteDirective) {
		return fmt.Errorf("its comment has %s and %s: leave one, a route has a method", RouteDirective, MethodDirective)
	}
	if name == ArgDirective || name == ResultDirective {
		value, err := valueIn(name, strings.TrimSpace(strings.TrimPrefix(line, name)))
		if err != nil {
			return err
		}
		d.values = append(d.values, value)
	}
	if name == FieldDirective {
		about := strings.TrimSpace(strings.TrimPrefix(line, name))
		for _, word := range words[:2] {
			about = strings.TrimSpace(strings.TrimPrefix(about, word))
		}
		d.Form = append(d.Form, FormField{Name: words[0], Type: words[1], About: about})
	}
	d.Lines = append(d.Lines, strings.TrimSpace(line))
	return nil
}

// has reports whether a directive was read.
func (d *Declared) has(name string) bool {
	return slices.ContainsFunc(d.Lines, func(line string) bool { return strings.HasPrefix(line+" ", name+" ") })
}

// take reads the words of a directive; false if they have not its form.
func (d *Declared) take(name string, words []string) bool {
	switch {
	case name == RouteDirective && len(words) == 2:
		d.HTTPMethod, d.Path = words[0], words[1]
		return strings.HasPrefix(d.Path, "/")
	case name == MethodDirective && len(words) == 1:
		d.HTTPMethod = words[0]
	case name == PortDirective && len(words) == 1:
		port, err := strconv.ParseUint(words[0], 10, 16)
		d.Port = int(port)
		return err == nil && port > 0
	case name == ResourceDirective && len(words) == 1:
		d.Resource = words[0]
	case name == ClientDirective && (len(words) == 1 || len(words) == 2 && d.take(PortDirective, words[1:])):
		d.Client = words[0]
	case name == KeyDirective && len(words) == 1:
		d.Key = words[0]
	case name == StatusDirective && len(words) > 0:
		return d.takeStatuses(words)
	case name == ProblemDirective && (len(words) == 2 || len(words) == 3):
		return d.takeProblem(words)
	default:
		return (name == ArgDirective || name == ResultDirective || name == FieldDirective) && len(words) > 1
	}
	return true
}

func (d *Declared) takeStatuses(words []string) bool {
	for _, word := range words {
		status, err := strconv.Atoi(word)
		if err != nil || status < 200 || status > 399 || slices.Contains(d.Statuses, status) {
			return false
		}
		d.Statuses = append(d.Statuses, status)
	}
	return true
}

func (d *Declared) takeProblem(words []string) bool {
	status, err := strconv.Atoi(words[0])
	_, notURI := url.Parse(words[1])
	if err != nil || notURI != nil || status < 400 || status > 599 || words[1] == "about:blank" {
		return false
	}
	problem := Problem{Status: status, Type: words[1]}
	if len(words) == 3 {
		problem.DetailsName = words[2]
	}
	d.Problems = append(d.Problems, problem)
	return true
}

// usages returns how each directive is written.
func usages() map[string]string {
	return map[string]string{
		RouteDirective:    "an HTTP method and a path, as in " + RouteDirective + " POST /orders/{id}/cancel",
		MethodDirective:   "an HTTP method, as in " + MethodDirective + " PUT",
		PortDirective:     "a port from 1 to 65535, as in " + PortDirective + " 444",
		ResourceDirective: "a collection, as in " + ResourceDirective + " orders",
		ArgDirective:      "a name, then keywords, a description or both, as in " + ArgDirective + " limit minimum=1 default=20 page size",
		ResultDirective:   "a name, then keywords, a description or both, as in " + ResultDirective + " id number of the order",
		StatusDirective:   "different statuses from 200 to 399, as in " + StatusDirective + " 201",
		ProblemDirective:  "a status from 400 to 599, a type, and the Go type of the details if it has some, as in " + ProblemDirective + " 409 out-of-stock OutOfStock",
		KeyDirective:      "the name of one argument, as in " + KeyDirective + " number",
		FieldDirective:    "a name and a type, then keywords, a description or both, as in " + FieldDirective + " title string required maxLength=80 title of the page",
		ClientDirective:   "the type of the client, and the port of its host",
	}
}

// directives returns the directives that are written by hand.
func directives() []string {
	return []string{ArgDirective, ResultDirective, StatusDirective, ProblemDirective, RouteDirective, MethodDirective, PortDirective, ResourceDirective, KeyDirective, FieldDirective}
}

// isOnce reports whether a comment may have a directive only once.
func isOnce(name string) bool {
	return name != ArgDirective && name != ResultDirective && name != ProblemDirective && name != FieldDirective
}

// valueIn reads what declares an argument or a result: its name, keywords, and a description.
func valueIn(directive, text string) (valueDirective, error) {
	name, text, _ := strings.Cut(text, " ")
	value, err := keywordsIn(valueDirective{result: directive == ResultDirective, name: name}, text)
	if err != nil {
		return value, fmt.Errorf("%s %s: %w", directive, name, err)
	}
	return value, nil
}

// keywordsIn adds the keywords and the description in a text to a value.
func keywordsIn(value valueDirective, text string) (valueDirective, error) {
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		word, rest, err := cutKeyword(text)
		switch {
		case err != nil:
			return value, err
		case word == "":
			if late := lateKeyword(text); late != "" {
				return value, fmt.Errorf("%s is in the description: write keywords before it", late)
			}
			value.keywords = append(value.keywords, "description="+text)
			return value, nil
		case word == "optional":
			value.optional = true
		default:
			value.keywords = append(value.keywords, word)
		}
		text = rest
	}
	if value.optional && slices.Contains(value.keywords, "required") {
		return value, errors.New("is both required and optional")
	}
	return value, nil
}

// cutKeyword cuts the first word off, or a value in quotes with its keyword; "" where the description begins.
func cutKeyword(text string) (word, rest string, err error) {
	word, rest, _ = strings.Cut(text, " ")
	key, value, assigned := strings.Cut(word, "=")
	switch {
	case word == "required" || word == "optional" || word == "nullable":
		return word, rest, nil
	case !assigned || keywordLike(key) == "":
		return "", text, nil
	case !strings.HasPrefix(value, `"`):
		return word, rest, nil
	}
	quoted, err := strconv.QuotedPrefix(text[len(key)+1:])
	if err != nil {
		return "", text, fmt.Errorf("the value of %s has no end: close its quotation mark", key)
	}
	value, _ = strconv.Unquote(quoted)
	return key + "=" + value, text[len(key)+1+len(quoted):], nil
}

// lateKeyword returns a word of a description that was meant as a keyword, "" if there is none.
func lateKeyword(description string) string {
	for word := range strings.FieldsSeq(description) {
		if key, _, assigned := strings.Cut(word, "="); assigned && keywordLike(key) != "" {
			return word
		}
	}
	return ""
}

// tag returns the tag that makes a field of a struct what is declared.
func (v valueDirective) tag() reflect.StructTag {
	var parts []string
	for _, keyword := range v.keywords {
		key, value, _ := strings.Cut(keyword, "=")
		if key == "enum" {
			for choice := range strings.SplitSeq(value, ",") {
				parts = append(parts, "enum="+choice)
			}
			continue
		}
		parts = append(parts, strings.ReplaceAll(keyword, ",", `\,`))
	}
	return reflect.StructTag("jsonschema:" + strconv.Quote(strings.Join(parts, ",")))
}

// declare gives the method what its directives declare, after its arguments and results have their names.
func (m *Method) declare(declared Declared) error {
	m.Declared = declared
	var errs []error
	if declared.Resource != "" || declared.Client != "" {
		errs = append(errs, fmt.Errorf("its comment has %s, which is for the comment of the interface", ResourceDirective))
	}
	if m.Kind == Web && (declared.Key != "" || len(declared.values)+len(declared.Statuses)+len(declared.Problems) > 0) {
		return errors.Join(append(errs, errors.New("is a web method, which reads and writes HTTP itself: declare no arguments, results, statuses, problems and keys"))...)
	}
	if len(declared.Form) > 0 {
		errs = append(errs, m.checkForm(declared.Form))
	}
	for i := range declared.values {
		errs = append(errs, m.declareValue(&declared.values[i]))
	}
	if declared.Key != "" {
		errs = append(errs, m.checkKey(declared.Key))
	}
	for i, problem := range declared.Problems {
		if slices.ContainsFunc(declared.Problems[:i], func(other Problem) bool { return other.Type == problem.Type }) {
			errs = append(errs, fmt.Errorf("%s %d %s: the type is declared twice: leave one", ProblemDirective, problem.Status, problem.Type))
		}
	}
	return errors.Join(errs...)
}

// checkForm returns an error unless the method can read the form.
func (m *Method) checkForm(fields []FormField) error {
	if m.Kind != Web {
		return fmt.Errorf("its comment has %s %s, which is for web methods: a function is described by its arguments", FieldDirective, fields[0].Name)
	}
	_, err := DescribeForm(fields)
	return err
}

// declareValue gives an argument or a result its tag.
func (m *Method) declareValue(declared *valueDirective) error {
	values, directive, what := m.Args, ArgDirective, "argument"
	if declared.result {
		values, directive, what = m.Results, ResultDirective, "result"
	}
	i := slices.IndexFunc(values, func(v Value) bool { return v.Name == declared.name })
	switch {
	case i < 0:
		return fmt.Errorf("%s %s: the method has no %s of that name%s", directive, declared.name, what, namesIn(values))
	case values[i].Tag != "":
		return fmt.Errorf("%s %s: it is declared twice: leave one", directive, declared.name)
	}
	value := values[i]
	value.Tag, value.Optional = declared.tag(), declared.optional
	if problem := tagErrors(reflect.StructOf([]reflect.StructField{value.field(0)})); len(problem) > 0 {
		_, reason, _ := strings.Cut(problem[0].Error(), ": jsonschema ")
		return fmt.Errorf("%s %s: %s", directive, declared.name, reason)
	}
	values[i] = value
	return nil
}

// checkKey returns an error unless an argument can order the event.
func (m *Method) checkKey(name string) error {
	i := slices.IndexFunc(m.Args, func(v Value) bool { return v.Name == name })
	if i < 0 {
		return fmt.Errorf("%s %s: the method has no argument of that name%s%s", KeyDirective, name, namesIn(m.Args), similar.DidYouMean(name, namesOf(m.Args)))
	}
	if t := m.Args[i].Type; !IsKey(t) {
		return fmt.Errorf("%s %s: the argument is of type %v: use a text, an integer or a type that marshals as text", KeyDirective, name, t)
	}
	return nil
}

// IsKey reports whether a value of a type, or what it points to, can order events: a text, an integer, or a type that marshals as text.
func IsKey(t reflect.Type) bool {
	t = base(t)
	switch t.Kind() {
	case reflect.String, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	default:
		return writesText(t)
	}
}

// namesIn lists the names of values for a message.
func namesIn(values []Value) string {
	if len(values) == 0 {
		return ""
	}
	return "; it has " + strings.Join(namesOf(values), ", ")
}

func namesOf(values []Value) []string {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = v.Name
	}
	return names
}

// TypeDirectivesIn is [DirectivesIn] for the comment of an interface.
func TypeDirectivesIn(comment *ast.CommentGroup) (Declared, error) {
	declared, err := DirectivesIn(comment)
	for _, line := range declared.Lines {
		switch name, _, _ := strings.Cut(line, " "); name {
		case PortDirective, ResourceDirective, ClientDirective:
		default:
			return declared, fmt.Errorf("its comment has %s, which is for the comments of methods", line)
		}
	}
	return declared, err
}

// OfCalls returns the first directive that an event cannot have, "" if there is none.
func (d Declared) OfCalls() string {
	i := slices.IndexFunc(d.Lines, func(line string) bool {
		name, _, _ := strings.Cut(line, " ")
		return name != ArgDirective && name != KeyDirective && name != ClientDirective
	})
	if i < 0 {
		return ""
	}
	return d.Lines[i]
}

// CheckCall returns an error for a directive that only an event can have.
func (d Declared) CheckCall() error {
	if d.Key == "" {
		return nil
	}
	return fmt.Errorf("has %s %s, which is for events: leave it out, as calls have no order", KeyDirective, d.Key)
}

// text lists the directives of an author, for comparison.
func (d Declared) text() string {
	lines := slices.DeleteFunc(slices.Clone(d.Lines), func(line string) bool { return strings.HasPrefix(line, ClientDirective) })
	if len(lines) == 0 {
		return "nothing"
	}
	return strings.Join(lines, ", ")
}

// resolve finds the Go types of details, which a signature table has beside the text.
func (d *Declared) resolve(iface reflect.Type) error {
	d.Problems = slices.Clone(d.Problems)
	for i := range d.Problems {
		problem := &d.Problems[i]
		if problem.DetailsName == "" {
			continue
		}
		if problem.Details = registered.detailsOf(iface, problem.DetailsName); problem.Details == nil {
			return fmt.Errorf("%s %d %s: the signature table has no type %s: write it with apigen, or run go generate",
				ProblemDirective, problem.Status, problem.Type, problem.DetailsName)
		}
	}
	return nil
}

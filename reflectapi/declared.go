package reflectapi

import (
	"errors"
	"fmt"
	"go/ast"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/busline/busline/reflectapi/internal/gotype"
	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/reflectapi/similar"
)

// Declared is what directives declare of a method or of an interface as a whole. The zero value declares nothing.
type Declared struct {
	Lines []string // the directives themselves

	HTTPMethod string   // "PUT"; "" leaves it to the name
	Path       string   // "/orders/{id}/cancel"; "" leaves it to the name
	Port       int      // 0 leaves it to the service
	Resource   string   // of an interface: its collection; "" leaves it to the name
	Callers    []string // the hosts that may call, "*.billing.example" for all below; nil leaves it to the service
	Client     string   // of an interface: the type of its generated client; "" if it has none

	Statuses []int     // of success; the first one is that of a method without httpStatusCode; none stands for 200
	Problems []Problem // kinds of failure
	// of an event: the argument that orders it, as those with equal keys are handled in order; "" for none
	Key string

	Idempotent bool // requests have an Idempotency-Key, and run once however often they come

	Tool *Tool // what agents are told; nil leaves it to the name and the HTTP method

	Form []FormField // of a web method: the fields and files of the form that it reads

	OneOf *OneOf // of an interface that is a union; nil for any other

	values []valueDirective
}

// Problem is a kind of failure that a method declares.
type Problem struct {
	Status      int          // 400 to 599
	Type        string       // URI reference: "out-of-stock"
	DetailsName string       // Go type of the details as written; "" if there are none
	Details     reflect.Type // nil if there are none, or if only source is available
}

// Tool is what agents are told of a method that is a tool for them. What is absent is left to the name and the HTTP
// method.
type Tool struct {
	Name        string `json:"name,omitempty"`  // "pay"
	Title       string `json:"title,omitempty"` // "Take a payment"
	Hidden      bool   `json:"hidden,omitempty"`
	ReadOnly    *bool  `json:"readOnly,omitempty"`
	Destructive *bool  `json:"destructive,omitempty"`
	Idempotent  *bool  `json:"idempotent,omitempty"`
	OpenWorld   *bool  `json:"openWorld,omitempty"` // it deals with what is outside of the bus
}

// OneOf are the variants of a union, as source declares them.
type OneOf struct {
	Discriminator string // the member that tells them apart: "kind"
	Names, Types  []string
}

// valueDirective declares more of one argument or result.
type valueDirective struct {
	result   bool
	name     string
	keywords []string // of a jsonschema tag: "minimum=1", "required"
	optional bool     // it may be missing although the zero value does not fit
}

// DirectivesIn returns what a comment declares. The error says what is wrong with a directive, also with a line that
// was meant as one, and the remedy. Whether it fits the method is checked when that is described.
func DirectivesIn(comment *ast.CommentGroup) (declared Declared, err error) {
	if comment == nil {
		return declared, nil
	}
	for _, each := range comment.List {
		is := strings.HasPrefix(each.Text, DirectivePrefix)
		line, _, write := MeantAsDirective(each.Text)
		switch {
		case write != "" && (!is || nameOf(line) == DirectivePrefix): // a blank before or behind the colon
			err = fmt.Errorf("its comment has %q, which declares nothing: write %s", line, write)
		case is:
			err = declared.read(each.Text)
		}
		if err != nil {
			return declared, err
		}
	}
	return declared, nil
}

// errMisfit is the error of a directive whose text has another form.
var errMisfit = errors.New("has another form")

// read reads one directive.
func (d *Declared) read(line string) error {
	line = strings.TrimSpace(line)
	found, err := directive(line)
	if err != nil {
		return err
	}
	if found.Once && d.has(found.Name) {
		return fmt.Errorf("its comment has more than one %s: leave one", found.Name)
	}
	text := strings.TrimSpace(strings.TrimPrefix(line, found.Name))
	switch err := found.read(d, strings.Fields(text), text); {
	case errors.Is(err, errMisfit):
		return fmt.Errorf("its comment has %q: write %s", line, found.usage())
	case err != nil:
		return fmt.Errorf("%s %w", found.Name, err)
	}
	d.Lines = append(d.Lines, line)
	if d.has(RouteDirective) && d.has(MethodDirective) {
		return fmt.Errorf("its comment has %s and %s: leave one, a route has a method", RouteDirective, MethodDirective)
	}
	return nil
}

// has reports whether a directive was read.
func (d *Declared) has(name string) bool {
	return slices.ContainsFunc(d.Lines, func(line string) bool { return nameOf(line) == name })
}

func (d *Declared) readRoute(words []string, _ string) error {
	if len(words) != 2 || !strings.HasPrefix(words[1], "/") {
		return errMisfit
	}
	d.HTTPMethod, d.Path = words[0], words[1]
	return nil
}

func (d *Declared) readMethod(words []string, _ string) error   { return readWord(words, &d.HTTPMethod) }
func (d *Declared) readResource(words []string, _ string) error { return readWord(words, &d.Resource) }
func (d *Declared) readKey(words []string, _ string) error      { return readWord(words, &d.Key) }

func (d *Declared) readCallers(words []string, _ string) error {
	if len(words) == 0 {
		return errMisfit
	}
	d.Callers = words
	return nil
}

func (d *Declared) readIdempotent(words []string, _ string) error {
	if len(words) > 0 {
		return errMisfit
	}
	d.Idempotent = true
	return nil
}

// readWord takes the only word.
func readWord(words []string, into *string) error {
	if len(words) != 1 {
		return errMisfit
	}
	*into = words[0]
	return nil
}

func (d *Declared) readPort(words []string, text string) error {
	port, err := strconv.ParseUint(text, 10, 16)
	if len(words) != 1 || err != nil || port == 0 {
		return errMisfit
	}
	d.Port = int(port)
	return nil
}

func (d *Declared) readClient(words []string, _ string) error {
	if len(words) == 2 {
		if err := d.readPort(words[1:], words[1]); err != nil {
			return err
		}
		words = words[:1]
	}
	return readWord(words, &d.Client)
}

func (d *Declared) readStatuses(words []string, _ string) error {
	for _, word := range words {
		status, err := strconv.Atoi(word)
		if err != nil || status < 200 || status > 399 || slices.Contains(d.Statuses, status) {
			return errMisfit
		}
		d.Statuses = append(d.Statuses, status)
	}
	if len(words) == 0 {
		return errMisfit
	}
	return nil
}

func (d *Declared) readProblem(words []string, _ string) error {
	if len(words) != 2 && len(words) != 3 {
		return errMisfit
	}
	status, err := strconv.Atoi(words[0])
	_, notURI := url.Parse(words[1])
	if err != nil || notURI != nil || status < 400 || status > 599 || words[1] == "about:blank" {
		return errMisfit
	}
	problem := Problem{Status: status, Type: words[1]}
	if len(words) == 3 {
		problem.DetailsName = words[2]
	}
	d.Problems = append(d.Problems, problem)
	return nil
}

func (d *Declared) readOneOf(words []string, _ string) error {
	if len(words) < 2 || strings.Contains(words[0], "=") {
		return errMisfit
	}
	if d.OneOf == nil {
		d.OneOf = &OneOf{Discriminator: words[0]}
	}
	if words[0] != d.OneOf.Discriminator {
		return fmt.Errorf("names %s and %s: all variants are told apart by one member", d.OneOf.Discriminator, words[0])
	}
	for _, variant := range words[1:] {
		name, typeName, assigned := strings.Cut(variant, "=")
		switch {
		case !assigned || name == "" || typeName == "":
			return errMisfit
		case slices.Contains(d.OneOf.Names, name):
			return fmt.Errorf("has two variants %s: give each its own name", name)
		}
		d.OneOf.Names, d.OneOf.Types = append(d.OneOf.Names, name), append(d.OneOf.Types, typeName)
	}
	return nil
}

// toolName is what the name of a tool may be.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func (d *Declared) readTool(words []string, text string) error {
	if len(words) == 0 {
		return errMisfit
	}
	d.Tool = new(Tool)
	for text != "" {
		word, rest, _ := strings.Cut(text, " ")
		key, value, assigned := strings.Cut(word, "=")
		if strings.HasPrefix(value, `"`) {
			quoted, err := strconv.QuotedPrefix(text[len(key)+1:])
			if err != nil {
				return fmt.Errorf("the value of %s has no end: close its quotation mark", key)
			}
			value, _ = strconv.Unquote(quoted)
			rest = text[len(key)+1+len(quoted):]
		}
		if err := d.Tool.set(key, value, assigned); err != nil {
			return err
		}
		text = strings.TrimSpace(rest)
	}
	if is(d.Tool.ReadOnly) && is(d.Tool.Destructive) {
		return errors.New("is both readOnly and destructive")
	}
	return nil
}

// set sets one member.
func (t *Tool) set(key, value string, assigned bool) error {
	hints := map[string]**bool{"readOnly": &t.ReadOnly, "destructive": &t.Destructive, "idempotent": &t.Idempotent,
		"openWorld": &t.OpenWorld}
	switch hint := hints[key]; {
	case key == "name" && !toolName.MatchString(value):
		return fmt.Errorf("has the name %q: use 1 to 64 letters, digits, _ and -", value)
	case key == "name":
		t.Name = value
	case key == "title" && value != "":
		t.Title = value
	case key == "hidden" && !assigned:
		t.Hidden = true
	case hint != nil && (!assigned || value == "true" || value == "false"):
		says := value != "false"
		*hint = &says
	default:
		return errMisfit
	}
	return nil
}

// is reports whether a hint is there, and true.
func is(hint *bool) bool { return hint != nil && *hint }

func (d *Declared) readField(words []string, text string) error {
	if len(words) < 2 {
		return errMisfit
	}
	for _, word := range words[:2] {
		text = strings.TrimSpace(strings.TrimPrefix(text, word))
	}
	d.Form = append(d.Form, FormField{Name: words[0], Type: words[1], About: text})
	return nil
}

func (d *Declared) readArg(words []string, text string) error { return d.readValue(words, text, false) }

func (d *Declared) readResult(words []string, text string) error {
	return d.readValue(words, text, true)
}

// readValue reads what declares an argument or a result: its name, keywords, and a description.
func (d *Declared) readValue(words []string, text string, isResult bool) error {
	if len(words) < 2 {
		return errMisfit
	}
	value, err := keywordsIn(valueDirective{result: isResult, name: words[0]}, strings.TrimPrefix(text, words[0]))
	if err != nil {
		return fmt.Errorf("%s: %w", words[0], err)
	}
	d.values = append(d.values, value)
	return nil
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
	case !assigned || schema.KeywordLike(key) == "":
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
		if key, _, assigned := strings.Cut(word, "="); assigned && schema.KeywordLike(key) != "" {
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
	place := OfCall | OfEvent
	if m.Kind == Web {
		place = OfWebMethod
	}
	if err := declared.CheckScope(place); err != nil {
		return fmt.Errorf("its comment %w", err)
	}
	var errs []error
	if len(declared.Form) > 0 {
		_, err := DescribeForm(declared.Form)
		errs = append(errs, err)
	}
	for i := range declared.values {
		errs = append(errs, m.declareValue(&declared.values[i]))
	}
	if declared.Key != "" {
		errs = append(errs, m.checkKey(declared.Key))
	}
	for i, problem := range declared.Problems {
		if slices.ContainsFunc(declared.Problems[:i], func(other Problem) bool { return other.Type == problem.Type }) {
			errs = append(errs, fmt.Errorf("%s %d %s: the type is declared twice: leave one", ProblemDirective, problem.Status,
				problem.Type))
		}
	}
	return errors.Join(errs...)
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
	if problem := schema.TagProblem(value.field(0)); problem != "" {
		return fmt.Errorf("%s %s: %s", directive, declared.name, problem)
	}
	values[i] = value
	return nil
}

// checkKey returns an error unless an argument can order the event.
func (m *Method) checkKey(name string) error {
	i := slices.IndexFunc(m.Args, func(v Value) bool { return v.Name == name })
	if i < 0 {
		return fmt.Errorf("%s %s: the method has no argument of that name%s%s", KeyDirective, name, namesIn(m.Args),
			similar.DidYouMean(name, namesOf(m.Args)))
	}
	if t := m.Args[i].Type; !IsKey(t) {
		return fmt.Errorf("%s %s: the argument is of type %v: use a text, an integer or a type that marshals as text",
			KeyDirective, name, t)
	}
	return nil
}

// IsKey reports whether a value of a type, or what it points to, can order events: a text, an integer, or a type that
// marshals as text.
func IsKey(t reflect.Type) bool {
	t = gotype.Base(t)
	switch t.Kind() {
	case reflect.String, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	default:
		return schema.WritesText(t)
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
	if err != nil {
		return declared, err
	}
	if err := declared.CheckScope(OfInterface); err != nil {
		return declared, fmt.Errorf("its comment %w", err)
	}
	return declared, nil
}

// CheckEmbedded returns an error for the first directive in the comment of an interface that outer embeds and that does
// not have it itself: it would be lost, as those of methods are not.
func (d Declared) CheckEmbedded(outer, embedded string, comment *ast.CommentGroup) error {
	inner, err := TypeDirectivesIn(comment)
	if err != nil {
		return fmt.Errorf("%s: %w", embedded, err)
	}
	for _, line := range inner.Lines {
		known, err := directive(line)
		if err != nil || d.has(known.Name) || known.IsGenerated() {
			continue
		}
		remedy := "repeat it above " + outer
		if known.Scope&OfCall != 0 {
			remedy += ", or put it at the methods of " + embedded
		}
		return fmt.Errorf("it embeds %s, whose comment has %s, which %s does not get: %s", embedded, line, outer, remedy)
	}
	return nil
}

// text lists the directives of an author, for comparison.
func (d Declared) text() string {
	lines := slices.DeleteFunc(slices.Clone(d.Lines),
		func(line string) bool { return strings.HasPrefix(line, ClientDirective) })
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

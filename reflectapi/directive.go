package reflectapi

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
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
//		//busline:tool idempotent openWorld=false
//		Cancel(ctx context.Context, id int, reason string) error
//	}
//
//	// Payment is how an order is paid.
//	//
//	//busline:oneOf kind card=Card transfer=Transfer
//	type Payment interface{ isPayment() }
//
//	// Events are what happens to orders.
//	type Events interface {
//		// OnSent tells that an order is on its way.
//		//
//		//busline:key id
//		OnSent(ctx context.Context, id int, carrier string) error
//	}
//
// apigen copies them to the signature table, from which services read them, so that these and the generated client
// agree. Like all comments of this form (https://go.dev/doc/comment#syntax) they are not part of the text that people
// read.
const DirectivePrefix = "//busline:"

// The directives, as [Directives] describes them.
const (
	RouteDirective    = DirectivePrefix + "route"
	MethodDirective   = DirectivePrefix + "method"
	PortDirective     = DirectivePrefix + "port"
	CallersDirective  = DirectivePrefix + "callers"
	ResourceDirective = DirectivePrefix + "resource"
	ArgDirective      = DirectivePrefix + "arg"
	ResultDirective   = DirectivePrefix + "result"
	StatusDirective   = DirectivePrefix + "status"
	ProblemDirective  = DirectivePrefix + "problem"
	KeyDirective      = DirectivePrefix + "key"
	FieldDirective    = DirectivePrefix + "field"
	OneOfDirective    = DirectivePrefix + "oneOf"
	ToolDirective     = DirectivePrefix + "tool"
	// IdempotentDirective is for methods whose service runs a request once, however often its key comes.
	IdempotentDirective = DirectivePrefix + "idempotent"
	ClientDirective     = DirectivePrefix + "client"
)

// Directive is what can be declared in a comment.
type Directive struct {
	Name    string // "//busline:route"
	Usage   string // what has to follow: "an HTTP method and a path"
	Example string // of what follows: "POST /orders/{id}/cancel"; "" for nothing
	Once    bool   // a comment may have it only once
	Scope   Scope  // where it may stand

	read func(d *Declared, words []string, text string) error // takes what follows; errMisfit if that is not as in Usage
}

// Directives returns all that there are, those of authors first.
func Directives() []Directive {
	const value = "a name, then keywords, a description or both"
	return []Directive{
		{ArgDirective, value, "limit minimum=1 default=20 page size", false, OfCall | OfEvent, (*Declared).readArg},
		{ResultDirective, value, "id number of the order", false, OfCall, (*Declared).readResult},
		{StatusDirective, "different statuses from 200 to 399", "201", true, OfCall, (*Declared).readStatuses},
		{ProblemDirective, "a status from 400 to 599, a type, and the Go type of the details if it has some",
			"409 out-of-stock OutOfStock", false, OfCall, (*Declared).readProblem},
		{RouteDirective, "an HTTP method and a path", "POST /orders/{id}/cancel", true, OfCall | OfWebMethod,
			(*Declared).readRoute},
		{MethodDirective, "an HTTP method", "PUT", true, OfCall | OfWebMethod, (*Declared).readMethod},
		{PortDirective, "a port from 1 to 65535", "444", true, OfCall | OfWebMethod | OfInterface, (*Declared).readPort},
		{CallersDirective, "the hosts that may call", "orders.example *.billing.example", true,
			OfCall | OfWebMethod | OfInterface, (*Declared).readCallers},
		{ResourceDirective, "a collection", "orders", true, OfInterface, (*Declared).readResource},
		{KeyDirective, "the name of one argument", "number", true, OfEvent, (*Declared).readKey},
		{FieldDirective, "a name and a type, then keywords, a description or both",
			"title string required maxLength=80 title of the page", false, OfWebMethod, (*Declared).readField},
		{OneOfDirective, "the member that tells variants apart, and the variants with their types",
			"kind card=Card transfer=Transfer", false, OfUnion, (*Declared).readOneOf},
		{ToolDirective, "hidden, a name, a title or what the tool does",
			`name=cancel title="Cancel an order" idempotent`, true, OfCall, (*Declared).readTool},
		{IdempotentDirective, "nothing behind it", "", true, OfCall, (*Declared).readIdempotent},
		{ClientDirective, "the type of the client, and the port of its host", "", true, OfInterface | OfEventInterface,
			(*Declared).readClient},
	}
}

// IsGenerated reports whether apigen writes the directive, and no author.
func (d Directive) IsGenerated() bool { return d.Name == ClientDirective }

// DirectivesOf returns the directives of authors that may stand at one of the places in a scope.
func DirectivesOf(places Scope) []Directive {
	return slices.DeleteFunc(Directives(), func(d Directive) bool { return d.IsGenerated() || d.Scope&places == 0 })
}

// directive returns the one that a line begins with. The error lists those that there are.
func directive(line string) (Directive, error) {
	name, all := nameOf(line), Directives()
	if i := slices.IndexFunc(all, func(d Directive) bool { return d.Name == name }); i >= 0 {
		return all[i], nil
	}
	names := directiveNames(DirectivesOf(everywhere))
	err := fmt.Errorf("its comment has %s, which is not a directive: there are %s", name, strings.Join(names, ", "))
	if meant := similarTo(name); meant != "" {
		err = fmt.Errorf("%w; did you mean %s?", err, meant)
	}
	return Directive{}, err
}

// similarTo returns the directive that a name was probably meant as, "" if none is similar.
func similarTo(name string) string {
	var words []string // without what all begin with
	for _, each := range Directives() {
		words = append(words, strings.TrimPrefix(each.Name, DirectivePrefix))
	}
	if meant := similar.Name(strings.TrimPrefix(name, DirectivePrefix), words); meant != "" {
		return DirectivePrefix + meant
	}
	return ""
}

// nameOf returns the name of the directive in a line.
func nameOf(line string) string { return strings.Fields(line)[0] }

func directiveNames(directives []Directive) []string {
	names := make([]string, len(directives))
	for i, each := range directives {
		names[i] = each.Name
	}
	return names
}

// usage says what to write.
func (d Directive) usage() string {
	if d.Example == "" {
		return d.Usage
	}
	return d.Usage + ", as in " + d.Name + " " + d.Example
}

// Scope is a set of places where directives may stand.
type Scope uint8

// The places: the comments of methods, and those of interfaces.
const (
	OfCall           Scope = 1 << iota // a function that is called
	OfEvent                            // a function that takes an event
	OfWebMethod                        // a method that reads and writes HTTP itself
	OfInterface                        // an interface of calls
	OfEventInterface                   // an interface of events
	OfUnion                            // an interface whose values are those of variants
	everywhere       = OfCall | OfEvent | OfWebMethod | OfInterface | OfEventInterface | OfUnion
)

// String lists the places: "calls and events".
func (s Scope) String() string {
	var places []string
	for i, place := range []string{"calls", "events", "web methods", "interfaces", "interfaces of events", "unions"} {
		if s&(1<<i) != 0 {
			places = append(places, place)
		}
	}
	return listed(places)
}

// listed joins words for a sentence: "a, b and c".
func listed(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// CheckScope returns an error for the first directive that belongs to none of the places: it "has //busline:key id,
// which is for events", and what the places may have.
func (d Declared) CheckScope(places Scope) error {
	for _, line := range d.Lines {
		if known, err := directive(line); err == nil && known.Scope&places == 0 {
			have := "none"
			if names := directiveNames(DirectivesOf(places)); len(names) > 0 {
				have = "only " + listed(names)
			}
			return fmt.Errorf("has %s, which is for %v: %v have %s", line, known.Scope, places, have)
		}
	}
	return nil
}

// almostDirective is a line of a comment that begins like a directive.
var almostDirective = regexp.MustCompile(`(?im)^[ \t/*]*busline([ \t]*[:-][ \t]*|[ \t]+)([a-z]+)\b(.*)$`)

// MeantAsDirective finds the first line in a comment that was probably meant as a directive, be it one or not: "//
// busline:key id" has a blank too many. It returns the line and where that begins in the comment, and how the directive
// is written, "//busline:key id"; "" if there is none. A line that only mentions a directive does not begin with it.
func MeantAsDirective(comment string) (line string, offset int, write string) {
	for _, at := range almostDirective.FindAllStringSubmatchIndex(comment, -1) {
		separator, word := comment[at[2]:at[3]], inCase(comment[at[4]:at[5]])
		text := strings.TrimSpace(strings.TrimSuffix(comment[at[6]:at[7]], "*/"))
		if write := meant(separator, DirectivePrefix+word, text); write != "" {
			return strings.TrimSpace(comment[at[0]:at[1]]), at[0], write
		}
	}
	return "", 0, ""
}

// inCase returns a word as a directive writes it, or else in lower case.
func inCase(word string) string {
	for _, each := range Directives() {
		if known := strings.TrimPrefix(each.Name, DirectivePrefix); strings.EqualFold(known, word) {
			return known
		}
	}
	return strings.ToLower(word)
}

// meant returns the directive that was meant by a name and the text after it; "" if that is prose. A misspelt name
// counts behind "busline:", and a name without a colon only if the text is that of the directive.
func meant(separator, name, text string) string {
	if separator == ":" {
		name = cmp.Or(similarTo(name), name)
	}
	known, err := directive(name)
	if err != nil {
		return ""
	}
	line := strings.TrimSpace(name + " " + text)
	switch fits := new(Declared).read(line) == nil; {
	case fits:
		return line
	case strings.TrimSpace(separator) == "":
		return ""
	default:
		return known.usage()
	}
}

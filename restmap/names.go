package restmap

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/gertd/go-pluralize"

	"github.com/busline/busline/reflectapi"
)

// Kebab returns a Go name in lower case, its words joined by hyphens:
//
//	Add → add    DefaultQueue → default-queue    HTTPStatus → http-status    UserIDs → user-ids
func Kebab(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if r == '_' {
			r = '-'
		} else if startsWord(runes, i) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// startsWord reports whether a word starts at a capital letter within a name: after a small letter or a digit, or at
// the last letter of an abbreviation. The small s of a plural belongs to its abbreviation.
func startsWord(name []rune, i int) bool {
	if i == 0 || !unicode.IsUpper(name[i]) || name[i-1] == '_' {
		return false
	}
	if !unicode.IsUpper(name[i-1]) {
		return true
	}
	after := name[i+1:]
	plural := len(after) > 0 && after[0] == 's' && (len(after) == 1 || !unicode.IsLower(after[1]))
	return len(after) > 0 && unicode.IsLower(after[0]) && !plural
}

// verb is the effect of a CRUD verb on a collection.
type verb struct {
	method string // "PUT"
	item   bool   // on one item, /objects/{id}, rather than on the collection
}

// verbOf returns the CRUD verb that a word is.
func verbOf(word string) (verb, bool) {
	switch word {
	case "Create":
		return verb{method: "POST"}, true
	case "Read", "Get", "Load":
		return verb{method: "GET", item: true}, true
	case "Update":
		return verb{method: "PUT", item: true}, true
	case "Patch":
		return verb{method: "PATCH", item: true}, true
	case "Delete":
		return verb{method: "DELETE", item: true}, true
	case "List", "ListAll":
		return verb{method: "GET"}, true
	default:
		return verb{}, false
	}
}

// restSuffix at the end of a method's name selects REST style.
const restSuffix = "REST"

// parsedName is a parsed method name: CreateOrderLineREST consists of Create, OrderLine and REST.
type parsedName struct {
	operation verb
	crud      bool   // it starts with a CRUD verb
	noun      string // what follows the verb: "OrderLine"; may be empty
	suffixed  bool   // it ends in REST
}

// parseName parses the name of a method.
func parseName(name string) parsedName {
	var p parsedName
	base := name
	if trimmed, found := strings.CutSuffix(name, restSuffix); found && trimmed != "" {
		base, p.suffixed = trimmed, true
	}
	verb, noun := cutVerb(base)
	if p.operation, p.crud = verbOf(verb); p.crud {
		p.noun = noun
	}
	return p
}

// cutVerb splits a name after its first word, or after ListAll.
func cutVerb(name string) (verb, noun string) {
	if noun, found := strings.CutPrefix(name, "ListAll"); found && startsNoun(noun) {
		return "ListAll", noun
	}
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			return name[:i], name[i:]
		}
	}
	return name, ""
}

// startsNoun reports whether s is empty or starts a new word.
func startsNoun(s string) bool {
	first, _ := utf8.DecodeRuneInString(s)
	return s == "" || unicode.IsUpper(first)
}

// collections derives the names of a service's collections.
type collections struct {
	resource string // for methods without a noun: "products"
	english  *pluralize.Client
}

// english is made once: it has many rules, and parsing them takes longer than everything else that is done for a
// service.
var english = sync.OnceValue(pluralize.NewClient) //nolint:gochecknoglobals // it does not change

func newCollections(service, resource string) collections {
	c := collections{strings.Trim(resource, "/"), english()}
	if c.resource == "" {
		c.resource = c.of(resourceOf(service))
	}
	return c
}

// of returns the collection of a noun, "" for an empty one: OrderLine → order-lines. A noun that is already plural
// stays as it is.
func (c collections) of(noun string) string {
	kebab := Kebab(noun)
	last := strings.LastIndexByte(kebab, '-') + 1
	return kebab[:last] + c.english.Plural(kebab[last:])
}

// path returns the path of the collection for a method with this noun.
func (c collections) path(noun string) string {
	if noun == "" {
		return "/" + c.resource
	}
	return "/" + c.of(noun)
}

// resourceOf returns the resource of a service's type: its name without suffixes that only say that it is a service.
// ProductService → Product, Store[T] → Store.
func resourceOf(typeName string) string {
	typeName, _, _ = strings.Cut(typeName, "[")
	for _, suffix := range []string{"Service", "Svc", "Server", "API"} {
		if trimmed, found := strings.CutSuffix(typeName, suffix); found && trimmed != "" {
			return trimmed
		}
	}
	return typeName
}

// The magic arguments: names that bind an argument or a result of a method to a part of the HTTP message itself.
const (
	// RequestBody is the argument for the whole body of the request.
	RequestBody = "httpRequestBody"
	// ResponseBody is the result that is the whole body of the response.
	ResponseBody = "httpResponseBody"
	// StatusCode is the int result that is the status of the response; 0 is the default, 200.
	StatusCode = "httpStatusCode"
)

// IdempotencyKey is the header field with which a request runs once, however often it is sent
// (draft-ietf-httpapi-idempotency-key-header): see //busline:idempotent.
const IdempotencyKey = "Idempotency-Key"

// LongestIdempotencyKey is the length of the longest key, in bytes.
const LongestIdempotencyKey = 255

// indexOf returns the index of the value of that name, -1 if there is none.
func indexOf(values []reflectapi.Value, name string) int {
	return slices.IndexFunc(values, func(v reflectapi.Value) bool { return v.Name == name })
}

// usesMagic reports whether a method has a magic argument.
func usesMagic(m *reflectapi.Method) bool {
	return indexOf(m.Args, RequestBody) >= 0 || indexOf(m.Results, ResponseBody) >= 0 ||
		indexOf(m.Results, StatusCode) >= 0
}

// checkMagic returns an error for magic arguments in a place where they have no meaning, and for names that are meant
// as such.
func checkMagic(m *reflectapi.Method) error {
	var errs []error
	for _, value := range slices.Concat(m.Args, m.Results) {
		for _, name := range []string{RequestBody, ResponseBody, StatusCode} {
			if value.Name != name && strings.EqualFold(value.Name, name) {
				errs = append(errs, fmt.Errorf("%s has no meaning in this spelling: write %s", value.Name, name))
			}
		}
	}
	for _, name := range []string{ResponseBody, StatusCode} {
		if indexOf(m.Args, name) >= 0 {
			errs = append(errs, fmt.Errorf("%s is an argument; it has to be a result", name))
		}
	}
	if indexOf(m.Results, RequestBody) >= 0 {
		errs = append(errs, fmt.Errorf("%s is a result; it has to be an argument", RequestBody))
	}
	status, body := indexOf(m.Results, StatusCode), indexOf(m.Results, ResponseBody)
	if status >= 0 && !m.Streams && m.Results[status].Type.Kind() != reflect.Int {
		errs = append(errs, fmt.Errorf("%s is of type %v; it has to be an int", StatusCode, m.Results[status].Type))
	}
	if m.Streams && (status >= 0 || body >= 0) {
		errs = append(errs,
			fmt.Errorf("%s is a stream, of which every element is written by itself: give the result another name, or none",
				m.Results[0].Name))
	}
	for i, result := range m.Results {
		if body >= 0 && i != body && i != status {
			errs = append(errs, fmt.Errorf("%s is the whole body, so there is no place for the result %s", ResponseBody,
				result.Name))
		}
	}
	return errors.Join(errs...)
}

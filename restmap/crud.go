package restmap

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// operation is the effect of a CRUD verb on a collection.
type operation struct {
	method string // "PUT"
	item   bool   // on one item, /objects/{id}, rather than on the collection
}

// operationOf returns the operation of a CRUD verb.
func operationOf(verb string) (operation, bool) {
	switch verb {
	case "Create":
		return operation{method: "POST"}, true
	case "Read", "Get", "Load":
		return operation{method: "GET", item: true}, true
	case "Update":
		return operation{method: "PUT", item: true}, true
	case "Patch":
		return operation{method: "PATCH", item: true}, true
	case "Delete":
		return operation{method: "DELETE", item: true}, true
	case "List", "ListAll":
		return operation{method: "GET"}, true
	default:
		return operation{}, false
	}
}

// restSuffix at the end of a method's name selects REST style.
const restSuffix = "REST"

// phrase is a parsed method name: CreateOrderLineREST consists of Create, OrderLine and REST.
type phrase struct {
	operation operation
	crud      bool   // it starts with a CRUD verb
	noun      string // what follows the verb: "OrderLine"; may be empty
	suffixed  bool   // it ends in REST
}

// parseName parses the name of a method.
func parseName(name string) phrase {
	var p phrase
	base := name
	if trimmed, found := strings.CutSuffix(name, restSuffix); found && trimmed != "" {
		base, p.suffixed = trimmed, true
	}
	verb, noun := cutVerb(base)
	if p.operation, p.crud = operationOf(verb); p.crud {
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

package restmap

import (
	"strings"
	"sync"

	"github.com/gertd/go-pluralize"
)

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

package restmap

import (
	"strings"
	"sync"

	"github.com/gertd/go-pluralize"
)

// collections names the collections of a service.
type collections struct {
	resource string // of the methods without a noun: "products"
	english  *pluralize.Client
}

// english is made once: its rules are many, and reading them takes longer than all else that is done for a service.
var english = sync.OnceValue(pluralize.NewClient) //nolint:gochecknoglobals // it does not change

func newCollections(service, resource string) collections {
	c := collections{strings.Trim(resource, "/"), english()}
	if c.resource == "" {
		c.resource = c.of(resourceOf(service))
	}
	return c
}

// of returns the collection of a noun, "" for none: OrderLine → order-lines. What is a
// plural already stays one.
func (c collections) of(noun string) string {
	kebab := Kebab(noun)
	last := strings.LastIndexByte(kebab, '-') + 1
	return kebab[:last] + c.english.Plural(kebab[last:])
}

// path returns the path of the collection that a method with this noun is about.
func (c collections) path(noun string) string {
	if noun == "" {
		return "/" + c.resource
	}
	return "/" + c.of(noun)
}

// resourceOf returns what a service's type is about: its name without what says no more
// than that it is a service. ProductService → Product, Store[T] → Store.
func resourceOf(typeName string) string {
	typeName, _, _ = strings.Cut(typeName, "[")
	for _, suffix := range []string{"Service", "Svc", "Server", "API"} {
		if trimmed, found := strings.CutSuffix(typeName, suffix); found && trimmed != "" {
			return trimmed
		}
	}
	return typeName
}

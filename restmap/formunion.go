package restmap

import (
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/busline/busline/reflectapi/strictjson"
)

// gather keeps a part of an argument that is a union, until its discriminator is known: p.kind=circle&p.radius=2.
func (d *formDecoding) gather(argument, part string, texts []string) {
	if strings.Count(part, ".") >= maxParts {
		d.reject(argument, fmt.Sprintf("has more than %d parts", maxParts))
		return
	}
	if d.unions == nil {
		d.unions = make(map[string]url.Values)
	}
	if d.unions[argument] == nil {
		d.unions[argument] = make(url.Values)
	}
	d.unions[argument][part] = texts
}

// decodeUnions sets the arguments that are unions from their parts.
func (d *formDecoding) decodeUnions() {
	for _, argument := range slices.Sorted(maps.Keys(d.unions)) {
		field := d.form.fields[argument]
		if d.begun[argument] {
			d.reject(argument, "is given as a whole, and in parts: leave one")
			continue
		}
		object, err := d.begin(argument, field)
		if err != nil {
			d.reject(argument, err.Error())
			continue
		}
		errs, misspelt := decodeUnion(field.union, reached(object), d.unions[argument], d.place)
		for _, each := range errs {
			each.Name = withPrefix(argument, each.Name)
			d.errs = append(d.errs, each)
		}
		for _, each := range misspelt {
			d.misspelt = append(d.misspelt, withPrefix(argument, each))
		}
	}
}

func withPrefix(argument, name string) string {
	if name == "" {
		return argument
	}
	return argument + "." + name
}

// variantForms are the forms of structs that are variants, by the type. Like the types they are never removed.
var variantForms sync.Map //nolint:gochecknoglobals // a cache

// variantForm returns the form of a struct, made on first use.
func variantForm(t reflect.Type) *form {
	if known, ok := variantForms.Load(t); ok {
		return known.(*form) //nolint:forcetypeassert // nothing else is stored
	}
	planned, _ := variantForms.LoadOrStore(t, newForm(targetsOf(t)))
	return planned.(*form) //nolint:forcetypeassert // nothing else is stored
}

// decodeUnion sets a union to the variant that the values of a form name, with its members. An error without a name is
// one of the union as a whole.
func decodeUnion(union *strictjson.Union, into reflect.Value, values url.Values,
	place string) (errs []ArgumentError, misspelt []string) {
	named := values.Get(union.Discriminator)
	variant := union.Named(named)
	switch {
	case named == "":
		return []ArgumentError{{In: place, Detail: "has no " + union.Choices()}}, nil
	case len(values[union.Discriminator]) > 1:
		return []ArgumentError{{Name: union.Discriminator, In: place, Detail: "is given more than once"}}, nil
	case variant == nil:
		return []ArgumentError{{Name: union.Discriminator, In: place, Detail: "expects one of " + union.Names()}}, nil
	}
	fields := variantForm(variant.Struct())
	if _, isMember := fields.fields[union.Discriminator]; !isMember {
		values = maps.Clone(values)
		delete(values, union.Discriminator)
	}
	held := reflect.New(variant.Struct())
	errs, misspelt = fields.decode(held.Elem(), values, place, nil)
	if variant.Type.Kind() != reflect.Pointer {
		held = held.Elem()
	}
	into.Set(held)
	return errs, misspelt
}

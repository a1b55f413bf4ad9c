package gotype

import (
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"regexp"
	"strings"
)

// qualifier matches a package path and the dot after it, e.g. "github.com/acme/shop.".
var qualifier = regexp.MustCompile(`[\pL\pN_][\pL\pN_.~%/+-]*\.`)

// Text writes a type as Go source does, with types of the package home unqualified.
func Text(t reflect.Type, home string) string {
	if t.Name() != "" {
		return namedText(t, home)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + Text(t.Elem(), home)
	case reflect.Slice:
		return "[]" + elementText(t, home)
	case reflect.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), elementText(t, home))
	case reflect.Map:
		return "map[" + Text(t.Key(), home) + "]" + Text(t.Elem(), home)
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return "any"
		}
	}
	return t.String()
}

// elementText writes uint8 elements as byte, which most source does.
func elementText(t reflect.Type, home string) string {
	if t.Elem() == reflect.TypeFor[byte]() {
		return "byte"
	}
	return Text(t.Elem(), home)
}

func namedText(t reflect.Type, home string) string {
	if t == reflect.TypeFor[json.RawMessage]() {
		return "json.RawMessage" // an alias of jsontext.Value from Go 1.27 on
	}
	name, arguments := SplitGeneric(t.Name())
	arguments = strings.NewReplacer("interface {}", "any", ",", ", ").Replace(arguments)
	name += qualifier.ReplaceAllStringFunc(arguments, func(found string) string {
		importPath := strings.TrimSuffix(found, ".")
		if importPath == home {
			return ""
		}
		return path.Base(importPath) + "."
	})
	if t.PkgPath() == "" || t.PkgPath() == home {
		return name
	}
	return PackageName(t) + "." + name
}

// Unqualified returns a text without the package paths of the types in it.
func Unqualified(text string) string { return qualifier.ReplaceAllString(text, "") }

// SplitGeneric splits "Page[int]" into "Page" and "[int]".
func SplitGeneric(name string) (base, arguments string) {
	if i := strings.IndexByte(name, '['); i >= 0 {
		return name[:i], name[i:]
	}
	return name, ""
}

// PlainName returns the name of a type without type arguments.
func PlainName(t reflect.Type) string {
	name, _ := SplitGeneric(t.Name())
	return name
}

// PackageName returns the package name of a named type, as in the package clause. It may differ from the last element
// of the import path.
func PackageName(t reflect.Type) string {
	name, _, _ := strings.Cut(t.String(), ".")
	return name
}

package reflectapi

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

// typeText writes a type as Go source does, with types of the package home unqualified.
func typeText(t reflect.Type, home string) string {
	if t.Name() != "" {
		return namedText(t, home)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + typeText(t.Elem(), home)
	case reflect.Slice:
		return "[]" + elementText(t, home)
	case reflect.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), elementText(t, home))
	case reflect.Map:
		return "map[" + typeText(t.Key(), home) + "]" + typeText(t.Elem(), home)
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
	return typeText(t.Elem(), home)
}

func namedText(t reflect.Type, home string) string {
	if t == reflect.TypeFor[json.RawMessage]() {
		return "json.RawMessage" // an alias of jsontext.Value from Go 1.27 on
	}
	name, arguments := splitGeneric(t.Name())
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
	return packageName(t) + "." + name
}

// splitGeneric splits "Page[int]" into "Page" and "[int]".
func splitGeneric(name string) (base, arguments string) {
	if i := strings.IndexByte(name, '['); i >= 0 {
		return name[:i], name[i:]
	}
	return name, ""
}

// plainName returns the name of a type without type arguments.
func plainName(t reflect.Type) string {
	name, _ := splitGeneric(t.Name())
	return name
}

// packageName returns the package name of a named type, as in the package clause. It may differ from the last element
// of the import path.
func packageName(t reflect.Type) string {
	name, _, _ := strings.Cut(t.String(), ".")
	return name
}

package restmap

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/busline/busline/reflectapi"
)

// A near miss is a method that its author most likely means to be served as REST, and that would be served as RPC without a word.
// It is an error that tells both ways out. A choice silences it: the option RPC, a path, an HTTP method, or a route in the comment
// of the interface.

// checkNearMiss returns an error for a method with the name of a CRUD verb that would be served as RPC by mistake.
func (m *mapper) checkNearMiss(method *reflectapi.Method, options MethodOptions) error {
	name := parseName(method.Name)
	chosen := options.RPC || options.Both || options.Path != "" || options.HTTPMethod != ""
	if !name.crud || name.suffixed || chosen || m.methods[method.Name+restSuffix] != nil {
		return nil
	}
	if err := checkNearNames(method); err != nil {
		return err
	}
	if m.isREST(method) {
		return nil
	}
	missing := missingMagic(method, name.operation)
	if missing == "" {
		return nil
	}
	return fmt.Errorf("is named like REST, and would be served as RPC at /%s: for %s %s name its %s, "+
		"or say that RPC is meant, with bus.RPC() or with //busline:route POST /%s in its interface",
		Kebab(method.Name), name.operation.method, m.likelyPath(method, name), missing, Kebab(method.Name))
}

// nearNames are names that are taken for magic ones, without "http" and in lower case.
var nearNames = map[string]string{ //nolint:gochecknoglobals // it does not change
	"requestbody": RequestBody, "reqbody": RequestBody, "body": RequestBody, "request": RequestBody,
	"responsebody": ResponseBody, "resbody": ResponseBody, "respbody": ResponseBody, "response": ResponseBody,
	"statuscode": StatusCode, "status": StatusCode, "code": StatusCode,
}

// checkNearNames returns an error for names that are close to a magic argument. A short name counts only after "http".
func checkNearNames(method *reflectapi.Method) error {
	var errs []error
	check := func(values []reflectapi.Value, isArgument bool) {
		for _, value := range values {
			plain := strings.ToLower(strings.ReplaceAll(value.Name, "_", ""))
			short, prefixed := strings.CutPrefix(plain, "http")
			magic := nearNames[short]
			long := strings.HasSuffix(short, "body") && short != "body" || short == "statuscode"
			if magic == "" || value.Name == magic || !prefixed && !long || isArgument != (magic == RequestBody) {
				continue
			}
			errs = append(errs, fmt.Errorf("%s is an ordinary name here: write %s, or say that RPC is meant, with bus.RPC() or with "+
				"//busline:route POST /%s in its interface", value.Name, magic, Kebab(method.Name)))
		}
	}
	check(method.Args, true)
	check(method.Results, false)
	return errors.Join(errs...)
}

// missingMagic returns which value of a method should have which magic name to be what its verb says; "" if its shape is another.
func missingMagic(method *reflectapi.Method, operation verb) string {
	args, results := method.Args, method.Results
	switch {
	case operation.method == "GET" && len(results) == 1 && isResource(results[0].Type, !operation.item):
		if operation.item && (len(args) != 1 || !isText(args[0].Type)) {
			return ""
		}
		return "result " + ResponseBody
	case operation.method == "POST" && len(args) == 1 && isResource(args[0].Type, false):
		return "argument " + RequestBody
	case operation.method != "GET" && operation.item && len(args) == 2 && isText(args[0].Type) && isResource(args[1].Type, false):
		return "second argument " + RequestBody
	}
	return ""
}

// isResource reports whether a type is a struct that is no text, or a list of such structs.
func isResource(t reflect.Type, list bool) bool {
	t = pointed(t)
	if list {
		if t.Kind() != reflect.Slice {
			return false
		}
		t = pointed(t.Elem())
	}
	return t.Kind() == reflect.Struct && !isText(t)
}

// likelyPath returns the path that a method would have as REST.
func (m *mapper) likelyPath(method *reflectapi.Method, name parsedName) string {
	path := m.collections.path(name.noun)
	if name.operation.item && len(method.Args) > 0 {
		path += "/{" + method.Args[0].Name + "}"
	}
	return path
}

package restmap

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/busline/busline/reflectapi"
)

// A near miss is a method that its author most likely means to be served as REST, and that would be served as RPC
// without a word. It is an error that names both ways out. A choice silences it: the option RPC, a path, an HTTP
// method, or a route in the comment of the interface.

// checkNearMiss returns an error for a method with the name of a CRUD verb that would be served as RPC by mistake.
func (m *mapper) checkNearMiss(method *reflectapi.Method, options MethodOptions) error {
	name := parseName(method.Name)
	chosen := options.RPC || options.Both || options.Path != "" || options.HTTPMethod != ""
	if method.Streams {
		return m.checkStream(method, options, chosen)
	}
	if !name.crud || name.suffixed || chosen || m.methods[method.Name+restSuffix] != nil {
		return nil
	}
	if err := checkNearNames(method); err != nil || m.isREST(method) {
		return err
	}
	remedy := ""
	if missing := missingMagic(method, name); missing != "" {
		remedy = "name its " + missing
	} else if name.operation.method == "DELETE" && takesID(method, name) && len(method.Results) == 0 {
		remedy = "call it " + method.Name + restSuffix // it has no value that could have a magic name
	}
	if remedy == "" {
		return nil
	}
	return fmt.Errorf("is named like REST, and would be served as RPC at /%s: for %s %s %s, %s",
		Kebab(method.Name), name.operation.method, m.likelyPath(method, name), remedy, chooseRPC(method))
}

// takesID reports whether a method is a verb alone, such as Read, of which the only argument is id: it is one of a
// resource. What a noun or another name adds, as in GetPrice(id) and Read(path), may be meant as RPC.
func takesID(method *reflectapi.Method, name parsedName) bool {
	return name.noun == "" && len(method.Args) == 1 && method.Args[0].Name == "id" && isText(method.Args[0].Type)
}

// checkStream returns an error for a stream that is meant to be REST.
func (m *mapper) checkStream(method *reflectapi.Method, options MethodOptions, chosen bool) error {
	switch {
	case options.Both:
		return errors.New("streams, which is for RPC style alone: leave out bus.RPCAndREST")
	case m.isNamedREST(method) && !chosen:
		return fmt.Errorf("is named like REST, but streams, which is for RPC style alone: give it another name, %s",
			chooseRPC(method))
	default:
		return nil
	}
}

// chooseRPC is the remedy where RPC is meant.
func chooseRPC(method *reflectapi.Method) string {
	return "or say that RPC is meant, with bus.RPC() or with " + reflectapi.RouteDirective + " POST /" +
		Kebab(method.Name) + " in its interface"
}

// checkNearNames returns an error for names that are close to a magic argument.
func checkNearNames(method *reflectapi.Method) error {
	var errs []error
	check := func(values []reflectapi.Value, magicOf func(plain string) string) {
		for _, value := range values {
			magic := magicOf(strings.ToLower(strings.ReplaceAll(value.Name, "_", "")))
			if magic != "" && value.Name != magic {
				errs = append(errs, fmt.Errorf("%s is an ordinary name here: write %s, %s", value.Name, magic, chooseRPC(method)))
			}
		}
	}
	check(method.Args, nearArgument)
	check(method.Results, nearResult)
	return errors.Join(errs...)
}

// nearArgument returns the magic argument that a name, in lower case and without underscores, is close to; "" for none.
// A short name counts only after "http".
func nearArgument(plain string) string {
	switch plain {
	case "requestbody", "reqbody", "httprequestbody", "httpreqbody", "httpbody", "httprequest":
		return RequestBody
	default:
		return ""
	}
}

// nearResult is nearArgument for results.
func nearResult(plain string) string {
	switch plain {
	case "responsebody", "resbody", "respbody", "httpresponsebody", "httpresbody", "httprespbody", "httpresponse":
		return ResponseBody
	case "statuscode", "httpstatuscode", "httpstatus", "httpcode":
		return StatusCode
	default:
		return ""
	}
}

// missingMagic returns which value of a method should have which magic name to be what its verb says; "" if its shape
// is another.
func missingMagic(method *reflectapi.Method, name parsedName) string {
	args, results, operation := method.Args, method.Results, name.operation
	switch {
	case operation.method == "GET" && operation.item && len(results) == 1 && takesID(method, name):
		return "result " + ResponseBody
	case operation.method == "GET" && len(results) == 1 && isResource(results[0].Type, !operation.item):
		if operation.item && (len(args) != 1 || !isText(args[0].Type)) {
			return ""
		}
		return "result " + ResponseBody
	case operation.method == "POST" && len(args) == 1 && isResource(args[0].Type, false):
		return "argument " + RequestBody
	case operation.method != "GET" && operation.item && len(args) == 2 && isText(args[0].Type) &&
		isResource(args[1].Type, false):
		return "second argument " + RequestBody
	}
	return ""
}

// isResource reports whether a type is a struct that is not a text, or a list of such structs.
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

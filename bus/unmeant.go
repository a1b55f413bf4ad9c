package bus

import (
	"context"
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"

	"github.com/busline/busline/reflectapi"
)

// unmeant warns of methods that a struct mostly has for the program that it is in, and that its callers now have, too: a
// line for each. Whoever serves an interface, or names the method, means it.
func unmeant(as reflect.Type, service *reflectapi.Service, config *serviceConfig) (warnings []string) {
	if as != nil {
		return nil
	}
	for _, method := range service.Methods {
		if _, named := config.methods[method.Name]; named || !isOwnBusiness(service.Type, method.Name) {
			continue
		}
		warnings = append(warnings, fmt.Sprintf("method %s is served to callers: leave it out with bus.ExcludeMethods(%q), or add "+
			"bus.Method(%q) if that is intended", method.Name, method.Name, method.Name))
	}
	return warnings
}

// isOwnBusiness tells the methods of interfaces that have nothing to do with what a service offers.
func isOwnBusiness(t reflect.Type, method string) bool {
	for _, each := range []reflect.Type{
		reflect.TypeFor[io.Closer](),
		reflect.TypeFor[interface{ Close() }](),
		reflect.TypeFor[interface {
			Close(ctx context.Context) error
		}](),
		reflect.TypeFor[interface {
			Shutdown(ctx context.Context) error
		}](),
		reflect.TypeFor[http.Handler](),
		reflect.TypeFor[error](),
		reflect.TypeFor[fmt.Stringer](),
		reflect.TypeFor[fmt.GoStringer](),
		reflect.TypeFor[json.Marshaler](),
		reflect.TypeFor[json.Unmarshaler](),
		reflect.TypeFor[encoding.TextMarshaler](),
		reflect.TypeFor[encoding.TextUnmarshaler](),
		reflect.TypeFor[encoding.BinaryMarshaler](),
		reflect.TypeFor[encoding.BinaryUnmarshaler](),
	} {
		if each.Method(0).Name == method && t.Implements(each) {
			return true
		}
	}
	return false
}

// isHandler tells a handler that was made elsewhere, such as a router: it has no methods of its own to serve.
func isHandler(as reflect.Type, impl any) bool {
	_, isMux := impl.(*http.ServeMux)
	return isMux || as == reflect.TypeFor[http.Handler]()
}

// unmeantPath warns of a path under which a whole application seems to be served, as with [http.ServeMux]; "" for others.
func unmeantPath(method, path string, handler http.Handler) string {
	_, isMux := handler.(*http.ServeMux)
	if !strings.HasSuffix(path, "/") || !isMux && method != "" && method != anyMethod {
		return ""
	}
	return fmt.Sprintf("only %s itself is served, and nothing below it: write %s{path+} for that", path, path)
}

package restmap

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi"
)

// The magic arguments: names that bind an argument or a result of a method to a part of the HTTP message itself.
const (
	// RequestBody is the argument for the whole body of the request.
	RequestBody = "httpRequestBody"
	// ResponseBody is the result that is the whole body of the response.
	ResponseBody = "httpResponseBody"
	// StatusCode is the int result that is the status of the response; 0 is the default, 200.
	StatusCode = "httpStatusCode"
)

// indexOf returns the index of the value of that name, -1 if there is none.
func indexOf(values []reflectapi.Value, name string) int {
	return slices.IndexFunc(values, func(v reflectapi.Value) bool { return v.Name == name })
}

// usesMagic reports whether a method has a magic argument.
func usesMagic(m *reflectapi.Method) bool {
	return indexOf(m.Args, RequestBody) >= 0 || indexOf(m.Results, ResponseBody) >= 0 || indexOf(m.Results, StatusCode) >= 0
}

// checkMagic returns an error for magic arguments in a place where they have no meaning, and for names that are meant as such.
func checkMagic(m *reflectapi.Method) error {
	var faults []error
	for _, value := range slices.Concat(m.Args, m.Results) {
		for _, name := range []string{RequestBody, ResponseBody, StatusCode} {
			if value.Name != name && strings.EqualFold(value.Name, name) {
				faults = append(faults, fmt.Errorf("%s has no meaning in this spelling: write %s", value.Name, name))
			}
		}
	}
	for _, name := range []string{ResponseBody, StatusCode} {
		if indexOf(m.Args, name) >= 0 {
			faults = append(faults, fmt.Errorf("%s is an argument; it has to be a result", name))
		}
	}
	if indexOf(m.Results, RequestBody) >= 0 {
		faults = append(faults, fmt.Errorf("%s is a result; it has to be an argument", RequestBody))
	}
	status, body := indexOf(m.Results, StatusCode), indexOf(m.Results, ResponseBody)
	if status >= 0 && m.Results[status].Type.Kind() != reflect.Int {
		faults = append(faults, fmt.Errorf("%s is of type %v; it has to be an int", StatusCode, m.Results[status].Type))
	}
	for i, result := range m.Results {
		if body >= 0 && i != body && i != status {
			faults = append(faults, fmt.Errorf("%s is the whole body, so there is no place for the result %s", ResponseBody, result.Name))
		}
	}
	return errors.Join(faults...)
}

package events

import (
	"encoding"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/reflectapi/similar"
)

// eventKey finds the argument that orders an event. It is immutable.
type eventKey struct {
	argument string
	field    []int // in the struct of arguments; nil for arguments by name
	err      error // the arguments have no such key: returned by every Publish
}

func newEventKey(arguments reflect.Type, argument string) *eventKey {
	key := &eventKey{argument: argument}
	for arguments.Kind() == reflect.Pointer {
		arguments = arguments.Elem()
	}
	if arguments.Kind() != reflect.Struct {
		if arguments.Kind() != reflect.Interface &&
			(arguments.Kind() != reflect.Map || arguments.Key().Kind() != reflect.String) {
			key.err = fmt.Errorf("arguments of type %v have no names: use bus.Args, or a struct with json tags", arguments)
		}
		return key
	}
	var names []string
	members := schema.JSONMembers(arguments)
	for _, member := range members {
		switch {
		case member.Name == argument && !reflectapi.IsKey(member.Type):
			key.err = notKey(member.Type)
			return key
		case member.Name == argument:
			key.field = member.Index
			return key
		}
		names = append(names, member.Name)
	}
	key.err = fmt.Errorf("%v has no field with that json tag; it has %s%s", arguments, strings.Join(names, ", "),
		similar.DidYouMean(argument, names))
	return key
}

func notKey(t reflect.Type) error {
	return fmt.Errorf("it is of type %v: use a text, an integer or a type that marshals as text", t)
}

// of returns the key of arguments; "" from a nil key.
func (k *eventKey) of(address string, arguments any) (string, error) {
	if k == nil {
		return "", nil
	}
	text, err := "", k.err
	if err == nil {
		text, err = k.text(reflect.ValueOf(arguments))
	}
	if err != nil {
		return "", status.NotRun(http.StatusBadRequest, nil, "event %s: the key %s cannot order it: %s", address,
			k.argument, err)
	}
	if text == "" {
		return "", status.NotRun(http.StatusBadRequest, nil, "event %s: its key %s is missing or empty: set it",
			address, k.argument)
	}
	return text, nil
}

// text returns the key in arguments, "" if it is missing.
func (k *eventKey) text(arguments reflect.Value) (string, error) {
	arguments = pointedTo(arguments)
	switch arguments.Kind() {
	case reflect.Struct:
		if k.field == nil { // in an interface
			inside := newEventKey(arguments.Type(), k.argument)
			if inside.err != nil {
				return "", inside.err
			}
			return inside.text(arguments)
		}
		value, err := arguments.FieldByIndexErr(k.field)
		if err != nil { // it is in an embedded pointer that is nil
			return "", nil //nolint:nilerr // the key is missing
		}
		return keyText(value)
	case reflect.Map:
		return keyText(arguments.MapIndex(reflect.ValueOf(k.argument).Convert(arguments.Type().Key())))
	default:
		return "", nil
	}
}

// keyText returns a value as a key, "" for none.
func keyText(value reflect.Value) (string, error) {
	value = pointedTo(value)
	if !value.IsValid() {
		return "", nil
	}
	if !reflectapi.IsKey(value.Type()) {
		return "", notKey(value.Type())
	}
	addressable := reflect.New(value.Type())
	addressable.Elem().Set(value)
	switch writer := addressable.Interface().(type) {
	case encoding.TextAppender:
		text, err := writer.AppendText(nil)
		return string(text), err
	case encoding.TextMarshaler:
		text, err := writer.MarshalText()
		return string(text), err
	}
	switch {
	case value.Kind() == reflect.String:
		return value.String(), nil
	case value.CanInt():
		return strconv.FormatInt(value.Int(), 10), nil
	default:
		return strconv.FormatUint(value.Uint(), 10), nil
	}
}

// pointedTo follows pointers and interfaces. It returns the zero Value behind one that is nil.
func pointedTo(value reflect.Value) reflect.Value {
	for value.Kind() == reflect.Pointer || value.Kind() == reflect.Interface {
		value = value.Elem()
	}
	return value
}

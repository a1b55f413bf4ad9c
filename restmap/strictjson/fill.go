package strictjson

import (
	"math"
	"reflect"
	"unicode/utf8"
)

// Fill has the same effect on the members of an object as [Marshal] followed by [Unmarshal], without the text in
// between: it sets the fields of a settable struct of the plan's type. It returns false if the result might differ, or
// if the text could be longer than the limit in bytes; the struct may then be partly filled. Members may be booleans,
// strings and numbers of Go's predeclared types, for fields of the same kind.
func (p *Plan) Fill(into reflect.Value, members map[string]any, limit int) bool {
	if p.root.kind != plainStruct {
		return false
	}
	limit -= len("{}")
	place := 0
	for name, value := range members {
		if !isPlainName(name) {
			return false
		}
		limit -= len(name) + len(`"":,`) + floatSize
		place = p.root.find([]byte(name), place)
		var field reflect.Value // stays invalid if the struct has no such field
		if place >= 0 {
			field = into.Field(p.root.fields[place].index)
		}
		size, ok := fill(field, p.kindAt(place), value)
		if limit -= size; !ok || limit < 0 {
			return false
		}
		place++
	}
	return true
}

// kindAt returns the kind as which a field is decoded.
func (p *Plan) kindAt(place int) kind {
	if place < 0 {
		return notPlain
	}
	return p.root.fields[place].kind
}

// fill sets a field of some kind to a value, and returns an upper limit of its text's bytes in addition to those of a
// number. It returns false for values that it does not support.
func fill(field reflect.Value, as kind, value any) (size int, ok bool) {
	switch value := value.(type) {
	case string:
		ok = utf8.ValidString(value)
		if ok && field.IsValid() {
			if ok = as == plainString; ok {
				field.SetString(value)
			}
		}
		return longestEscape*len(value) + len(`""`), ok
	case bool:
		if as == plainBool {
			field.SetBool(value)
		}
		return 0, as == plainBool || !field.IsValid()
	case int:
		return 0, fillInt(field, as, int64(value))
	case int64:
		return 0, fillInt(field, as, value)
	case int32:
		return 0, fillInt(field, as, int64(value))
	case float64:
		return 0, fillFloat(field, as, value)
	default:
		return 0, false
	}
}

func fillInt(field reflect.Value, as kind, value int64) bool {
	switch {
	case !field.IsValid():
		return true
	case as == plainInt && !field.OverflowInt(value):
		field.SetInt(value)
	case as == plainUint && value >= 0 && !field.OverflowUint(uint64(value)):
		field.SetUint(uint64(value))
	default:
		return false
	}
	return true
}

// fillFloat does not support float32, which the text rounds in its own way.
func fillFloat(field reflect.Value, as kind, value float64) bool {
	switch {
	case math.IsNaN(value) || math.IsInf(value, 0):
		return false
	case !field.IsValid():
		return true
	case as != plainFloat || field.Kind() != reflect.Float64:
		return false
	}
	field.SetFloat(value)
	return true
}

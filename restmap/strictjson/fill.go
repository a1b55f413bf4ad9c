package strictjson

import (
	"math"
	"reflect"
	"unicode/utf8"
)

// Fill does with the members of an object what [Marshal] and then [Unmarshal] do, without the text between them: it sets
// the fields of a settable struct of the plan's type. It returns false when it does not know that the result is the same,
// or when the text may have more than so many bytes; the struct is then partly filled. Members may be booleans, strings and
// numbers of Go's own types, for fields of the same kind.
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
		var field reflect.Value // none: the struct does not know it
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

// kindAt returns what a field is read as.
func (p *Plan) kindAt(place int) kind {
	if place < 0 {
		return notPlain
	}
	return p.root.fields[place].kind
}

// fill sets a field of a kind to a value, and returns how many bytes its text has at most besides those of any number. It
// is false for what it does not take.
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

// fillFloat leaves a float32 to the text, which rounds in its own way.
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

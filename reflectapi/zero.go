package reflectapi

import (
	"encoding/json"
	"reflect"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	legacy "github.com/go-json-experiment/json/v1"
)

// fitsZero says whether the value that an argument or a member has when nobody gives it keeps a rule for any.
func (r *rule) fitsZero(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface {
		return true // absent, and the method sees that
	}
	zero, known := zeroJSON(t)
	return !known || r.fits(reflect.ValueOf(zero))
}

// zeroJSON is the zero value of a type as JSON, read as any. It is not known of a type whose own method fails for it.
func zeroJSON(t reflect.Type) (zero any, known bool) {
	defer func() {
		if recover() != nil { // a method of a stranger's type, which has never been called for a zero value
			zero, known = nil, false
		}
	}()
	data, err := jsonv2.Marshal(reflect.New(t).Interface(),
		legacy.FormatDurationAsNano(true), legacy.FormatByteArrayAsArray(true), legacy.OmitEmptyWithLegacySemantics(true),
		jsonv2.WithMarshalers(jsonv2.MarshalToFunc(zeroNumber)))
	if err != nil || json.Unmarshal(data, &zero) != nil {
		return nil, false
	}
	return zero, true
}

// zeroNumber writes the zero value of a json.Number. A zero map has no members, so that it is never a name.
func zeroNumber(encoder *jsontext.Encoder, _ json.Number) error {
	return encoder.WriteToken(jsontext.Int(0))
}

// optional tells a member that is left out of JSON when it has its zero value, or that only answers have: there, being
// absent is a way of its own to be.
func (f *jsonField) optional() bool { return f.omitted || f.readOnly }

// behindPointer tells a member of an embedded struct that may not be there.
func (f *jsonField) behindPointer(t reflect.Type) bool {
	for _, i := range f.index[:len(f.index)-1] {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t = t.Field(i).Type; t.Kind() == reflect.Pointer {
			return true
		}
	}
	return false
}

func timeType() reflect.Type { return reflect.TypeFor[time.Time]() }

package reflectapi

import (
	"encoding/json"
	"reflect"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	legacy "github.com/go-json-experiment/json/v1"
)

// fitsZero reports whether the zero value, which a missing argument or member has, satisfies a rule for decoded JSON.
func (r *rule) fitsZero(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface {
		return true // the method can see that it is absent
	}
	zero, known := zeroJSON(t)
	return !known || r.fits(reflect.ValueOf(zero))
}

// zeroJSON returns the zero value of a type as decoded JSON. known is false if a marshalling method of the type fails
// for it.
func zeroJSON(t reflect.Type) (zero any, known bool) {
	defer func() {
		if recover() != nil { // a method of a type from elsewhere, which may never have been called for a zero value
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

// zeroNumber writes the zero value of a json.Number. It is never used for a map key, because a zero map has no members.
func zeroNumber(encoder *jsontext.Encoder, _ json.Number) error {
	return encoder.WriteToken(jsontext.Int(0))
}

// optional reports whether a member is omitted from JSON if it is zero, or only occurs in responses: for such a member
// absence is a value of its own.
func (f *jsonField) optional() bool { return f.omitted || f.readOnly }

// behindPointer reports whether a member belongs to an embedded struct that may be nil.
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

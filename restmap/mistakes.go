package restmap

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/reflectapi/similar"
	"github.com/busline/busline/reflectapi/strictjson"
)

// The library stops reading JSON at the first mistake. A text with one is read again, so that its sender learns of all
// of them.

// mistakes are what is wrong in one JSON text.
type mistakes []*strictjson.Error

// Error returns them in one line.
func (m mistakes) Error() string {
	var texts []string
	for _, mistake := range m {
		texts = append(texts, mistake.Error())
	}
	return strings.Join(texts, "; ")
}

// mistakeReader reads a JSON text of a type for mistakes. Where a struct has no member of a name, the name is one if it
// differs from a member only in case: like any unknown name it would be ignored, and what it was meant for would be
// zero.
type mistakeReader struct {
	*jsontext.Decoder
	values bool // wrong values are mistakes, too
	strict bool // all unknown names are
	found  mistakes
	broken bool // the rest is no JSON

	unknowns int      // names that are not known
	misspelt mistakes // names that are ignored, and which are meant
}

// mistakenNames returns the names that are mistakes in a JSON text, up to where it is no JSON.
// misspelt are ignored names that resemble a known one.
func mistakenNames(body []byte, t reflect.Type, strict bool) (found mistakes, misspelt []string) {
	r := mistakeReader{Decoder: jsontext.NewDecoder(bytes.NewReader(body)), strict: strict}
	r.read(t)
	for _, name := range r.misspelt {
		misspelt = append(misspelt, strictjson.Path(body, name.Pointer)+name.Detail)
	}
	return r.found, misspelt
}

// allMistakes returns all that is wrong in a JSON text, given what is known of it. If the text is no JSON or is long,
// it returns that.
func allMistakes(body []byte, t reflect.Type, strict bool, known mistakes) mistakes {
	if _, err := strictjson.Scan(body); err != nil || len(body) > smallBody || !jsontext.Value(body).IsValid() {
		return known
	}
	r := mistakeReader{Decoder: jsontext.NewDecoder(bytes.NewReader(body)), values: true, strict: strict}
	r.read(t)
	for _, mistake := range known {
		if !slices.ContainsFunc(r.found, func(other *strictjson.Error) bool { return other.Pointer == mistake.Pointer }) {
			r.found = append(r.found, mistake)
		}
	}
	return r.found
}

func (r *mistakeReader) add(detail string) {
	r.found = append(r.found, &strictjson.Error{Pointer: string(r.StackPointer()), Detail: detail})
}

// read reads the next value, of type t.
func (r *mistakeReader) read(t reflect.Type) {
	t = pointed(t)
	kind, own := r.PeekKind(), readsJSON(t) || readsText(t)
	switch {
	case len(r.found) >= maxReported:
		r.skip()
	case !own && kind == jsontext.KindBeginObject && t.Kind() == reflect.Struct:
		r.object(t, "")
	case kind == jsontext.KindBeginObject && strictjson.UnionOf(t) != nil:
		r.union(strictjson.UnionOf(t))
	case !own && kind == jsontext.KindBeginObject && t.Kind() == reflect.Map, !own && kind == jsontext.KindBeginArray &&
		(t.Kind() == reflect.Slice || t.Kind() == reflect.Array):
		r.elements(kind == jsontext.KindBeginObject, t.Elem())
	case r.values:
		value, err := r.ReadValue()
		r.broken = r.broken || err != nil
		r.value(value, t)
	default:
		r.skip()
	}
}

// value notes what is wrong with a value that was read.
func (r *mistakeReader) value(text jsontext.Value, t reflect.Type) {
	wrong, ok := errors.AsType[*strictjson.Error](strictjson.Unmarshal(text, reflect.New(t).Interface()))
	if ok {
		at := string(r.StackPointer())
		r.found = append(r.found, &strictjson.Error{Pointer: at + wrong.Pointer, Detail: wrong.Detail})
	}
}

func (r *mistakeReader) skip() { r.broken = r.SkipValue() != nil || r.broken }

// token reads a bracket, or the name of a member.
func (r *mistakeReader) token() string {
	token, err := r.ReadToken()
	r.broken = r.broken || err != nil
	return token.String()
}

// elements reads a list, or a map.
func (r *mistakeReader) elements(keyed bool, element reflect.Type) {
	r.token()
	for !r.ends() {
		if keyed {
			r.token()
		}
		r.read(element)
	}
	r.token()
}

// ends reports whether an object or a list ends here.
func (r *mistakeReader) ends() bool {
	kind := r.PeekKind()
	return r.broken || kind == jsontext.KindEndObject || kind == jsontext.KindEndArray
}

// union reads an object for a union: for the variant that it names.
func (r *mistakeReader) union(u *strictjson.Union) {
	text, err := r.ReadValue()
	r.broken = r.broken || err != nil
	at := string(r.StackPointer())
	inner := mistakeReader{Decoder: jsontext.NewDecoder(bytes.NewReader(text)), values: r.values, strict: r.strict,
		unknowns: r.unknowns}
	if variant := u.Of(text); variant != nil {
		inner.object(variant.Struct(), u.Discriminator)
	} else {
		inner.value(text, u.Type)
	}
	r.unknowns = inner.unknowns
	for _, each := range inner.found {
		r.found = append(r.found, &strictjson.Error{Pointer: at + each.Pointer, Detail: each.Detail})
	}
	for _, each := range inner.misspelt {
		r.misspelt = append(r.misspelt, &strictjson.Error{Pointer: at + each.Pointer, Detail: each.Detail})
	}
}

// object reads an object for a struct. discriminator is a further member that is known, "" for none.
func (r *mistakeReader) object(t reflect.Type, discriminator string) {
	members := make(map[string]schema.JSONMember)
	all := schema.JSONMembers(t)
	for _, member := range all {
		members[member.Name] = member
	}
	r.token()
	for !r.ends() {
		name := r.token()
		member, known := members[name]
		if !known && (name != discriminator || discriminator == "") {
			r.unknown(name, members)
		}
		if known && !member.Quoted {
			r.read(member.Type)
		} else {
			r.skip()
		}
	}
	r.token()
}

// unknown notes the name of a member that the struct does not have.
func (r *mistakeReader) unknown(name string, members map[string]schema.JSONMember) {
	if r.unknowns++; r.unknowns > maxCompared && !r.strict {
		return
	}
	mistake, hint := miscased(name, members), cmp.Or(insideOf(name, members), didYouMean(name, members))
	switch {
	case mistake != "" || r.strict:
		r.add(cmp.Or(mistake, unknownName+cmp.Or(hint, otherName(name, members))))
	case hint != "" && len(r.misspelt) < maxReported:
		r.misspelt = append(r.misspelt, &strictjson.Error{Pointer: string(r.StackPointer()), Detail: hint})
	}
}

// insideOf says inside which members a name that is not known belongs, as a query has it: "limit" or "filter.limit";
// nothing if in none.
func insideOf(name string, members map[string]schema.JSONMember) string {
	last, subject := name[strings.LastIndexByte(name, '.')+1:], "it"
	if last != name {
		subject = last
	}
	var places []string
	for _, member := range slices.Sorted(maps.Keys(members)) {
		for _, path := range pathsTo(last, members[member].Type) {
			places = append(places, strings.TrimSuffix(member+"."+path, "."+last))
		}
	}
	if len(places) == 0 {
		return ""
	}
	return "; write " + subject + " inside " + strings.Join(places, " or ")
}

// eachMember visits the members of a struct and of the structs in it, each type of which counts once. inside is the
// path of the struct that has the member, "" or "paging.".
func eachMember(t reflect.Type, inside string, seen map[reflect.Type]bool, visit func(inside, name string)) {
	t = pointed(t)
	if t.Kind() != reflect.Struct || readsText(t) || readsJSON(t) || seen[t] {
		return
	}
	seen[t] = true
	for _, member := range schema.JSONMembers(t) {
		visit(inside, member.Name)
		eachMember(member.Type, inside+member.Name+".", seen, visit)
	}
}

// pathsTo returns the paths of the members of that name in a struct.
func pathsTo(wanted string, t reflect.Type) (paths []string) {
	eachMember(t, "", make(map[reflect.Type]bool), func(inside, name string) {
		if name == wanted {
			paths = append(paths, inside+name)
		}
	})
	return paths
}

// miscased returns what is wrong with a name that differs from a known one only in case, "" if it does not.
func miscased[V any](name string, known map[string]V) string {
	for _, right := range slices.Sorted(maps.Keys(known)) {
		if right != name && strings.EqualFold(right, name) {
			return unknownName + ": write " + right
		}
	}
	return ""
}

// didYouMean returns "; did you mean limit?" for a name that is not known, or nothing.
func didYouMean[V any](name string, known map[string]V) string {
	if len(name) > maxNameLength {
		return ""
	}
	return similar.DidYouMean(name, slices.Sorted(maps.Keys(known)))
}

// otherName says which known name is meant by an unknown one, or else which there are; nothing if there are none.
func otherName[V any](name string, known map[string]V) string {
	if hint := didYouMean(name, known); hint != "" || len(known) == 0 {
		return hint
	}
	return "; known are " + strings.Join(slices.Sorted(maps.Keys(known)), ", ")
}

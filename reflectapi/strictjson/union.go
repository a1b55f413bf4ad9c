package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Union is an interface type whose values are those of its variants. The JSON of a value is that of the variant, with
// a member in front that names it, the discriminator: {"kind":"circle","radius":1}. It is immutable.
type Union struct {
	Type          reflect.Type // the interface
	Discriminator string       // "kind"
	Doc           string       // of the interface; "" for none
	Variants      []Variant    // in the order in which they were registered

	byName map[string]*Variant
	byType map[reflect.Type]*Variant
	write  *json.Marshalers
	read   *json.Unmarshalers
}

// Variant is one of the types of a [Union].
type Variant struct {
	Name string       // value of the discriminator: "circle"
	Type reflect.Type // a struct, or a pointer to one; nil if it was registered without a value
	Doc  string       // "" for none

	owns    func() bool  // the struct has a field for the discriminator
	written reflect.Type // see writtenAs; nil if the type cannot be a variant
}

// Struct returns the struct type of the variant, nil if it has no type.
func (v *Variant) Struct() reflect.Type {
	if v.Type != nil && v.Type.Kind() == reflect.Pointer {
		return v.Type.Elem()
	}
	return v.Type
}

// unions are the unions by their interface.
var unions sync.Map //nolint:gochecknoglobals // docs/decisions/0008

// RegisterUnion makes a union of an interface type T, see reflectapi.RegisterUnion. Whether the variants can be told
// apart is for the caller to check. It does nothing for a type of the language. It is safe for concurrent use.
func RegisterUnion[T any](discriminator, doc string, variants []Variant) {
	if reflect.TypeFor[T]().PkgPath() == "" {
		return // of the language, such as any, which everything is
	}
	u := &Union{Type: reflect.TypeFor[T](), Discriminator: discriminator, Doc: doc, Variants: variants,
		byName: make(map[string]*Variant), byType: make(map[reflect.Type]*Variant)}
	for i := range u.Variants {
		variant := &u.Variants[i]
		u.byName[variant.Name], u.byType[variant.Type] = variant, variant
		variant.written = variant.writtenAs(u)
		variant.owns = sync.OnceValue(func() bool {
			object := append(variant.head(u), '}')
			err := json.Unmarshal(object, reflect.New(variant.Struct()).Interface(), dialect(), json.RejectUnknownMembers(true))
			return !errors.Is(err, json.ErrUnknownName)
		})
	}
	u.write = json.MarshalToFunc(func(encoder *jsontext.Encoder, held *T) error {
		return u.marshal(encoder, reflect.ValueOf(held).Elem().Elem())
	})
	u.read = json.UnmarshalFromFunc(func(decoder *jsontext.Decoder, into *T) error {
		return u.unmarshal(decoder, reflect.ValueOf(into).Elem())
	})
	unions.Store(u.Type, u)
	plans.Clear() // of types that are made of it
}

// UnionOf returns the union that an interface type is, nil for any other type.
func UnionOf(t reflect.Type) *Union {
	if t == nil || t.Kind() != reflect.Interface {
		return nil
	}
	union, _ := RegisteredAsUnion(t)
	return union
}

// RegisteredAsUnion returns what [RegisterUnion] was called with for a type, be it an interface or not.
func RegisteredAsUnion(t reflect.Type) (*Union, bool) {
	known, isRegistered := unions.Load(t)
	if !isRegistered {
		return nil, false
	}
	return known.(*Union), true //nolint:forcetypeassert // nothing else is stored
}

// Structs returns the struct types of the variants; none for a nil union.
func (u *Union) Structs() (structs []reflect.Type) {
	if u == nil {
		return nil
	}
	for i := range u.Variants {
		if t := u.Variants[i].Struct(); t != nil {
			structs = append(structs, t)
		}
	}
	return structs
}

// unionsIn returns what writes and reads the unions in a type. What writes an any may have to write every union.
func unionsIn(t reflect.Type, dynamic bool) (writers []*json.Marshalers, readers []*json.Unmarshalers) {
	found := make(map[*Union]bool)
	walkUnions(t, make(map[reflect.Type]bool), func(u *Union) {
		found[u] = true
		writers, readers = append(writers, u.write), append(readers, u.read)
	})
	if dynamic {
		for _, known := range unions.Range {
			if u := known.(*Union); !found[u] { //nolint:forcetypeassert // nothing else is stored
				writers = append(writers, u.write)
			}
		}
	}
	return writers, readers
}

// walkUnions visits the unions in a type.
func walkUnions(t reflect.Type, seen map[reflect.Type]bool, visit func(*Union)) {
	if seen[t] {
		return
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		walkUnions(t.Elem(), seen, visit)
	case reflect.Struct:
		for f := range t.Fields() {
			walkUnions(f.Type, seen, visit)
		}
	case reflect.Interface:
		union := UnionOf(t)
		if union != nil {
			visit(union)
		}
		for _, variant := range union.Structs() {
			walkUnions(variant, seen, visit)
		}
	}
}

// Names lists the variants: "circle, square".
func (u *Union) Names() string {
	names := make([]string, len(u.Variants))
	for i := range u.Variants {
		names[i] = u.Variants[i].Name
	}
	return strings.Join(names, ", ")
}

// Named returns the variant of that name, nil if there is none.
func (u *Union) Named(name string) *Variant { return u.byName[name] }

// Of returns the variant that an object names, nil if it names none.
func (u *Union) Of(object []byte) *Variant {
	name, _, isText := memberOf(object, u.Discriminator)
	if !isText {
		return nil
	}
	return u.byName[name]
}

// marshal writes the value that a union holds.
func (u *Union) marshal(encoder *jsontext.Encoder, held reflect.Value) error {
	switch {
	case !held.IsValid():
		return fmt.Errorf("%v is nil: set it to one of %s, or leave it out with the json option omitzero", u.Type, u.Names())
	case held.Kind() == reflect.Pointer && held.IsNil():
		return fmt.Errorf("%v holds a nil %v: set it to nil itself, or to one of %s", u.Type, held.Type(), u.Names())
	}
	variant := u.byType[held.Type()]
	if variant == nil || variant.written == nil {
		return fmt.Errorf("a %v is none of the variants of %v: %s", held.Type(), u.Type, u.Names())
	}
	written := reflect.New(variant.written).Elem()
	written.Field(0).SetString(variant.Name)
	written.Field(1).Set(held)
	return json.MarshalEncode(encoder, written.Addr().Interface())
}

// writtenAs returns a struct of which the JSON is that of a variant: the discriminator, and in its place the fields of
// the struct. One of them that is the discriminator, too, loses as it is deeper.
func (v *Variant) writtenAs(u *Union) reflect.Type {
	if t := v.Struct(); t == nil || t.Kind() != reflect.Struct || hasMethods(t) || u.Discriminator == "" {
		return nil
	}
	return reflect.StructOf([]reflect.StructField{
		{Name: "Discriminator", Type: reflect.TypeFor[string](),
			Tag: reflect.StructTag("json:" + strconv.Quote(u.Discriminator))},
		{Name: "Variant", Type: v.Type, Tag: `json:",embed"`},
	})
}

// head returns the beginning of a variant's object: `{"kind":"circle"`.
func (v *Variant) head(u *Union) []byte {
	head := []byte{'{'}
	for _, text := range []string{u.Discriminator, v.Name} {
		head, _ = jsontext.AppendQuote(head, text) // it fails only for what is not UTF-8, and replaces that
		head = append(head, ':')
	}
	return head[:len(head)-1]
}

// unmarshal reads the variant that an object names. null is nil, as everywhere.
func (u *Union) unmarshal(decoder *jsontext.Decoder, into reflect.Value) error {
	object, err := decoder.ReadValue()
	if err != nil {
		return err
	}
	at, offset := decoder.StackPointer(), decoder.InputOffset()-int64(len(object))
	switch object.Kind() {
	case jsontext.KindNull:
		into.SetZero()
		return nil
	case jsontext.KindBeginObject:
	default:
		return u.refuse(at, object, "expects an object with "+u.Choices())
	}
	name, found, isText := memberOf(object, u.Discriminator)
	variant := u.byName[name]
	switch {
	case found == nil:
		return u.refuse(at, object, "has no "+u.Choices())
	case !isText || variant == nil:
		return u.refuse(at.AppendToken(u.Discriminator), found, "expects one of "+u.Names())
	}
	options := decoder.Options()
	if strict, _ := json.GetOption(options, json.RejectUnknownMembers); strict && !variant.owns() {
		object = withoutMember(object, u.Discriminator)
	}
	target := reflect.New(variant.Struct())
	if err := json.Unmarshal(object, target.Interface(), options); err != nil {
		if failed, ok := errors.AsType[*json.SemanticError](err); ok {
			failed.JSONPointer, failed.ByteOffset = at+failed.JSONPointer, offset+failed.ByteOffset
		}
		return err
	}
	if variant.Type.Kind() != reflect.Pointer {
		target = target.Elem()
	}
	into.Set(target)
	return nil
}

// Choices says what the discriminator may be: "kind, which is one of circle, square".
func (u *Union) Choices() string { return u.Discriminator + ", which is one of " + u.Names() }

// refuse returns the error for an object that is none of the variants.
func (u *Union) refuse(at jsontext.Pointer, value jsontext.Value, detail string) error {
	return &json.SemanticError{JSONPointer: at, JSONKind: value.Kind(), GoType: u.Type, Err: unfit(detail)}
}

// unfit is the error for JSON that a type does not take, in words that follow the name of its place.
type unfit string

func (e unfit) Error() string { return string(e) }

// memberOf returns a member of an object, nil if there is none, and its text if it is one.
func memberOf(object []byte, name string) (text string, value jsontext.Value, isText bool) {
	decoder := jsontext.NewDecoder(bytes.NewReader(object))
	if token, err := decoder.ReadToken(); err != nil || token.Kind() != jsontext.KindBeginObject {
		return "", nil, false
	}
	for decoder.PeekKind() == jsontext.KindString {
		token, err := decoder.ReadToken()
		if err != nil {
			break
		}
		isWanted := token.String() == name
		value, err = decoder.ReadValue()
		switch {
		case err != nil:
			return "", nil, false
		case !isWanted:
		case value.Kind() != jsontext.KindString:
			return "", value, false
		default:
			unquoted, _ := jsontext.AppendUnquote(nil, value) // it was read, so it is a string
			return string(unquoted), value, true
		}
	}
	return "", nil, false
}

// withoutMember returns an object without the member of that name.
func withoutMember(object []byte, name string) []byte {
	rest := []byte{'{'}
	decoder := jsontext.NewDecoder(bytes.NewReader(object))
	_, err := decoder.ReadToken()
	for err == nil && decoder.PeekKind() == jsontext.KindString {
		var written, value jsontext.Value
		if written, err = decoder.ReadValue(); err != nil {
			break
		}
		unquoted, _ := jsontext.AppendUnquote(nil, written) // it was read, so it is a string
		written = bytes.Clone(written)
		if value, err = decoder.ReadValue(); err != nil || string(unquoted) == name {
			continue
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(append(append(rest, written...), ':'), value...)
	}
	return append(rest, '}')
}

package restmap

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/gorilla/schema"
)

// formTag is the tag with the names in forms: those of JSON.
const formTag = "json"

// target is a field that a form may set.
type target struct {
	name  string
	typ   reflect.Type
	index []int // in the struct to be filled

	hasDefault bool // an empty text leaves it as it is
}

// targetsOf returns the fields of a struct type that have names in JSON, including those of embedded structs; of two
// with the same name the shallower one. Fields behind an embedded pointer are left out.
func targetsOf(t reflect.Type) []target {
	var all []target
	for i := range t.NumField() {
		f := t.Field(i)
		switch name := jsonName(f); {
		case isInlined(f) && f.Type.Kind() == reflect.Struct:
			for _, inner := range targetsOf(f.Type) {
				inner.index = append([]int{i}, inner.index...)
				all = append(all, inner)
			}
		case isInlined(f) && f.Type.Kind() == reflect.Pointer:
		case name != "":
			all = append(all, target{name: name, typ: f.Type, index: []int{i}})
		}
	}
	slices.SortStableFunc(all, func(a, b target) int { return len(a.index) - len(b.index) })
	seen := make(map[string]bool)
	return slices.DeleteFunc(all, func(t target) bool {
		hidden := seen[t.name]
		seen[t.name] = true
		return hidden
	})
}

// isInlined reports whether the members of a field take its place.
func isInlined(f reflect.StructField) bool { return f.Anonymous && f.Tag.Get(formTag) == "" }

// jsonName returns the name of a field in JSON, "" if it has none.
func jsonName(f reflect.StructField) string {
	tag := f.Tag.Get(formTag)
	name, _, _ := strings.Cut(tag, ",")
	switch {
	case tag == "-" || !f.IsExported():
		return ""
	case name == "":
		return f.Name
	default:
		return name
	}
}

// formPlanner plans one form.
type formPlanner struct {
	decoder *schema.Decoder
	parts   map[reflect.Type]map[string]formPart // for the struct types seen so far, so that they may be recursive
}

// newForm plans a form that sets these fields.
func newForm(targets []target) *form {
	planner := &formPlanner{decoder: schema.NewDecoder(), parts: make(map[reflect.Type]map[string]formPart)}
	planner.decoder.SetAliasTag(formTag)
	planner.decoder.IgnoreUnknownKeys(true)
	planner.decoder.MaxSize(maxElements)

	f := &form{fields: make(map[string]formField), decoder: planner.decoder}
	var shape []reflect.StructField
	for _, t := range targets {
		field := formField{formPart: planner.part(t.typ), index: t.index, shape: -1, hasDefault: t.hasDefault}
		if (field.decodable || field.parts != nil) && !alike(targets, t.name) {
			field.shape = len(shape)
			shape = append(shape, reflect.StructField{
				Name: "F" + strconv.Itoa(len(shape)),
				Type: t.typ,
				Tag:  reflect.StructTag(formTag + ":" + strconv.Quote(t.name)),
			})
		} else {
			field.decodable, field.parts = false, nil
		}
		f.fields[t.name] = field
	}
	f.shape = reflect.StructOf(shape)
	return f
}

// alike reports whether several names differ at most in case, which gorilla/schema ignores.
func alike(targets []target, name string) bool {
	same := func(t target) bool { return strings.EqualFold(t.name, name) }
	first := slices.IndexFunc(targets, same)
	return slices.ContainsFunc(targets[first+1:], same)
}

// part plans a value of type t. gorilla/schema follows one pointer itself, but no more.
func (p *formPlanner) part(t reflect.Type) formPart {
	part := formPart{typ: t, list: isTextList(t)}
	switch whole := withoutPointer(t); {
	case isText(t):
		part.decodable = p.convertible(whole)
	case readsJSON(whole):
	case whole.Kind() == reflect.Struct:
		part.parts, part.hindrance = p.structParts(whole)
	case whole.Kind() == reflect.Map:
		part.keyed = readsText(whole.Key()) || !readsJSON(whole.Key()) && isText(whole.Key())
	case part.list && whole.Kind() == reflect.Slice:
		element := withoutPointer(whole.Elem())
		part.decodable = element.Kind() != reflect.Struct && p.convertible(element)
	case whole.Kind() == reflect.Slice && withoutPointer(whole.Elem()).Kind() == reflect.Struct:
		part.parts, part.hindrance = p.structParts(withoutPointer(whole.Elem()))
		part.indexed = true
	}
	return part
}

func withoutPointer(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// convertible registers a converter from text to a type with gorilla/schema, if it is safe to use it there.
func (p *formPlanner) convertible(t reflect.Type) bool {
	if _, hindered := inseparable(t, make(map[reflect.Type]bool)); hindered {
		return false
	}
	p.decoder.RegisterConverter(reflect.Zero(t).Interface(), func(text string) reflect.Value {
		value, err := fromText(t, text)
		if err != nil {
			return reflect.Value{}
		}
		return value
	})
	return true
}

// structParts plans the fields of a struct type; nil if it cannot be sent in parts, with the way to the member that
// keeps it from that, if it is not the type itself.
func (p *formPlanner) structParts(t reflect.Type) (parts map[string]formPart, member string) {
	member, hindered := inseparable(t, make(map[reflect.Type]bool))
	if hindered || readsJSON(t) || !isSeparable(t) {
		return nil, member
	}
	if parts, seen := p.parts[t]; seen {
		return parts, ""
	}
	parts = make(map[string]formPart)
	p.parts[t] = parts
	for _, target := range targetsOf(t) {
		parts[target.name] = p.part(target.typ)
	}
	return parts, ""
}

// isSeparable reports whether the names of a struct's fields are enough for gorilla/schema to tell them apart: none is
// promoted from an embedded one, and no two differ only in case. It also finds unexported fields, and sets nothing then.
func isSeparable(t reflect.Type) bool {
	var named []target
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get(formTag), ",")
		switch {
		case f.Anonymous:
			return false
		case name != "-":
			named = append(named, target{name: cmp.Or(name, f.Name)})
		}
	}
	return !slices.ContainsFunc(named, func(f target) bool { return alike(named, f.name) })
}

// inseparable looks for what keeps gorilla/schema from decoding any part of a value, since it visits all others, too:
// embedded pointers, which it allocates although the form does not mention them; two embedded structs, whose fields it
// takes for one another; and tags that it would interpret as an option. member is the way to it, "line.price", or "" if
// it is the type itself.
func inseparable(t reflect.Type, seen map[reflect.Type]bool) (member string, found bool) {
	for !seen[t] && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
		seen[t] = true // "type T []T" is legal Go
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] {
		return "", false
	}
	seen[t] = true
	embedded := 0
	for f := range t.Fields() {
		_, options, _ := strings.Cut(f.Tag.Get(formTag), ",")
		if f.Anonymous {
			embedded++
		}
		if strings.Contains(options, "required") || strings.Contains(options, "default:") || f.Anonymous && f.Type.Kind() == reflect.Pointer || embedded > 1 {
			return "", true
		}
	}
	for f := range t.Fields() {
		inner, found := inseparable(f.Type, seen)
		switch {
		case found && isInlined(f):
			return inner, true
		case found:
			return strings.TrimSuffix(jsonName(f)+"."+inner, "."), true
		}
	}
	return "", false
}

// setMember sets the member of a map by its key, as in m.a=1.
func (d *formDecoding) setMember(name string, field formField, key string, texts []string) {
	argument, _, _ := strings.Cut(name, ".")
	index, value, err := memberOf(pointed(field.typ), argument, key, texts)
	if err != nil {
		d.errs = append(d.errs, argumentError(name, d.place, err))
		return
	}
	object := d.dst.FieldByIndex(field.index)
	if !d.maps[argument] {
		object.SetZero() // the previous content did not come from this form
		d.begin(argument, field)
	}
	for object.Kind() == reflect.Pointer {
		if object.IsNil() {
			object.Set(reflect.New(object.Type().Elem()))
		}
		object = object.Elem()
	}
	if object.IsNil() {
		object.Set(reflect.MakeMap(object.Type()))
	}
	object.SetMapIndex(index, value)
}

// begin records that a map has content from this form.
func (d *formDecoding) begin(argument string, field formField) {
	if !field.keyed {
		return
	}
	if d.maps == nil {
		d.maps = make(map[string]bool)
	}
	d.maps[argument] = true
}

// memberOf parses a key and a value of a map.
func memberOf(t reflect.Type, argument, key string, texts []string) (index, value reflect.Value, err error) {
	plain := IsText(t.Elem()) || t.Elem().Kind() == reflect.Interface
	switch {
	case key == "":
		return index, value, errors.New("needs a key after the dot")
	case !plain && strings.Contains(key, "."):
		return index, value, errors.New("refers to a part of a map value; write " + argument + " as one JSON value")
	}
	if index, err = fromText(t.Key(), key); err != nil {
		return index, value, errors.New("has a key of the wrong type: it " + err.Error())
	}
	value, err = member(t.Elem(), texts)
	return index, value, err
}

// Limits of dotted names in forms.
const (
	maxParts    = 32     // names between dots
	maxElements = 1000   // of one list
	maxAllLists = 10_000 // elements of all lists of a form together
)

// formPart is what one name of a form refers to: a whole argument, or a part after a dot.
type formPart struct {
	typ       reflect.Type
	list      bool                // its name may be repeated
	decodable bool                // gorilla/schema decodes its texts
	indexed   bool                // a list of structs, whose parts follow an index
	keyed     bool                // a map, with a key after the dot
	parts     map[string]formPart // the names allowed after a dot; nil if there are none
	hindrance string              // the way to the member because of which there are none, if it is one, see [hindrance]
}

// follow resolves the names after an argument's dot: "x", "0.sku", "child.name". It returns the last part, and whether
// all names are known.
func (p formPart) follow(argument, behind string, lists *listSizes) (formPart, bool, error) {
	if strings.Count(behind, ".") >= maxParts {
		return p, false, fmt.Errorf("has more than %d parts", maxParts)
	}
	names := strings.Split(behind, ".")
	for i, name := range names {
		switch {
		case p.parts == nil:
			return p, false, p.indivisible(argument, strings.Join(append([]string{argument}, names[:i]...), "."))
		case p.indexed:
			if err := lists.grow(argument+"."+strings.Join(names[:i], "."), name); err != nil {
				return p, false, err
			}
			p.indexed = false
		default:
			next, known := p.parts[name]
			if !known {
				return p, false, nil
			}
			p = next
		}
	}
	if !p.decodable {
		return p, false, errors.New("is not a plain value; write " + argument + " as one JSON value")
	}
	return p, true, nil
}

// miscased returns what is wrong with the names after an argument's dot, if one differs from a known one only in case; "" if none does.
func (p formPart) miscased(behind string) string {
	at := p
	for name := range strings.SplitSeq(behind, ".") {
		next, known := at.parts[name]
		switch {
		case known:
			at = next
		case at.indexed:
			at.indexed = false
		default:
			return miscased(name, at.parts)
		}
	}
	return ""
}

// indivisible says what to send instead of a name with a dot after this part. After a plain value no names are known,
// and unknown names are ignored.
func (p formPart) indivisible(argument, name string) error {
	switch {
	case p.list:
		return errors.New("is not the name of an element; repeat " + name)
	case isText(p.typ):
		return nil
	}
	because := ""
	if p.hindrance != "" {
		because = ", because of " + name + "." + p.hindrance
	}
	return errors.New("cannot be given in parts" + because + "; write " + argument + " as one JSON value")
}

// listSizes counts the lengths that indexes give to the lists of a form.
type listSizes struct {
	sizes map[string]int // by the name before the index
	total int
}

// grow records that the list of this name has an element at an index.
func (l *listSizes) grow(list, index string) error {
	i, err := strconv.ParseUint(index, 10, 31)
	if err != nil || strconv.FormatUint(i, 10) != index {
		return errors.New("needs an index after the list's name, as in 0.name")
	}
	if i >= maxElements {
		return fmt.Errorf("has an index above %d", maxElements-1)
	}
	if l.sizes == nil {
		l.sizes = make(map[string]int)
	}
	if more := int(i) + 1 - l.sizes[list]; more > 0 {
		l.sizes[list] += more
		l.total += more
	}
	if l.total > maxAllLists {
		return fmt.Errorf("makes the lists of the form hold more than %d elements", maxAllLists)
	}
	return nil
}

package restmap

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	gorilla "github.com/gorilla/schema"

	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/reflectapi/strictjson"
)

// target is a field that a form may set.
type target struct {
	name  string
	typ   reflect.Type
	index []int // in the struct to be filled, through embedded structs and pointers to them

	hasDefault bool // an empty text leaves it as it is
}

// targetsOf returns the members of a struct type, those that JSON has.
func targetsOf(t reflect.Type) (targets []target) {
	for _, member := range schema.JSONMembers(t) {
		targets = append(targets, target{name: member.Name, typ: member.Type, index: member.Index})
	}
	return targets
}

// fieldAt returns a field of an addressable struct, and allocates the embedded structs on the way.
func fieldAt(v reflect.Value, index []int) (reflect.Value, error) {
	for i, at := range index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() && !v.CanSet() {
				return v, fmt.Errorf("cannot be set: the embedded %v is not exported", v.Type())
			}
			v = reached(v)
		}
		v = v.Field(at)
	}
	return v, nil
}

// reached follows the pointers of an addressable value, and allocates those that are nil.
func reached(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		v = v.Elem()
	}
	return v
}

// formPlanner plans one form.
type formPlanner struct {
	decoder *gorilla.Decoder
	parts   map[reflect.Type]map[string]formPart // for the struct types seen so far, so that they may be recursive
}

// newForm plans a form that sets these fields.
func newForm(targets []target) *form {
	planner := &formPlanner{decoder: gorilla.NewDecoder(), parts: make(map[reflect.Type]map[string]formPart)}
	planner.decoder.MaxSize(maxElements)

	f := &form{fields: make(map[string]formField), members: make(map[string]bool), decoder: planner.decoder}
	var shape []reflect.StructField
	for _, t := range targets {
		field := formField{formPart: planner.part(t.typ), shape: -1, hasDefault: t.hasDefault}
		field.index = t.index
		if field.plain && planner.converts(t.typ) {
			field.shape = len(shape)
			shape = append(shape, reflect.StructField{Name: shapeName(len(shape)), Type: t.typ})
		}
		f.fields[t.name], f.members[t.name] = field, true
		eachMember(t.typ, "", make(map[reflect.Type]bool), func(_, name string) { f.members[name] = true })
	}
	f.shape = reflect.StructOf(shape)
	return f
}

// shapeName is the name of a field of the shape, also for gorilla/schema, which ignores case.
func shapeName(i int) string { return "F" + strconv.Itoa(i) }

// part plans a value of type t.
func (p *formPlanner) part(t reflect.Type) formPart {
	part := formPart{typ: t, list: isRepeated(t), plain: IsText(t)}
	switch whole := pointed(t); {
	case part.plain, readsJSON(whole):
	case whole.Kind() == reflect.Interface:
		part.union = strictjson.UnionOf(whole)
	case whole.Kind() == reflect.Struct:
		part.parts = p.structParts(whole)
	case whole.Kind() == reflect.Map:
		part.keyed = readsText(whole.Key()) || !readsJSON(whole.Key()) && isText(whole.Key())
	case whole.Kind() == reflect.Slice:
		if element := pointed(whole.Elem()); element.Kind() == reflect.Struct && !readsJSON(element) {
			part.parts, part.indexed = p.structParts(element), true
		}
	}
	return part
}

// structParts plans the members of a struct type.
func (p *formPlanner) structParts(t reflect.Type) map[string]formPart {
	if parts, seen := p.parts[t]; seen {
		return parts
	}
	parts := make(map[string]formPart)
	p.parts[t] = parts
	for _, target := range targetsOf(t) {
		part := p.part(target.typ)
		part.index = target.index
		parts[target.name] = part
	}
	return parts
}

// converts registers a converter from text to a type with gorilla/schema, and reports whether it can decode the type:
// it follows one pointer, and looks into structs for tags of its own.
func (p *formPlanner) converts(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Struct || t.Kind() == reflect.Pointer || isTextList(t) {
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

// Limits of dotted names in forms.
const (
	maxParts    = 32     // names between dots
	maxElements = 1000   // of one list
	maxAllLists = 10_000 // elements of all lists of a form together
)

// formPart is what one name of a form refers to: a whole argument, or a part after a dot.
type formPart struct {
	typ     reflect.Type
	index   []int               // in the struct that it is a field of
	list    bool                // its name may be repeated
	plain   bool                // it is written as texts
	indexed bool                // a list of structs, whose parts follow an index
	keyed   bool                // a map, with a key after the dot
	parts   map[string]formPart // the names allowed after a dot; nil if there are none
	union   *strictjson.Union   // whose variant has the names allowed after a dot; nil for any other type
}

// step leads from a value to a part of it: to a field of a struct, an element of a list, or, if neither is set, to the
// value of a key in a map.
type step struct {
	field   []int
	element int
	key     string
	isKey   bool
}

// follow resolves the names after an argument's dot: "x", "0.sku", "child.name". It returns the last part, the way to
// it, and whether all names are known.
func (p formPart) follow(argument, behind string, lists *listSizes) (last formPart, way []step, known bool, err error) {
	if strings.Count(behind, ".") >= maxParts {
		return p, nil, false, fmt.Errorf("has more than %d parts", maxParts)
	}
	names := strings.Split(behind, ".")
	for i, name := range names {
		switch next, isMember := p.parts[name]; {
		case p.keyed:
			way = append(way, step{key: strings.Join(names[i:], "."), isKey: true})
			return p, way, true, nil
		case p.parts == nil:
			return p, nil, false, p.indivisible(argument, strings.Join(append([]string{argument}, names[:i]...), "."))
		case p.indexed:
			element, err := lists.grow(argument+"."+strings.Join(names[:i], "."), name)
			if err != nil {
				return p, nil, false, err
			}
			way = append(way, step{element: element})
			p.indexed, p.list, p.typ = false, false, pointed(p.typ).Elem()
		case !isMember:
			return p, nil, false, nil
		default:
			p, way = next, append(way, step{field: next.index})
		}
	}
	if !p.plain && !p.nameless() {
		return p, nil, false, errors.New("is not a plain value; write " + argument + " as one JSON value")
	}
	return p, way, true, nil
}

// nameless reports whether a value is an any, or a list without names of members in it.
func (p formPart) nameless() bool {
	t := pointed(p.typ)
	return isAny(t) || p.list && (isText(t.Elem()) || isAny(t.Elem()))
}

// walk returns the part of an addressable value that a way leads to, which it allocates. Before a key it ends at the
// map.
func walk(v reflect.Value, way []step) (reflect.Value, error) {
	for _, next := range way {
		v = reached(v)
		switch {
		case next.isKey:
			return v, nil
		case next.field != nil:
			var err error
			if v, err = fieldAt(v, next.field); err != nil {
				return v, err
			}
		default:
			if more := next.element + 1 - v.Len(); more > 0 {
				v.Grow(more)
				v.SetLen(next.element + 1)
			}
			v = v.Index(next.element)
		}
	}
	return v, nil
}

// unknownIn returns the first of the names after an argument's dot that is not known, and the names that are known
// there; "" if all are known.
func (p formPart) unknownIn(behind string) (stranger string, among map[string]formPart) {
	at := p
	for name := range strings.SplitSeq(behind, ".") {
		next, known := at.parts[name]
		switch {
		case known:
			at = next
		case at.indexed:
			at.indexed = false
		default:
			return name, at.parts
		}
	}
	return "", nil
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
	return errors.New("cannot be given in parts; write " + argument + " as one JSON value")
}

// listSizes counts the lengths that indexes give to the lists of a form.
type listSizes struct {
	sizes map[string]int // by the name before the index
	total int
}

// grow records that the list of this name has an element at an index.
func (l *listSizes) grow(list, index string) (element int, err error) {
	i, err := strconv.ParseUint(index, 10, 31)
	if err != nil || strconv.FormatUint(i, 10) != index {
		return 0, errors.New("needs an index after the list's name, as in 0.name")
	}
	if i >= maxElements {
		return 0, fmt.Errorf("has an index above %d", maxElements-1)
	}
	if l.sizes == nil {
		l.sizes = make(map[string]int)
	}
	if more := int(i) + 1 - l.sizes[list]; more > 0 {
		l.sizes[list] += more
		l.total += more
	}
	if l.total > maxAllLists {
		return 0, fmt.Errorf("makes the lists of the form hold more than %d elements", maxAllLists)
	}
	return int(i), nil
}

// memberOf parses the key and the value of a member of a map.
func memberOf(t reflect.Type, argument, key string, texts []string) (index, value reflect.Value, err error) {
	plain := IsText(t.Elem()) || isAny(t.Elem())
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

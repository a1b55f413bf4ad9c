package restmap

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"

	gorilla "github.com/gorilla/schema"

	"github.com/busline/busline/reflectapi/strictjson"
)

// form is the plan for filling a struct from the name=value pairs of a query or a form: the arguments of a method, or
// the object that its body is.
//
//	x=5&wait=3s        texts
//	tag=a&tag=b        a list of texts, by repeating its name
//	p={"x":1}          anything else, as JSON
//	p.x=1&line.0.n=2   a struct or a list of structs, in parts
//	m.a=1&m.b=2        a map, by its keys
//
// gorilla/schema converts the texts of whole arguments, into a separate struct, the shape, so that fields that a
// request does not mention keep their values. It gets the names of the shape, and no more values than allowed. Parts
// are set where their names lead, by the rules of JSON: members of embedded structs are members.
type form struct {
	fields  map[string]formField
	shape   reflect.Type
	decoder *gorilla.Decoder
	strict  bool     // unknown names are refused
	inPath  []string // names of arguments that are in the path, which wins

	short     map[string]string   // first names of members, and the argument that they are in; see shorten
	ambiguous map[string][]string // first names of members of several arguments, and these arguments
	members   map[string]bool     // names of members at any depth, of arguments, too
}

// formField is one field of the struct to be filled.
type formField struct {
	formPart     // its index is that in the struct to be filled
	shape    int // index in the shape; -1 if gorilla/schema does not convert it

	hasDefault bool // an empty text leaves it as it is
}

// leavesDefault reports whether texts leave the field at its default: browsers send blank fields of a form. In a query
// an empty text is a value of a string.
func (f formField) leavesDefault(place string, texts []string) bool {
	if !f.hasDefault || strings.Join(texts, "") != "" {
		return false
	}
	return place != inQuery || !takesEmpty(f.typ)
}

// isGiven reports whether the texts of a name are a value of the field, or of a part of it. A single empty one is none,
// but for a pointer to a string, for a string with a default, and under a key.
func (f formField) isGiven(place, name string, texts []string) bool {
	argument, behind, dotted := strings.Cut(name, ".")
	switch {
	case len(texts) > 1 || texts[0] != "":
		return true
	case !dotted:
		return !f.leavesDefault(place, texts) && (f.hasDefault || f.pointsToText())
	default:
		part, _, known, err := f.follow(argument, behind, new(listSizes))
		return err == nil && known && (part.keyed || part.pointsToText())
	}
}

// pointsToText reports whether an empty text is a value other than the zero value.
func (p formPart) pointsToText() bool {
	return p.typ.Kind() == reflect.Pointer && takesEmpty(p.typ)
}

// of returns the field in a filled struct; false if it is in an embedded struct that is not there.
func (f formField) of(filled reflect.Value) (reflect.Value, bool) {
	field, err := filled.FieldByIndexErr(f.index)
	return field, err == nil
}

// decode fills dst, an addressable struct, and returns the errs of the values, sorted by name. Unknown names are
// ignored, unless the form is strict, and so are arguments that are replaced. misspelt are ignored names that resemble
// a known one.
func (f *form) decode(dst reflect.Value, values url.Values, place string,
	replaced map[string]json.RawMessage) (errs []ArgumentError, misspelt []string) {
	d := &formDecoding{form: f, dst: dst, place: place, replaced: replaced}
	values, written := f.inFull(values)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		d.take(name, values[name])
	}
	d.decodeUnions()
	d.decodeShape()
	for i := range d.errs {
		if short, ok := written[d.errs[i].Name]; ok {
			d.errs[i].Name = short
		}
	}
	slices.SortStableFunc(d.errs, func(a, b ArgumentError) int { return cmp.Compare(a.Name, b.Name) })
	return d.errs, d.misspelt
}

// formDecoding is the state of decoding one form into a struct.
type formDecoding struct {
	form      *form
	dst       reflect.Value
	place     string // "query" or "body"
	replaced  map[string]json.RawMessage
	mentioned map[string]string   // names of the fields of the shape that have a value, and of the arguments
	values    map[string][]string // what gorilla/schema decodes into the shape
	lists     listSizes
	begun     map[string]bool       // names of the arguments that this form has begun to fill
	unions    map[string]url.Values // the parts of arguments that are unions
	errs      []ArgumentError
	misspelt  []string
}

func (d *formDecoding) reject(name, detail string) {
	d.errs = append(d.errs, ArgumentError{Name: name, In: d.place, Detail: detail})
}

// take processes the values of one name: it sets them, leaves them to gorilla/schema, or records an error.
func (d *formDecoding) take(name string, texts []string) {
	argument, behind, dotted := strings.Cut(name, ".")
	field, known := d.form.fields[argument]
	if !known {
		d.unknown(argument, name)
		return
	}
	if _, isReplaced := d.replaced[argument]; isReplaced || field.leavesDefault(d.place, texts) {
		return
	}
	switch {
	case dotted && field.union != nil:
		d.gather(argument, behind, texts)
	case dotted:
		d.setPart(name, field, behind, texts)
	case len(texts) > 1 && !field.list:
		d.reject(name, "is given more than once"+remedy(field.typ, argument))
	case field.shape >= 0 && texts[0] != "":
		if d.values == nil {
			d.values, d.mentioned = make(map[string][]string), make(map[string]string)
		}
		d.values[shapeName(field.shape)], d.mentioned[shapeName(field.shape)] = texts, name
	default:
		d.set(name, field, texts)
	}
}

// setPart sets a part of an argument by the names that lead to it, as in p.x=1, line.0.n=2 or m.a=1.
func (d *formDecoding) setPart(name string, field formField, behind string, texts []string) {
	argument, _, _ := strings.Cut(name, ".")
	part, way, known, err := field.follow(argument, behind, &d.lists)
	isEmpty := strings.Join(texts, "") == ""
	switch stranger, among := field.unknownIn(behind); {
	case err != nil:
		d.reject(name, err.Error())
		return
	case !known && len(d.errs) >= maxReported:
		return
	case !known:
		d.reject(name, cmp.Or(miscased(stranger, among), unknownName+cmp.Or(d.form.elsewhere(name),
			otherName(stranger, among), "; write "+argument)))
		return
	case part.typ.Kind() == reflect.Pointer && isEmpty && !part.keyed && !takesEmpty(part.typ):
		return
	case len(texts) > 1 && !part.list && !part.keyed:
		d.reject(name, "is given more than once"+remedy(part.typ, argument))
		return
	}
	if err := d.setAt(field, argument, part, way, texts); err != nil {
		d.errs = append(d.errs, argumentError(name, d.place, err))
	}
}

// setAt sets the part of an argument that a way leads to.
func (d *formDecoding) setAt(field formField, argument string, part formPart, way []step, texts []string) error {
	var value, key reflect.Value
	var err error
	if part.keyed {
		key, value, err = memberOf(pointed(part.typ), argument, way[len(way)-1].key, texts)
	} else {
		value, err = fromTexts(part.typ, texts)
	}
	if err != nil {
		return err
	}
	object, err := d.begin(argument, field)
	if err == nil {
		object, err = walk(object, way)
	}
	switch {
	case err != nil:
		return err
	case !part.keyed:
		object.Set(value)
		return nil
	case object.IsNil():
		object.Set(reflect.MakeMap(object.Type()))
	}
	object.SetMapIndex(key, value)
	return nil
}

// begin returns the field of an argument, without what did not come from this form.
func (d *formDecoding) begin(argument string, field formField) (reflect.Value, error) {
	object, err := fieldAt(d.dst, field.index)
	if err != nil || d.begun[argument] {
		return object, err
	}
	if d.begun == nil {
		d.begun = make(map[string]bool)
	}
	d.begun[argument] = true
	object.SetZero()
	return object, nil
}

// remedy says how to send a value that may be a list but cannot be sent by repeating its name.
func remedy(t reflect.Type, argument string) string {
	switch pointed(t).Kind() {
	case reflect.Slice, reflect.Array, reflect.Interface:
		return "; write " + argument + " as one JSON value"
	default:
		return ""
	}
}

// unknownName is what is wrong with a name that is not read, where that is refused.
const unknownName = "is unknown"

// unknown takes a name that is none of an argument. It suggests to a caller that sends tag[]=a, as some libraries do,
// what to send instead.
func (d *formDecoding) unknown(argument, name string) {
	if len(d.errs) >= maxReported {
		return
	}
	before, _, found := strings.Cut(argument, "[")
	_, known := d.form.fields[before]
	mistake := cmp.Or(miscased(argument, d.form.fields), miscased(argument, d.form.short))
	switch {
	case mistake != "":
		d.reject(argument, mistake)
	case len(d.form.ambiguous[argument]) > 0:
		d.reject(argument, "is a member of several arguments: write "+strings.Join(d.form.ambiguous[argument],
			"."+name+" or ")+"."+name)
	case found && known:
		d.reject(argument, "is written with brackets; "+d.form.withoutBrackets(before, name))
	case slices.Contains(d.form.inPath, argument):
	case d.form.elsewhere(name) != "":
		d.reject(name, unknownName+d.form.elsewhere(name))
	case d.form.strict:
		d.reject(name, unknownName+otherName(argument, d.form.names()))
	case len(d.misspelt) < maxReported:
		if hint := didYouMean(argument, d.form.names()); hint != "" {
			d.misspelt = append(d.misspelt, argument+hint)
		}
	}
}

// names returns the first names that there are.
func (f *form) names() map[string]bool {
	names := make(map[string]bool)
	for name := range f.fields {
		names[name] = true
	}
	for name := range f.short {
		names[name] = true
	}
	return names
}

// withoutBrackets says what to write for a name with brackets, such as tags[], m[a] and lines[0][sku].
func (f *form) withoutBrackets(argument, name string) string {
	if f.fields[argument].list && !f.fields[argument].indexed {
		return "repeat " + argument
	}
	return "write " + strings.NewReplacer("[]", ".0", "[", ".", "]", "").Replace(name)
}

// elsewhere says where the last of the names between dots is one of a member, as in "; write filter.limit", or nothing.
func (f *form) elsewhere(name string) string {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if !f.members[last] { // as nearly always, and a form may have thousands
		return ""
	}
	first, _, _ := strings.Cut(name, ".")
	_, known := f.fields[first]
	var paths []string
	for _, argument := range slices.Sorted(maps.Keys(f.fields)) {
		if known && argument != first {
			continue
		}
		if argument == last && last != name {
			paths = append(paths, argument)
		}
		for _, path := range pathsTo(last, f.fields[argument].typ) {
			paths = append(paths, f.documented(argument+"."+path))
		}
	}
	if len(paths) == 0 {
		return ""
	}
	return "; write " + strings.Join(paths, " or ")
}

// set sets a field without gorilla/schema.
func (d *formDecoding) set(name string, field formField, texts []string) {
	value, err := fromTexts(field.typ, texts)
	if err == nil {
		err = checkNames(field.typ, texts, d.form.strict)
	}
	if err == nil {
		var object reflect.Value
		if object, err = d.begin(name, field); err == nil { // its parts may follow
			object.Set(value)
		}
	}
	if err != nil {
		d.errs = append(d.errs, argumentError(name, d.place, err))
	}
}

// decodeShape has gorilla/schema convert what was left to it, and copies the fields that the form mentions.
func (d *formDecoding) decodeShape() {
	if len(d.values) == 0 {
		return
	}
	shape := reflect.New(d.form.shape)
	if err := d.form.decoder.Decode(shape.Interface(), d.values); err != nil {
		d.translate(err)
		return
	}
	for name, argument := range d.mentioned {
		object, err := fieldAt(d.dst, d.form.fields[argument].index)
		if err != nil {
			d.reject(argument, err.Error())
			continue
		}
		object.Set(shape.Elem().FieldByName(name))
	}
}

// translate converts the errors of gorilla/schema to errs, one for each name.
func (d *formDecoding) translate(err error) {
	var failed gorilla.MultiError
	if !errors.As(err, &failed) {
		d.reject("form", "cannot be decoded")
	}
	for name, err := range failed {
		argument := d.mentioned[name]
		if conversion, ok := errors.AsType[gorilla.ConversionError](err); ok {
			err = expects(conversion.Type, nil)
			if _, cause := fromText(conversion.Type, d.values[name][0]); cause != nil {
				err = cause
			}
			d.errs = append(d.errs, argumentError(argument, d.place, err))
		} else {
			d.reject(argument, "cannot be decoded")
		}
	}
}

// formBody is the plan for turning a form into the value that is a whole body: a struct, a map with string keys, or
// any, which becomes a map.
type formBody struct {
	object  *form             // for a struct
	element reflect.Type      // of a map
	union   *strictjson.Union // nil for any other type
}

// newFormBody plans bodies of type t; nil if no form can represent them.
func newFormBody(t reflect.Type) *formBody {
	t = pointed(t)
	switch {
	case isAny(t):
		return &formBody{element: t}
	case t.Kind() == reflect.Interface:
		return &formBody{union: strictjson.UnionOf(t)}
	case readsText(t) || readsJSON(t):
		return nil
	case t.Kind() == reflect.Struct:
		return &formBody{object: newForm(targetsOf(t))}
	case t.Kind() == reflect.Map && t.Key() == reflect.TypeFor[string]():
		return &formBody{element: t.Elem()}
	default:
		return nil
	}
}

// decode sets dst, an addressable value of the planned type.
func (b *formBody) decode(dst reflect.Value, values url.Values) (errs []ArgumentError, misspelt []string) {
	dst = allocated(dst)
	switch {
	case b.object != nil:
		return b.object.decode(dst, values, inBody, nil)
	case b.union != nil:
		return decodeUnion(b.union, dst, values, inBody)
	}
	members := dst.Type()
	if isAny(members) {
		members = reflect.TypeFor[map[string]any]()
	}
	object := reflect.MakeMap(members)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value, err := member(b.element, values[name])
		if err != nil {
			errs = append(errs, argumentError(name, inBody, err))
			continue
		}
		object.SetMapIndex(reflect.ValueOf(name), value)
	}
	dst.Set(object)
	return errs, nil
}

// member returns one member of a map from the texts of its name. For a map of any it is a list if the name is repeated.
func member(t reflect.Type, texts []string) (value reflect.Value, err error) {
	switch {
	case isAny(t) && len(texts) == 1:
		value = reflect.New(t).Elem()
		return value, setElement(value, texts[0])
	case isAny(t):
		return fromTexts(reflect.TypeFor[[]any](), texts)
	case len(texts) > 1 && !isRepeated(t):
		return value, errors.New("is given more than once")
	default:
		return fromTexts(t, texts)
	}
}

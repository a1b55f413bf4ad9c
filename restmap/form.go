package restmap

import (
	"cmp"
	"errors"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/gorilla/schema"

	"github.com/busline/busline/restmap/strictjson"
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
// gorilla/schema decodes the parts that it can distinguish, into a separate struct, the shape, so that fields that a
// request does not mention keep their values. It only gets names that match exactly, with no more values and no higher
// index than allowed.
type form struct {
	fields  map[string]formField
	shape   reflect.Type
	decoder *schema.Decoder
	strict  bool     // unknown names are refused
	inPath  []string // names of arguments that are in the path, which wins

	short map[string]string // first names of members, and the argument that they are in; see shorten
}

// formField is one field of the struct to be filled.
type formField struct {
	formPart
	index []int // in the struct to be filled, see reflect.Value.FieldByIndex
	shape int   // index in the shape; -1 if gorilla/schema could not distinguish it

	hasDefault bool // an empty text leaves it as it is
}

// decode fills dst, an addressable struct, and returns the errs of the values, sorted by name. Unknown names are
// ignored, unless the form is strict.
func (f *form) decode(dst reflect.Value, values url.Values, place string) []ArgumentError {
	d := &formDecoding{form: f, dst: dst, place: place}
	values, written := f.inFull(values)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		d.take(name, values[name])
	}
	d.decodeShape()
	for i := range d.errs {
		if short, ok := written[d.errs[i].Name]; ok {
			d.errs[i].Name = short
		}
	}
	slices.SortStableFunc(d.errs, func(a, b ArgumentError) int { return cmp.Compare(a.Name, b.Name) })
	return d.errs
}

// formDecoding is the state of decoding one form into a struct.
type formDecoding struct {
	form      *form
	dst       reflect.Value
	place     string              // "query" or "body"
	shape     reflect.Value       // made on first use
	mentioned map[int]formField   // the fields of the shape that have a value
	values    map[string][]string // what gorilla/schema decodes into the shape
	lists     listSizes
	maps      map[string]bool // names of the maps that this form has begun to fill
	errs      []ArgumentError
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
	if field.hasDefault && strings.Join(texts, "") == "" {
		return
	}
	part := field.formPart
	if dotted && part.keyed {
		d.setMember(name, field, behind, texts)
		return
	}
	if dotted {
		var err error
		part, known, err = part.follow(argument, behind, &d.lists)
		if err != nil {
			d.reject(name, err.Error())
		}
		if mistake := field.miscased(behind); err == nil && !known && (d.form.strict || mistake != "") {
			d.reject(name, cmp.Or(mistake, unknownName))
		}
		if err != nil || !known {
			return
		}
	}
	switch {
	case len(texts) > 1 && !part.list:
		d.reject(name, "is given more than once"+remedy(part.typ, argument))
	case dotted && part.typ.Kind() == reflect.Pointer && strings.Join(texts, "") == "":
		// It is absent, of which gorilla/schema would make a pointer to zero.
	case part.decodable && (dotted || texts[0] != ""):
		d.mention(field)
		d.values[name] = texts
	default:
		d.set(name, field, texts)
	}
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

// unknown takes a name that is none of an argument. It tells a caller that sends tag[]=a, as some libraries do, what to send
// instead.
func (d *formDecoding) unknown(argument, name string) {
	before, _, found := strings.Cut(argument, "[")
	_, known := d.form.fields[before]
	mistake := cmp.Or(miscased(argument, d.form.fields), miscased(argument, d.form.short))
	switch {
	case mistake != "":
		d.reject(argument, mistake)
	case found && known:
		d.reject(argument, "is written with brackets; repeat "+before+", or write "+before+".0.name")
	case d.form.strict && !slices.Contains(d.form.inPath, argument):
		d.reject(name, unknownName+d.form.known())
	}
}

// known lists the names that there are.
func (f *form) known() string {
	if len(f.fields) == 0 {
		return ""
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(f.fields)), maps.Keys(f.short))
	slices.Sort(names)
	return "; known are " + strings.Join(names, ", ")
}

// set sets a field without gorilla/schema.
func (d *formDecoding) set(name string, field formField, texts []string) {
	value, err := fromTexts(field.typ, texts)
	if err == nil {
		err = checkNames(field.typ, texts[0], d.form.strict)
	}
	switch {
	case err != nil:
		d.errs = append(d.errs, argumentError(name, d.place, err))
	case field.shape >= 0:
		d.mention(field).Set(value) // its parts may follow
	default:
		d.dst.FieldByIndex(field.index).Set(value)
		d.begin(name, field) // its members may follow
	}
}

// mention returns the field in the shape, and records that it has a value.
func (d *formDecoding) mention(field formField) reflect.Value {
	if d.mentioned == nil {
		d.mentioned = make(map[int]formField)
		d.values = make(map[string][]string)
		d.shape = reflect.New(d.form.shape).Elem()
	}
	d.mentioned[field.shape] = field
	return d.shape.Field(field.shape)
}

// decodeShape has gorilla/schema decode what was left to it, and copies the fields that the form mentions.
func (d *formDecoding) decodeShape() {
	if len(d.mentioned) == 0 {
		return
	}
	if err := d.form.decoder.Decode(d.shape.Addr().Interface(), d.values); err != nil {
		d.translate(err)
		return
	}
	for i, field := range d.mentioned {
		d.dst.FieldByIndex(field.index).Set(d.shape.Field(i))
	}
}

// translate converts the errors of gorilla/schema to errs, one for each name.
func (d *formDecoding) translate(err error) {
	var failed schema.MultiError
	if !errors.As(err, &failed) {
		d.reject("form", "cannot be decoded")
	}
	for name, err := range failed {
		if conversion, ok := errors.AsType[schema.ConversionError](err); ok {
			d.reject(name, conversionDetail(conversion, d.values[name]))
		} else {
			d.reject(name, "cannot be decoded")
		}
	}
}

// conversionDetail says what was expected of the text that could not be converted.
func conversionDetail(err schema.ConversionError, texts []string) string {
	t, text := err.Type, texts[max(0, err.Index)]
	if err.Index >= 0 && t.Kind() == reflect.Slice && !isText(t) {
		t = t.Elem()
	}
	if _, err := fromText(t, text); err != nil {
		return err.Error()
	}
	return "expects " + strictjson.Expected(t, nil)
}

// formBody is the plan for turning a form into the value that is a whole body: a struct, a map with string keys, or
// any, which becomes a map.
type formBody struct {
	object  *form        // for a struct
	element reflect.Type // of a map
}

// newFormBody plans bodies of type t; nil if no form can represent them.
func newFormBody(t reflect.Type) *formBody {
	t = pointed(t)
	switch {
	case t.Kind() == reflect.Interface:
		return &formBody{element: t}
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
func (b *formBody) decode(dst reflect.Value, values url.Values) []ArgumentError {
	dst = allocated(dst)
	if b.object != nil {
		return b.object.decode(dst, values, inBody)
	}
	members := dst.Type()
	if members.Kind() == reflect.Interface {
		members = reflect.TypeFor[map[string]any]()
	}
	object := reflect.MakeMap(members)
	var errs []ArgumentError
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value, err := member(b.element, values[name])
		if err != nil {
			errs = append(errs, argumentError(name, inBody, err))
			continue
		}
		object.SetMapIndex(reflect.ValueOf(name), value)
	}
	dst.Set(object)
	return errs
}

// member returns one member of a map from the texts of its name. For a map of any it is a string, or a list of strings
// if the name is repeated.
func member(t reflect.Type, texts []string) (value reflect.Value, err error) {
	switch {
	case t.Kind() == reflect.Interface && len(texts) == 1:
		return fromText(reflect.TypeFor[string](), texts[0])
	case t.Kind() == reflect.Interface:
		return fromTexts(reflect.TypeFor[[]string](), texts)
	case len(texts) > 1 && !isTextList(t):
		return value, errors.New("is given more than once")
	default:
		return fromTexts(t, texts)
	}
}

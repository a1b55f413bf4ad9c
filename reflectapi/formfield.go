package reflectapi

import (
	"errors"
	"fmt"
	"mime"
	"reflect"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/reflectapi/similar"
)

// FormField describes a field or a file of the form that a web method reads. It changes nothing of what is served: the
// method itself still has to check what it reads.
type FormField struct {
	Name string // "photo"
	// "string", "integer", "number", "boolean"; "file", or the media types of a file: "image/png,image/jpeg"; after "[]"
	// for several of the name
	Type  string
	About string // keywords, a description or both, as in //busline:arg: "required maxLength=80 title of the page"
}

// Form is a form as documents describe it.
type Form struct {
	Schema     *schema.Schema    // an object, whose files are of the format binary
	MediaTypes map[string]string // of the files that have some, by their names: "image/png, image/jpeg"
	HasFiles   bool              // it can be sent only as multipart/form-data
}

// DescribeForm describes a form. The error joins what is wrong with its fields, each with the remedy: a bad name, one
// that is declared twice, an unknown type, or keywords that do not fit the type.
func DescribeForm(fields []FormField) (*Form, error) {
	form := &Form{MediaTypes: make(map[string]string)}
	var (
		errs    []error
		members []reflect.StructField
		files   []string
	)
	names := make(map[string]bool)
	for i, field := range fields {
		parsed, err := parseFormField(field)
		switch {
		case names[field.Name]:
			err = errors.New("it is declared twice: leave one, and write [] before its type if there are several of the name")
		case err == nil:
			members = append(members, parsed.value.field(i))
			err = fieldError(parsed.value)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("form field %q: %w", field.Name, err))
		}
		names[field.Name] = true
		if parsed.isFile {
			files = append(files, field.Name)
		}
		if parsed.mediaTypes != "" {
			form.MediaTypes[field.Name] = parsed.mediaTypes
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var err error
	if form.Schema, err = schema.NewSchemas().Of(reflect.StructOf(members)); err != nil {
		return nil, fmt.Errorf("form: %w", err)
	}
	for _, name := range files {
		file := form.Schema.Properties[name]
		if file.Items != nil {
			file = file.Items
		}
		file.Format, form.HasFiles = "binary", true
	}
	return form, nil
}

// fieldError returns what is wrong with the keywords of a field.
func fieldError(field Value) error {
	alone := field.field(0)
	if problem := schema.TagProblem(alone); problem != "" {
		return errors.New(problem)
	}
	_, err := schema.NewSchemas().Of(reflect.StructOf([]reflect.StructField{alone}))
	return err
}

// formField is a [FormField] that was parsed.
type formField struct {
	value      Value
	isFile     bool
	mediaTypes string // "image/png, image/jpeg"; "" for any
}

// formTypes returns the types of the fields that are not files.
func formTypes() map[string]reflect.Type {
	return map[string]reflect.Type{
		"string": reflect.TypeFor[string](), "integer": reflect.TypeFor[int64](), "number": reflect.TypeFor[float64](),
		"boolean": reflect.TypeFor[bool](),
	}
}

func parseFormField(field FormField) (parsed formField, err error) {
	if field.Name == "" || strings.ContainsAny(field.Name, " \t\r\n,=\"\\`") {
		return parsed, errors.New("a name has no spaces, commas, quotation marks, backslashes or =")
	}
	kind, several := strings.CutPrefix(field.Type, "[]")
	t := formTypes()[kind]
	if t == nil {
		if parsed.mediaTypes, err = fileTypes(kind); err != nil {
			return parsed, err
		}
		t, parsed.isFile = formTypes()["string"], true
	}
	if several {
		t = reflect.SliceOf(t)
	}
	declared, err := keywordsIn(valueDirective{name: field.Name}, field.About)
	if err != nil {
		return parsed, err
	}
	isForFiles := func(keyword string) bool { return keyword == "required" || strings.HasPrefix(keyword, "description=") }
	if i := slices.IndexFunc(declared.keywords, func(k string) bool { return !isForFiles(k) }); parsed.isFile && i >= 0 {
		return parsed, fmt.Errorf("%s is not for files: they may be required, and have a description", declared.keywords[i])
	}
	parsed.value = Value{Name: field.Name, Type: t, Tag: declared.tag(), Optional: declared.optional}
	return parsed, nil
}

// fileTypes returns the media types of a file, "" for any.
func fileTypes(kind string) (string, error) {
	if kind == "file" {
		return "", nil
	}
	all := strings.Split(kind, ",")
	for _, one := range all {
		if parsed, parameters, err := mime.ParseMediaType(one); err != nil || len(parameters) > 0 ||
			!strings.Contains(parsed, "/") {
			types := []string{"string", "integer", "number", "boolean", "file"}
			return "", fmt.Errorf("the type %q is none of %s and media types of a file such as image/png,image/jpeg%s",
				kind, strings.Join(types, ", "), similar.DidYouMean(kind, types))
		}
	}
	return strings.Join(all, ", "), nil
}

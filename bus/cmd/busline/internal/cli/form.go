package cli

import (
	"bytes"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/restmap/openapi"
)

// form returns the media type of the form that is the body of an operation; "" if it is none.
func (o *operation) form() string {
	if o.RequestBody != nil {
		for _, mediaType := range []string{openapi.MultipartForm, openapi.TextForm} {
			if o.RequestBody.Content[mediaType] != nil {
				return mediaType
			}
		}
	}
	return ""
}

// takesFile reports whether a value is a file of a form.
func (d schemas) takesFile(schema *schema.Schema) bool {
	return d.kind(schema) == typeString && d.resolve(schema).Format == formatBinary
}

// checkFile returns an error unless a file is given for a file of a form, and something else for anything else in it.
func (p *plan) checkFile(to parameter, arg argument) error {
	d := schemas{p.operation.document}
	schema := to.schema
	if d.kind(schema) == typeArray {
		schema = d.resolve(schema).Items
	}
	switch isFile := d.takesFile(schema); {
	case isFile && !arg.file:
		return misuse("argument %s is a file: write %s=@%.40s", to.name, to.name, arg.value)
	case arg.file && !isFile:
		return misuse("argument %s is %s, not a file%s", to.name, withArticle(d.text(to.schema)), p.filesOf())
	}
	return nil
}

// filesOf says which files a form has.
func (p *plan) filesOf() string {
	d := schemas{p.operation.document}
	var files []string
	for _, each := range p.operation.parameters() {
		if d.takesFile(each.schema) || d.kind(each.schema) == typeArray && d.takesFile(d.resolve(each.schema).Items) {
			files = append(files, each.name)
		}
	}
	if files == nil {
		return ": this form has none"
	}
	return "; files of this form are " + strings.Join(files, ", ")
}

// prepareForm sets the body of a request to a form.
func (p *plan) prepareForm(draft *prepared, members map[string]*value) error {
	if p.operation.form() == openapi.TextForm {
		form := make(url.Values)
		for name, member := range members {
			form[name] = member.texts()
		}
		draft.body = []byte(form.Encode())
		draft.header.Set("Content-Type", openapi.TextForm)
		return nil
	}
	var body bytes.Buffer
	parts := multipart.NewWriter(&body)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if err := writeParts(parts, name, members[name]); err != nil {
			return err
		}
	}
	if err := parts.Close(); err != nil {
		return err
	}
	draft.body = body.Bytes()
	draft.header.Set("Content-Type", parts.FormDataContentType())
	return nil
}

// writeParts writes what a form has of one name.
func writeParts(parts *multipart.Writer, name string, member *value) error {
	files := []*value{member}
	if member.items != nil {
		files = member.items
	}
	if files[0].file == nil {
		for _, text := range member.texts() {
			if err := parts.WriteField(name, text); err != nil {
				return err
			}
		}
		return nil
	}
	for _, one := range files {
		content := []byte(one.file.value)
		mediaType := mime.TypeByExtension(filepath.Ext(one.file.path))
		if mediaType == "" {
			mediaType = http.DetectContentType(content)
		}
		head := textproto.MIMEHeader{
			"Content-Disposition": {multipart.FileContentDisposition(name, filepath.Base(one.file.path))},
			"Content-Type":        {mediaType},
		}
		part, err := parts.CreatePart(head)
		if err == nil {
			_, err = part.Write(content)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

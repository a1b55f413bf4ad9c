package cli

import (
	"encoding/base64"
	"errors"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/busline/busline/reflectapi"
)

// formatByte is that of a text which stands for bytes, in base64.
const formatByte = "byte"

// files reads the files that a command line names.
type files struct {
	stdin     io.Reader
	stdinRead bool
}

// read reads what stands behind @: the path of a file, or - for standard input, which is there once.
func (f *files) read(path string) ([]byte, error) {
	switch {
	case path == "":
		return nil, errors.New("behind @ stands the path of a file")
	case path != "-":
		return os.ReadFile(path)
	case f.stdinRead:
		return nil, errors.New("standard input is given to something else already")
	}
	f.stdinRead = true
	return io.ReadAll(f.stdin)
}

// readValue reads what stands behind name=, which is meant as it stands there unless it begins with @. Of @@ the first is
// left out.
func (a *argument) readValue(text string, from *files) error {
	path, isFile := strings.CutPrefix(text, "@")
	if !isFile || strings.HasPrefix(path, "@") {
		a.value = path
		return nil
	}
	content, err := from.read(path)
	if err != nil {
		return misuse("argument %s: %w; a text that begins with @ is written %s=@%.40s", a.name, err, a.name, text)
	}
	a.value, a.file = string(content), true
	return nil
}

// textOf returns the text of an argument as the schema asks for it: what a file has is base64 where bytes are asked for.
func (d schemas) textOf(schema *reflectapi.Schema, name string, given argument) (string, error) {
	switch {
	case !given.file:
	case d.takesBytes(schema):
		return base64.StdEncoding.EncodeToString([]byte(given.value)), nil
	case !utf8.ValidString(given.value):
		return "", misuse("argument %s is %s, and the file is no text", name, withArticle(d.text(schema)))
	}
	return given.value, nil
}

// takesBytes says whether a text stands for bytes.
func (d schemas) takesBytes(schema *reflectapi.Schema) bool {
	return d.kind(schema) == typeString && d.resolve(schema).Format == formatByte
}

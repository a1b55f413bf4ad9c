package cli

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/busline/busline/reflectapi"
)

// formatByte is the format of a base64 text.
const formatByte = "byte"

// files reads the files named on a command line.
type files struct {
	stdin     io.Reader
	stdinRead bool
}

// read reads the file whose path follows @, or standard input for -, which can be read once. It returns when
// ctx ends.
func (f *files) read(ctx context.Context, path string) ([]byte, error) {
	switch {
	case path == "":
		return nil, errors.New("@ has to be followed by the path of a file")
	case path != "-":
		return abandonable(ctx, func() ([]byte, error) { return os.ReadFile(path) })
	case f.stdinRead:
		return nil, errors.New("standard input is already used for something else")
	}
	f.stdinRead = true
	return abandonable(ctx, func() ([]byte, error) { return io.ReadAll(f.stdin) })
}

// abandonable reads, and returns without the content when ctx ends. Reading goes on, as long as the process does: nothing ends
// that of a terminal, or of a pipe, but what writes to it.
func abandonable(ctx context.Context, read func() ([]byte, error)) (content []byte, err error) {
	ended := make(chan struct{})
	var text []byte
	var failed error
	go func() {
		defer close(ended)
		text, failed = read()
	}()
	select {
	case <-ended:
		return text, failed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// readValue returns the value after name=, which is literal unless it begins with @. @@ stands for a literal @ at the
// beginning.
func (a *argument) readValue(ctx context.Context, text string, from *files) error {
	path, isFile := strings.CutPrefix(text, "@")
	if !isFile || strings.HasPrefix(path, "@") {
		a.value = path
		return nil
	}
	content, err := from.read(ctx, path)
	if err != nil {
		return misuse("argument %s: %w; for a text that begins with @, write %s=@%.40s", a.name, err, a.name, text)
	}
	a.value, a.file = string(content), true
	return nil
}

// textOf returns the text of an argument in the form of the schema: the content of a file becomes base64 if bytes are
// expected.
func (d schemas) textOf(schema *reflectapi.Schema, name string, given argument) (string, error) {
	what := "the file"
	if !given.file {
		what = fmt.Sprintf("%.40q", given.value)
	}
	switch {
	case given.file && d.takesBytes(schema):
		return base64.StdEncoding.EncodeToString([]byte(given.value)), nil
	case !utf8.ValidString(given.value):
		return "", misuse("argument %s is %s, but %s is not text", name, withArticle(d.text(schema)), what)
	}
	return given.value, nil
}

// takesBytes reports whether a text stands for bytes.
func (d schemas) takesBytes(schema *reflectapi.Schema) bool {
	return d.kind(schema) == typeString && d.resolve(schema).Format == formatByte
}

package cli

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/busline/busline/reflectapi/schema"
)

// argument is one name=value, or name:=json.
type argument struct {
	name  string // "p1.x"
	value string
	json  bool
	file  bool   // the value is the content of a file
	path  string // of that file; "-" for standard input
}

// arguments are the arguments of a call on the command line.
type arguments struct {
	named []argument
	body  []byte // the whole body, nil if it is made of the named arguments
}

// parseArguments parses name=value and name:=json, whose values may be @file, and at most one whole body: @file, - or
// JSON. It stops reading when ctx ends.
func parseArguments(ctx context.Context, operands []string, from *files) (args arguments, err error) {
	for _, operand := range operands {
		name, value, isNamed := strings.Cut(operand, "=")
		switch {
		case operand == "-" || strings.HasPrefix(operand, "@") || strings.HasPrefix(operand, "{") ||
			strings.HasPrefix(operand, "["):
			if args.body != nil {
				return args, misuse("the body is given twice; the second is %.40q", operand)
			}
			if args.body, err = readBody(ctx, operand, from); err != nil {
				return args, err
			}
		case strings.HasPrefix(operand, "https://") || strings.HasPrefix(operand, "http://"):
			return args, misuse("%.80q is where an argument would be: the address comes first, and -X names the method", operand)
		case !isNamed || strings.Trim(name, ":") == "":
			return args, misuse("%.40q is not an argument; write name=value or name:=json, or the whole body as @file, - or {…}",
				operand)
		default:
			var one argument
			one.name, one.json = strings.CutSuffix(name, ":")
			if err := one.readValue(ctx, value, from); err != nil {
				return args, err
			}
			if one.json && !json.Valid([]byte(one.value)) {
				return args, misuse("%s: the value after := has to be JSON; for text write %s=…", one.name, one.name)
			}
			args.named = append(args.named, one)
		}
	}
	return args, nil
}

// readBody reads a body from a file, from standard input, or from the command line itself. It never returns nil without
// an error.
func readBody(ctx context.Context, operand string, from *files) (body []byte, err error) {
	path, isFile := strings.CutPrefix(operand, "@")
	switch {
	case operand == "-":
		body, err = from.read(ctx, operand)
	case isFile:
		body, err = from.read(ctx, path)
	default:
		body = []byte(operand)
	}
	if err != nil {
		return nil, misuse("the body: %w", err)
	}
	if body == nil {
		body = []byte{}
	}
	return body, nil
}

// prepareBody sets the body of a request, which is JSON unless the command line sets another content type.
func (p *plan) prepareBody(draft *prepared, whole []byte, members *value) error {
	switch {
	case whole != nil && (p.bodiless() || p.operation.RequestBody == nil):
		return misuse("%s %s takes no body", p.method, p.to)
	case whole != nil:
		draft.body = whole
		return p.setType(draft)
	case p.bodiless() || p.operation.RequestBody == nil:
		return nil
	case p.operation.form() != "":
		return p.prepareForm(draft, members.members)
	case members.members != nil:
		draft.body = members.json()
	case p.operation.takesMembers():
		draft.body = []byte("{}")
	default:
		return misuse("%s", p.asksForBody())
	}
	return p.setType(draft)
}

// asksForBody says what is to be given to an operation whose body has no members.
func (p *plan) asksForBody() string {
	d := schemas{p.operation.document}
	return fmt.Sprintf("%s %s takes %s as its body: give it as @file, as - for standard input, or as JSON",
		p.method, p.to, withArticle(d.text(p.operation.body())))
}

// setType sets the content type of a body, unless the command line has.
func (p *plan) setType(draft *prepared) error {
	const name = "Content-Type"
	switch {
	case draft.header.Get(name) != "" || len(draft.body) == 0:
	case p.operation != nil && p.operation.form() != "":
		return misuse("%s %s takes a form: write its fields as name=value and its files as name=@file, "+
			"or set the type of the body with -H 'Content-Type: …'", p.method, p.to)
	case json.Valid(draft.body):
		draft.header.Set(name, mediaJSON)
	case p.operation != nil && p.operation.body() != nil:
		return misuse("the body is not JSON, which %s %s takes; set its type with -H 'Content-Type: …'", p.method, p.to)
	case utf8.Valid(draft.body):
		draft.header.Set(name, "text/plain; charset=utf-8")
	default:
		draft.header.Set(name, "application/octet-stream")
	}
	return nil
}

// The formats of strings that are bytes.
const (
	formatByte   = "byte"   // a base64 text
	formatBinary = "binary" // a file of a form
)

// files reads the files named on a command line.
type files struct {
	stdin     io.Reader
	stdinRead bool
	refused   bool // all but stdin
	regular   bool // no others are read
}

// files returns the files that a command line may name.
func (s *session) files() *files {
	return &files{stdin: s.Stdin, refused: s.ReadOnly, regular: s.FilesOnly}
}

// read reads the file whose path follows @, or standard input for -, which can be read once. It returns when
// ctx ends.
func (f *files) read(ctx context.Context, path string) ([]byte, error) {
	switch {
	case path == "":
		return nil, errors.New("@ has to be followed by the path of a file")
	case path != "-" && f.refused:
		return nil, errors.New("files are not read: " + withWrite)
	case path != "-":
		if info, err := os.Stat(path); err == nil && f.regular && !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is no regular file", path)
		}
		return abandonable(ctx, func() ([]byte, error) { return os.ReadFile(path) })
	case f.stdinRead:
		return nil, errors.New("standard input is already used for something else")
	}
	f.stdinRead = true
	return abandonable(ctx, func() ([]byte, error) { return io.ReadAll(f.stdin) })
}

// abandonable reads, and returns without the content when ctx ends. The read continues as long as the process runs:
// nothing ends that of a terminal, or of a pipe, but what writes to it.
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
	a.value, a.file, a.path = string(content), true, path
	return nil
}

// textOf returns the text of an argument in the form of the schema: the content of a file becomes base64 if bytes are
// expected.
func (d schemas) textOf(schema *schema.Schema, name string, arg argument) (string, error) {
	what := "the file"
	if !arg.file {
		what = fmt.Sprintf("%.40q", arg.value)
	}
	switch {
	case arg.file && d.takesBytes(schema):
		return base64.StdEncoding.EncodeToString([]byte(arg.value)), nil
	case !utf8.ValidString(arg.value):
		return "", misuse("argument %s is %s, but %s is not text", name, withArticle(d.text(schema)), what)
	}
	return arg.value, nil
}

// takesBytes reports whether a text stands for bytes.
func (d schemas) takesBytes(schema *schema.Schema) bool {
	return d.kind(schema) == typeString && d.resolve(schema).Format == formatByte
}

package cli

import (
	"context"
	"encoding/json"
	"io"
	"strings"
)

// argument is one name=value, or name:=json.
type argument struct {
	name  string // "p1.x"
	value string
	json  bool
	file  bool // the value is the content of a file
}

// arguments are the arguments of a call on the command line.
type arguments struct {
	named []argument
	body  []byte // the whole body, nil if it is made of the named arguments
}

// parseArguments parses name=value and name:=json, whose values may be @file, and at most one whole body: @file, - or
// JSON. It stops reading when ctx ends.
func parseArguments(ctx context.Context, operands []string, stdin io.Reader) (given arguments, err error) {
	from := &files{stdin: stdin}
	for _, operand := range operands {
		name, value, isNamed := strings.Cut(operand, "=")
		switch {
		case operand == "-" || strings.HasPrefix(operand, "@") || strings.HasPrefix(operand, "{") || strings.HasPrefix(operand, "["):
			if given.body != nil {
				return given, misuse("the body is given twice; the second is %.40q", operand)
			}
			if given.body, err = readBody(ctx, operand, from); err != nil {
				return given, err
			}
		case strings.HasPrefix(operand, "https://") || strings.HasPrefix(operand, "http://"):
			return given, misuse("%.80q is where an argument would be: the address comes first, and -X names the method", operand)
		case !isNamed || strings.Trim(name, ":") == "":
			return given, misuse("%.40q is not an argument; write name=value or name:=json, or the whole body as @file, - or {…}", operand)
		default:
			var one argument
			one.name, one.json = strings.CutSuffix(name, ":")
			if err := one.readValue(ctx, value, from); err != nil {
				return given, err
			}
			if one.json && !json.Valid([]byte(one.value)) {
				return given, misuse("%s: the value after := has to be JSON; for text write %s=…", one.name, one.name)
			}
			given.named = append(given.named, one)
		}
	}
	return given, nil
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

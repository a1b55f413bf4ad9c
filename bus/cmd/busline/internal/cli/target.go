package cli

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/spf13/pflag"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// target has the flags that say what is called.
type target struct {
	method, instance string
	header           http.Header
}

func (t *target) register(set *pflag.FlagSet) {
	set.StringVarP(&t.method, "method", "X", "", "HTTP `method`, instead of the one in the document")
	set.StringVar(&t.instance, "instance", "", "`id` of the instance to call, as busline ls shows it")
	set.FuncP("header", "H", "`header` to send, 'Name: value'; may be repeated", func(text string) error {
		name, value, ok := strings.Cut(text, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || len(wire.FromHTTP(http.Header{name: {value}})) == 0 { // it would be left out
			return errors.New("a header that is for callers to set, such as Accept: text/plain")
		}
		if t.header == nil {
			t.header = make(http.Header)
		}
		t.header.Add(name, value)
		return nil
	})
}

// prepare converts operands to a request.
func (t *target) prepare(ctx context.Context, s *session, operands []string) (*prepared, error) {
	if len(operands) == 0 {
		return nil, misuse("name what to call, as in: %s calculator.example/add x=5 y=6", s.command)
	}
	to, err := parseAddress(operands[0])
	if err != nil {
		return nil, err
	}
	if t.instance != "" {
		if err := subject.CheckID(t.instance); err != nil {
			return nil, misuse("--instance: %w", err)
		}
		to.host = t.instance + "." + to.host
	}
	method := strings.ToUpper(t.method)
	if method != "" && subject.CheckMethod(method) != nil {
		return nil, misuse("-X %s: a method is a word such as GET", t.method)
	}
	given, err := parseArguments(ctx, operands[1:], s.Stdin)
	if err != nil {
		return nil, err
	}
	planned, err := s.resolve(ctx, to, method, given)
	if err != nil {
		return nil, err
	}
	header := t.header
	if header == nil {
		header = make(http.Header)
	}
	return planned.prepare(given, header)
}

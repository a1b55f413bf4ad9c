package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/busline/busline/restmap/openapi"
)

// fetched is the document of one port of a host.
type fetched struct {
	text     []byte            // as the host wrote it
	document *openapi.Document // only what it says of the host itself: the portal's document describes all hosts
}

// errUndescribed says that a host has no document on a port for this caller: everything there is hidden, or needs
// claims.
var errUndescribed = errors.New("has no document for this caller")

// errUnreadable says that the document of a host is none, or one that is not valid. Busline does not write such, others may.
var errUnreadable = errors.New("cannot be read")

// fetch asks a host, or one of its instances, for the document of a port, with the actor of ctx.
func (s *session) fetch(ctx context.Context, host string, port int) (*fetched, error) {
	conn, err := s.join(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := s.limited(ctx)
	defer cancel()
	where := fmt.Sprintf("%s:%d", host, port)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+where+"/openapi.json", http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := conn.Do(request)
	if isUnanswered(err) {
		return nil, s.hostNotFound(context.WithoutCancel(ctx), host, err)
	}
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode == http.StatusNotFound:
		return nil, fmt.Errorf("%s %w", where, errUndescribed)
	case response.StatusCode != http.StatusOK:
		return nil, s.answerFailed(response, text)
	}
	document, err := openapi.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("the document of %s %w: %w", where, errUnreadable, err)
	}
	own := document.Filter(func(path, _ string, _ *openapi.Operation) bool {
		named, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), ":")
		return host == named || strings.HasSuffix(host, "."+named)
	})
	return &fetched{text, own}, nil
}

// operation is one method of one path of a document.
type operation struct {
	method   string
	place    string // "calculator.example:443"
	path     string // after the host and the port, "/products/{id}"
	document *openapi.Document
	*openapi.Operation
}

// operationsOf returns the operations in a document, by path, in the order of package openapi.
func operationsOf(document *openapi.Document) (all []operation) {
	for key, item := range document.Paths {
		place, path, _ := strings.Cut(strings.TrimPrefix(key, "/"), "/")
		for method, described := range item.Operations() {
			all = append(all, operation{method, place, "/" + path, document, described})
		}
	}
	slices.SortStableFunc(all, func(a, b operation) int {
		return cmp.Or(strings.Compare(a.place, b.place), strings.Compare(a.path, b.path))
	})
	return all
}

// match compares the escaped path of a URL with that of the operation, which may have {parameters}. It returns their
// values, and how many segments match literally; a {parameter} in the URL stands for itself, and has no value.
func (o *operation) match(escaped string) (values map[string]string, literal int, ok bool) {
	pattern, segments := strings.Split(o.path, "/"), strings.Split(escaped, "/")
	values = make(map[string]string)
	for i, want := range pattern {
		if i >= len(segments) {
			return nil, 0, false
		}
		got, err := url.PathUnescape(segments[i])
		if err != nil {
			return nil, 0, false
		}
		name, isParameter := parameterName(want)
		switch {
		case got == want:
			literal++
		case !isParameter || got == "":
			return nil, 0, false
		case i == len(pattern)-1: // it may match all remaining segments, which the document does not say
			if values[name], err = url.PathUnescape(strings.Join(segments[i:], "/")); err != nil {
				return nil, 0, false
			}
			return values, literal, true
		default:
			values[name] = got
		}
	}
	return values, literal, len(segments) == len(pattern)
}

// parameterName returns the name in {name}; false for any other segment.
func parameterName(segment string) (name string, ok bool) {
	inside, opened := strings.CutPrefix(segment, "{")
	inside, closed := strings.CutSuffix(inside, "}")
	return inside, opened && closed
}

// isOpen reports whether the document does not describe arguments and results, as for an http.Handler.
func (o *operation) isOpen() bool {
	success := o.Responses["200"]
	return o.RequestBody == nil && (success == nil || len(success.Content) == 0)
}

// needsToken reports whether a call needs a token.
func (o *operation) needsToken() bool { return len(o.Security) > 0 }

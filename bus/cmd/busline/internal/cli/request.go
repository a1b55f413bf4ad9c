package cli

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// prepared is a request that can be made any number of times.
type prepared struct {
	method string
	url    *url.URL
	header http.Header
	body   []byte
}

// request returns it as an *http.Request.
func (p *prepared) request(ctx context.Context) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, p.method, p.url.String(), bytes.NewReader(p.body))
	if err == nil {
		request.Header = p.header.Clone()
	}
	return request, err
}

// prepare combines a plan and arguments to a request.
func (p *plan) prepare(given arguments, header http.Header) (*prepared, error) {
	made := &prepared{method: p.method, header: header}
	if p.operation == nil || p.operation.isOpen() {
		return made, p.prepareOpen(made, given)
	}
	filled, err := p.fill(given)
	if err != nil {
		return nil, err
	}
	path, err := p.path(filled)
	if err != nil {
		return nil, err
	}
	query, err := url.ParseQuery(p.to.query)
	if err != nil {
		return nil, misuse("the query of %s: %w", p.to, err)
	}
	members := new(value)
	for _, each := range filled {
		switch {
		case each.in == inPath:
		case each.in == inQuery, p.bodiless():
			addQuery(query, each)
		default:
			if members.members == nil {
				members.members = make(map[string]*value)
			}
			members.members[each.name] = each.value
		}
	}
	if made.url, err = p.to.url(path, query.Encode()); err != nil {
		return nil, err
	}
	return made, p.prepareBody(made, given.body, members)
}

// bodiless reports whether requests of this method have no body.
func (p *plan) bodiless() bool {
	return p.method == "" || p.method == http.MethodGet || p.method == http.MethodHead || p.method == http.MethodDelete
}

// path returns the escaped path of the request: that of the address, with values for the {parameters}.
func (p *plan) path(filled []filledParameter) (string, error) {
	segments := strings.Split(p.to.path, "/")
	for i, segment := range segments {
		name, isParameter := parameterName(segment)
		if !isParameter {
			continue
		}
		at := slices.IndexFunc(filled, func(f filledParameter) bool { return f.name == name && f.in == inPath })
		if at < 0 {
			return "", misuse("argument %s is missing: it is part of the path %s", name, p.operation.path)
		}
		texts := filled[at].value.texts()
		if len(texts) != 1 || texts[0] == "" {
			return "", misuse("argument %s is part of the path %s and cannot be empty", name, p.operation.path)
		}
		escape := url.PathEscape
		if filled[at].rest {
			escape = escapeRest
		}
		segments[i] = escape(texts[0])
	}
	return strings.Join(segments, "/"), nil
}

func addQuery(query url.Values, one filledParameter) {
	kind := one.value.json()
	if one.json || len(kind) > 0 && kind[0] == '{' {
		query.Set(one.name, string(kind))
		return
	}
	query.Del(one.name)
	for _, text := range one.value.texts() {
		query.Add(one.name, text)
	}
}

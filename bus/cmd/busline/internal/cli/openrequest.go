package cli

import (
	"net/http"
	"net/url"
	"strings"
)

// prepareOpen prepares a request whose arguments no document describes. They are sent as texts, in the query or in a
// form, and the handler knows their types.
func (p *plan) prepareOpen(made *prepared, given arguments) (err error) {
	if made.method == "" {
		made.method = http.MethodGet
		if given.body != nil {
			made.method = http.MethodPost
		}
	}
	query, err := url.ParseQuery(p.to.query)
	if err != nil {
		return misuse("the query of %s: %w", p.to, err)
	}
	path, form := p.to.path, url.Values{}
	for _, one := range given.named {
		placeholder := "{" + one.name + "}"
		switch {
		case strings.Contains(path, placeholder):
			path = strings.ReplaceAll(path, placeholder, escapeRest(one.value))
		case made.method == http.MethodPost || made.method == http.MethodPut || made.method == http.MethodPatch:
			form.Add(one.name, one.value)
		default:
			query.Add(one.name, one.value)
		}
	}
	if i := strings.IndexByte(path, '{'); i >= 0 {
		name, _, _ := strings.Cut(path[i+1:], "}")
		return misuse("argument %s is missing: it is part of the path %s", name, p.to.path)
	}
	if made.url, err = p.to.url(path, query.Encode()); err != nil {
		return err
	}
	switch {
	case given.body != nil && len(form) > 0:
		return misuse("the body is given as a whole, but %s=… is part of it", given.named[0].name)
	case len(form) > 0:
		made.body = []byte(form.Encode())
		if made.header.Get("Content-Type") == "" {
			made.header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		return nil
	}
	made.body = given.body
	return p.setType(made)
}

// escapeRest escapes the value of {path+}, whose slashes stay.
func escapeRest(text string) string {
	segments := strings.Split(text, "/")
	for i, segment := range segments {
		segments[i] = url.PathEscape(segment)
	}
	return strings.Join(segments, "/")
}

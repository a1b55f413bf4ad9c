package cli

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/busline/busline/reflectapi/schema"
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
func (p *plan) prepare(args arguments, header http.Header) (*prepared, error) {
	draft := &prepared{method: p.method, header: header}
	if p.operation == nil || p.operation.isOpen() {
		return draft, p.prepareOpen(draft, args)
	}
	filled, err := p.fill(args)
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
	if draft.url, err = p.to.url(path, query.Encode()); err != nil {
		return nil, err
	}
	return draft, p.prepareBody(draft, args.body, members)
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

// prepareOpen prepares a request whose arguments no document describes. They are sent as texts, in the query or in a
// form, and the handler knows their types.
func (p *plan) prepareOpen(draft *prepared, args arguments) (err error) {
	if draft.method == "" {
		draft.method = http.MethodGet
		if args.body != nil {
			draft.method = http.MethodPost
		}
	}
	query, err := url.ParseQuery(p.to.query)
	if err != nil {
		return misuse("the query of %s: %w", p.to, err)
	}
	path, form := p.to.path, url.Values{}
	for _, one := range args.named {
		placeholder := "{" + one.name + "}"
		switch {
		case strings.Contains(path, placeholder):
			path = strings.ReplaceAll(path, placeholder, escapeRest(one.value))
		case draft.method == http.MethodPost || draft.method == http.MethodPut || draft.method == http.MethodPatch:
			form.Add(one.name, one.value)
		default:
			query.Add(one.name, one.value)
		}
	}
	if i := strings.IndexByte(path, '{'); i >= 0 {
		name, _, _ := strings.Cut(path[i+1:], "}")
		return misuse("argument %s is missing: it is part of the path %s", name, p.to.path)
	}
	if draft.url, err = p.to.url(path, query.Encode()); err != nil {
		return err
	}
	switch {
	case args.body != nil && len(form) > 0:
		return misuse("the body is given as a whole, but %s=… is part of it", args.named[0].name)
	case len(form) > 0:
		draft.body = []byte(form.Encode())
		if draft.header.Get("Content-Type") == "" {
			draft.header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		return nil
	}
	draft.body = args.body
	return p.setType(draft)
}

// escapeRest escapes the value of {path+}, whose slashes stay.
func escapeRest(text string) string {
	segments := strings.Split(text, "/")
	for i, segment := range segments {
		segments[i] = url.PathEscape(segment)
	}
	return strings.Join(segments, "/")
}

// demands returns for people what a schema demands of a value in addition to its type: "1 to 200 characters", "pattern
// \S".
func (d schemas) demands(schema *schema.Schema) (all []string) {
	s := d.resolve(schema)
	if choices := choicesOf(s); choices != "" {
		all = append(all, choices)
	}
	if of := numberRange(s); of != "" {
		all = append(all, of)
	}
	if s.MultipleOf != "" {
		all = append(all, "a multiple of "+figure(s.MultipleOf))
	}
	for _, counted := range []struct {
		least, most *uint64
		noun        string
	}{{s.MinLength, s.MaxLength, "character"}, {s.MinItems, s.MaxItems, "item"},
		{s.MinProperties, s.MaxProperties, "member"}} {
		if of := countRange(counted.least, counted.most, counted.noun); of != "" {
			all = append(all, of)
		}
	}
	if s.UniqueItems {
		all = append(all, "no duplicates")
	}
	if d.kind(schema) == typeArray && d.kind(s.Items) != typeArray {
		if each := d.demands(s.Items); each != nil {
			all = append(all, "each "+strings.Join(each, ", "))
		}
	}
	if s.Pattern != "" { // last, because it may contain commas
		all = append(all, "pattern "+cleanLine(s.Pattern))
	}
	return all
}

// choicesOf formats an enumeration: "one of box, bag".
func choicesOf(s *schema.Schema) string {
	if len(s.Enum) == 0 {
		return ""
	}
	texts := make([]string, len(s.Enum))
	for i, each := range s.Enum {
		texts[i] = cleanLine(fmt.Sprint(each))
		if each == nil {
			texts[i] = "null"
		} else if i < len(s.EnumNames) && s.EnumNames[i] != "" {
			texts[i] += " (" + cleanLine(s.EnumNames[i]) + ")"
		}
	}
	return "one of " + strings.Join(texts, ", ")
}

// numberRange formats the range of a number.
func numberRange(s *schema.Schema) string {
	switch least, most := s.Minimum, s.Maximum; {
	case least != "" && most != "" && !s.ExclusiveMinimum && !s.ExclusiveMaximum:
		return figure(least) + " to " + figure(most)
	case least != "" && most != "":
		return bound(least, s.ExclusiveMinimum, "more than", "at least") + ", " + bound(most, s.ExclusiveMaximum,
			"less than", "at most")
	case least != "":
		return bound(least, s.ExclusiveMinimum, "more than", "at least")
	default:
		return bound(most, s.ExclusiveMaximum, "less than", "at most")
	}
}

// bound formats one end of a range, "" if there is none.
func bound(at schema.Number, exclusive bool, without, with string) string {
	switch {
	case at == "":
		return ""
	case exclusive:
		return without + " " + figure(at)
	default:
		return with + " " + figure(at)
	}
}

// figure formats a number for people.
func figure(number schema.Number) string {
	if f, err := strconv.ParseFloat(string(number), 64); err == nil && strings.ContainsAny(string(number), "eE") {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return string(number)
}

// countRange formats a range of counts: "1 to 20 items".
func countRange(least, most *uint64, noun string) string {
	many := func(count uint64) string {
		if count == 1 {
			return "1 " + noun
		}
		return strconv.FormatUint(count, 10) + " " + noun + "s"
	}
	switch {
	case least != nil && most != nil && *least == *most:
		return many(*most)
	case least != nil && most != nil:
		return strconv.FormatUint(*least, 10) + " to " + many(*most)
	case least != nil:
		return "at least " + many(*least)
	case most != nil:
		return "at most " + many(*most)
	default:
		return ""
	}
}

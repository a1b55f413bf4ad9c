package cli

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// prepareBody sets the body of a request, which is JSON unless the command line sets another content type.
func (p *plan) prepareBody(made *prepared, whole []byte, members *value) error {
	switch {
	case whole != nil && (p.bodiless() || p.operation.RequestBody == nil):
		return misuse("%s %s takes no body", p.method, p.to)
	case whole != nil:
		made.body = whole
		return p.setType(made)
	case p.bodiless() || p.operation.RequestBody == nil:
		return nil
	case members.members != nil:
		made.body = members.json()
	case p.operation.takesMembers():
		made.body = []byte("{}")
	default:
		return misuse("%s", p.asksForBody())
	}
	return p.setType(made)
}

// asksForBody says what is to be given to an operation whose body has no members.
func (p *plan) asksForBody() string {
	d := schemas{p.operation.document}
	return fmt.Sprintf("%s %s takes %s as its body: give it as @file, as - for standard input, or as JSON",
		p.method, p.to, withArticle(d.text(p.operation.body())))
}

// setType sets the content type of a body, unless the command line has.
func (p *plan) setType(made *prepared) error {
	const name = "Content-Type"
	switch {
	case made.header.Get(name) != "" || len(made.body) == 0:
	case json.Valid(made.body):
		made.header.Set(name, mediaJSON)
	case p.operation != nil && p.operation.body() != nil:
		return misuse("the body is not JSON, which %s %s takes; set its type with -H 'Content-Type: …'", p.method, p.to)
	case utf8.Valid(made.body):
		made.header.Set(name, "text/plain; charset=utf-8")
	default:
		made.header.Set(name, "application/octet-stream")
	}
	return nil
}

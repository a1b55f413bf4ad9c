// Package list serves a collection page by page. docs/recipes/list.md explains it.
package list

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/url"
	"strconv"

	"github.com/invopop/jsonschema"

	"github.com/busline/busline/bus"
)

// Books is a collection in the order of the ids.
type Books []Book

// Book is a book.
type Book struct {
	ID     int    `json:"id"`
	Author string `json:"author"`
	Title  string `json:"title"`
}

// Page is a part of a collection.
type Page struct {
	Items []Book `json:"items"`
	Next  int    `json:"next,omitempty"` // the argument after of the next page; 0 on the last
}

// Limit is how many items a page has at most.
type Limit int

const defaultLimit = 20

// JSONSchemaExtend says which limits are accepted; 0 or none stands for the default.
func (Limit) JSONSchemaExtend(s *jsonschema.Schema) {
	s.Minimum, s.Maximum = "0", "100"
	s.Description = fmt.Sprintf("0 stands for %d.", defaultLimit)
}

// List returns the books after an id, of one author if one is given.
func (b Books) List(ctx context.Context, author string, after int, limit Limit) (httpResponseBody Page, err error) {
	limit = cmp.Or(limit, defaultLimit)
	var page Page
	for _, book := range b {
		if book.ID <= after || author != "" && book.Author != author {
			continue
		}
		if len(page.Items) == int(limit) {
			page.Next = page.Items[limit-1].ID
			query := url.Values{"author": {author}, "after": {strconv.Itoa(page.Next)}, "limit": {strconv.Itoa(int(limit))}}
			bus.SetResponseHeader(ctx, "Link", fmt.Sprintf(`<?%s>; rel="next"`, query.Encode()))
			break
		}
		page.Items = append(page.Items, book)
	}
	return page, nil
}

// All calls for one page after another.
func All(ctx context.Context, conn *bus.Conn, author string) iter.Seq2[Book, error] {
	return func(yield func(Book, error) bool) {
		for more, after := true, 0; more; {
			var page Page
			arguments := bus.Args{"author": author, "after": after, "limit": 100}
			if err := conn.Call(ctx, "GET https://library.example/books", arguments, &page); err != nil {
				yield(Book{}, err)
				return
			}
			for _, book := range page.Items {
				if !yield(book, nil) {
					return
				}
			}
			more, after = page.Next != 0, page.Next
		}
	}
}

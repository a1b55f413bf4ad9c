// Package list serves a collection page by page. docs/recipes/list.md explains it.
package list

import (
	"context"
	"fmt"
	"iter"
	"net/url"
	"strconv"

	"github.com/busline/busline/bus"
)

//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Books

// Host is where the library is on the bus.
const Host = "library.example"

// Books is a collection in the order of the ids.
type Books interface {
	// List returns a page of books.
	//
	//busline:arg author only books of this author
	//busline:arg after id of the last book on the page before
	//busline:arg limit minimum=1 maximum=100 default=20 size of the page
	List(ctx context.Context, author string, after, limit int) (httpResponseBody Page, err error)
}

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

// Shelf implements Books.
type Shelf []Book

// List returns the books after an id, of one author if one is given.
func (s Shelf) List(ctx context.Context, author string, after, limit int) (httpResponseBody Page, err error) {
	var page Page
	for _, book := range s {
		if book.ID <= after || author != "" && book.Author != author {
			continue
		}
		if len(page.Items) == limit {
			page.Next = page.Items[limit-1].ID
			query := url.Values{"author": {author}, "after": {strconv.Itoa(page.Next)}, "limit": {strconv.Itoa(limit)}}
			bus.SetResponseHeader(ctx, "Link", fmt.Sprintf(`<?%s>; rel="next"`, query.Encode()))
			break
		}
		page.Items = append(page.Items, book)
	}
	return page, nil
}

// All calls for one page after another.
func All(ctx context.Context, books Books, author string) iter.Seq2[Book, error] {
	return func(yield func(Book, error) bool) {
		for more, after := true, 0; more; {
			page, err := books.List(ctx, author, after, 100)
			if err != nil {
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

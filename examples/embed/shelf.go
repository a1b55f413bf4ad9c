package main

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
)

// Shelf holds the books of the library.
type Shelf struct {
	publishLent func(id string) error // publishes the event

	mu    sync.Mutex // protects books
	books map[string]Book
}

// Book is one title.
type Book struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Copies int    `json:"copies"` // on the shelf
}

func newShelf(publishLent func(id string) error) *Shelf {
	return &Shelf{publishLent: publishLent, books: map[string]Book{
		"dune":    {"dune", "Dune", 3},
		"emma":    {"emma", "Emma", 1},
		"ulysses": {"ulysses", "Ulysses", 2},
	}}
}

// Books returns all books, by title.
func (s *Shelf) Books() (books []Book) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.books), func(a, b Book) int { return cmp.Compare(a.Title, b.Title) })
}

// Book returns one book.
func (s *Shelf) Book(id string) (book Book, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	book, found := s.books[id]
	if !found {
		return Book{}, refusal{http.StatusNotFound, fmt.Sprintf("there is no book %q", id)}
	}
	return book, nil
}

// Lend takes a copy of a book off the shelf, and returns how many are left.
func (s *Shelf) Lend(id string) (left int, err error) {
	if left, err = s.take(id); err != nil {
		return 0, err
	}
	return left, s.publishLent(id)
}

func (s *Shelf) take(id string) (left int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	book, found := s.books[id]
	if !found {
		return 0, refusal{http.StatusNotFound, fmt.Sprintf("there is no book %q", id)}
	}
	if book.Copies == 0 {
		return 0, refusal{http.StatusConflict, book.Title + " is lent out"}
	}
	book.Copies--
	s.books[id] = book
	return book.Copies, nil
}

// refusal is an error that knows its HTTP status. The router answers with it, and so does Busline, which asks any error
// for a StatusCode.
type refusal struct {
	status int
	text   string
}

func (r refusal) Error() string { return r.text }

// StatusCode returns the HTTP status.
func (r refusal) StatusCode() int { return r.status }

package main

import (
	"fmt"
	"io"
	"net/http"

	"github.com/busline/busline/bus"
)

// order is the argument of a shop: it has a field of every kind that a form can have.
type order struct {
	Customer string         `json:"customer"`
	Size     string         `json:"size" jsonschema:"enum=small,enum=medium,enum=large"`
	Gift     bool           `json:"gift"`
	Lines    []line         `json:"lines"`
	To       place          `json:"to"`
	Notes    map[string]int `json:"notes"`
	Extra    any            `json:"extra"`
}

type line struct {
	Product string  `json:"product"`
	Count   int64   `json:"count" jsonschema:"minimum=1,maximum=1000"`
	Price   float64 `json:"price"`
}

type place struct {
	Street string  `json:"street"`
	Next   *place  `json:"next,omitempty"` // recursive
	Lat    float64 `json:"lat"`
}

// aisle is a list of itself, and section a map of itself.
type (
	aisle   []aisle
	section map[string]section
)

// payment has numbers with more digits than those of JavaScript.
type payment struct {
	Card  int64 `json:"card" jsonschema:"example=9007199254740993"`
	Limit int64 `json:"limit" jsonschema:"enum=9007199254740995,enum=9007199254740997"`
}

// shop takes orders.
type shop struct{}

// Place takes an order, and gives it back.
func (shop) Place(wanted order, urgent bool) (placed order, express bool) { return wanted, urgent }

// Plan takes types without an end, and gives them back:
//
//	for each aisle {
//		walk it
//	}
func (shop) Plan(aisles aisle, sections section) (walk aisle, stock section) { return aisles, sections }

// Pay takes a payment, and gives it back.
func (shop) Pay(with payment) (paid payment) { return with }

func (s *stage) startShop() error {
	conn, err := s.join("shop.example")
	if err != nil {
		return err
	}
	if err := conn.Handle(http.MethodPut, "/files/{name}", http.HandlerFunc(keep)); err != nil {
		return err
	}
	if err := conn.Handle(http.MethodPost, "/upload", http.HandlerFunc(upload),
		bus.FormField("title", "string", "required title of the page"), bus.FormField("tags", "[]string", ""),
		bus.FormField("public", "boolean", ""),
		bus.FormField("photo", "image/png,image/jpeg", "required what the page shows"),
		bus.FormField("more", "[]file", "")); err != nil {
		return err
	}
	if err := conn.Handle(http.MethodPost, "/text", http.HandlerFunc(keep),
		bus.FormField("title", "string", "")); err != nil {
		return err
	}
	return bus.Serve(conn, shop{})
}

// keep responds with what it was given.
func keep(w http.ResponseWriter, r *http.Request) {
	content, err := io.ReadAll(r.Body)
	if err != nil {
		bus.WriteError(w, r, err)
		return
	}
	fmt.Fprintf(w, "%s: %q of %s", r.PathValue("name"), content, r.Header.Get("Content-Type"))
}

// upload responds with the form that it was given.
func upload(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
	parts, err := r.MultipartReader()
	if err != nil {
		bus.WriteError(w, r, err)
		return
	}
	form, err := parts.ReadForm(1 << 20)
	if err != nil {
		bus.WriteError(w, r, err)
		return
	}
	fmt.Fprintf(w, "%q", form.Value)
	for _, name := range []string{"photo", "more"} {
		for _, file := range form.File[name] {
			fmt.Fprintf(w, " %s=%s:%s:%d", name, file.Filename, file.Header.Get("Content-Type"), file.Size)
		}
	}
}

// generated is one of a large number of services.
type generated struct{}

// Lookup finds what is stored under a key.
func (generated) Lookup(key string) (value string, found bool) { return key, true }

// Store keeps a value.
func (generated) Store(_, _ string, _ int) (stored bool) { return true }

// Purge forgets what is older than some seconds.
func (generated) Purge(seconds int) (purged int) { return seconds }

// Stats returns the state.
func (generated) Stats() (entries, bytes int64) { return 1, 2 }

// startMany starts the given number of services.
func (s *stage) startMany(count int) error {
	areas := []string{"billing", "catalog", "fulfilment", "identity", "search"}
	for i := range count {
		conn, err := s.join(fmt.Sprintf("node-%03d.%s.example", i, areas[i%len(areas)]))
		if err != nil {
			return err
		}
		if err := bus.Serve(conn, generated{}, bus.ParamNames("Store", "key, value, seconds", "stored")); err != nil {
			return err
		}
	}
	return nil
}

// Package productapi is what callers of a collection of products need: its interface, its types, and a generated
// client.
package productapi

import (
	"context"
	"iter"
)

//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Products

// Host is where products are on the bus.
const Host = "products.example"

// Products is a collection of products.
type Products interface {
	// Create adds a product and returns its id.
	Create(ctx context.Context, httpRequestBody Product) (id int, httpStatusCode int, err error)
	// Read returns a product.
	Read(ctx context.Context, id int) (httpResponseBody Product, err error)
	// Update replaces a product.
	Update(ctx context.Context, id int, httpRequestBody Product) (err error)
	// Delete removes a product.
	Delete(ctx context.Context, id int) (err error)
	// ListAll returns products in the order of a field, name, price or tags, or the other way round with a minus in
	// front of it; without one, in the order in which they were created. It passes over the first offset products and
	// returns no more than limit; 0 is all.
	ListAll(ctx context.Context, sortBy string, limit int, offset int) (httpResponseBody []Product, err error)
	// Watch streams every product, and then the changes until ctx ends: of several of one product, at least the last.
	Watch(ctx context.Context) Changes
}

// Changes are a stream. It has a name because mockgen of github.com/golang/mock reads no generic types.
type Changes = iter.Seq2[Change, error]

// Change is what a product is now.
type Change struct {
	ID      int      `json:"id"`
	Product *Product `json:"product"` // nil if it was deleted
}

// Product is something to buy. What its tags ask for is in the document, and a request that breaks it is answered 422.
type Product struct {
	Name  string   `json:"name" jsonschema:"minLength=1,maxLength=200,pattern=\\S,example=Tea"`
	Price float64  `json:"price" jsonschema:"minimum=0,example=4.5"`
	Tags  []string `json:"tags" jsonschema:"maxItems=20,maxLength=200,example=green"`
}

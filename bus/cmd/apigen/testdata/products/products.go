// Package products is the REST case.
package products

import "context"

//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Products -host products.example:444

// Status is a status.
type Status int

// Products is a collection of products.
//
//busline:resource shop/products
type Products interface {
	// Create adds a product and returns its id.
	Create(ctx context.Context, httpRequestBody Product) (id int, httpStatusCode int, err error)
	// Read returns a product.
	Read(ctx context.Context, id int) (httpResponseBody Product, err error)
	// Update replaces a product.
	Update(ctx context.Context, id int, httpRequestBody Product) (err error)
	// Patch returns nothing but a status.
	Patch(ctx context.Context, id int, httpRequestBody map[string]any) (httpStatusCode Status, err error)
	// Delete removes a product.
	Delete(ctx context.Context, id int) error
	// ListAll lists.
	ListAll(ctx context.Context, sortBy string, limit, offset int) (httpResponseBody []Product, err error)
	// ReadOrderLine is about something else.
	ReadOrderLine(ctx context.Context, order string, line int) (httpStatusCode int, httpResponseBody *Product, err error)
	// Count is RPC.
	Count(ctx context.Context) (count int, err error)
}

// Product is something to buy.
type Product struct {
	Name  string  `json:"name"`
	Price float64 `json:"price"`
}

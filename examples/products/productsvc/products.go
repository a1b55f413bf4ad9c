// Package productsvc implements productapi: it keeps products. It shows REST style: the methods are named after what
// they do to a collection, and the magic arguments httpRequestBody, httpResponseBody and httpStatusCode stand for the
// parts of the HTTP message.
//
//	POST   /products      {"name":"Tea","price":4.5}     201 {"id":1}, Location: /products/1
//	GET    /products/1                                   200 {"name":"Tea","price":4.5,"tags":[]}
//	PUT    /products/1    {"name":"Tea","price":5}       200 {}
//	DELETE /products/1                                   200 {}
//	GET    /products?sortBy=-price&limit=3&offset=0      200 [{"name":…},…]
//	GET    /watch                                        200 a stream of {"id":1,"product":{"name":…}}
package productsvc

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/examples/products/productapi"
)

// Serve puts products on the bus, kept in the store. It is live when Serve returns.
func Serve(conn *bus.Conn, store Store) error {
	return bus.Serve[productapi.Products](conn, &Products{store})
}

// Products is a collection of products. What it serves, and what that is called, is in productapi.
type Products struct {
	store Store
}

// Create answers 201. What a product has to be is in its tags.
func (p *Products) Create(ctx context.Context,
	httpRequestBody productapi.Product) (id int, httpStatusCode int, err error) {
	id, err = p.store.Add(ctx, httpRequestBody)
	bus.SetResponseHeader(ctx, "Location", "/products/"+strconv.Itoa(id)) // not sent with an error
	return id, http.StatusCreated, err
}

// Read answers 404 when there is no such product, as Update and Delete do.
func (p *Products) Read(ctx context.Context, id int) (httpResponseBody productapi.Product, err error) {
	product, err := p.store.Get(ctx, id)
	return product, notFound(id, err)
}

// Update asks of a product what Create does.
func (p *Products) Update(ctx context.Context, id int, httpRequestBody productapi.Product) (err error) {
	return notFound(id, p.store.Replace(ctx, id, httpRequestBody))
}

// Delete finds a product once.
func (p *Products) Delete(ctx context.Context, id int) (err error) {
	return notFound(id, p.store.Remove(ctx, id))
}

// ListAll refuses an order by what is no field of a product.
func (p *Products) ListAll(ctx context.Context, sortBy string, limit int,
	offset int) (httpResponseBody []productapi.Product, err error) {
	compare, err := order(sortBy)
	if err != nil {
		return nil, err
	}
	if limit < 0 || offset < 0 {
		return nil, bus.Errorf(http.StatusBadRequest, "limit is %d and offset is %d; neither can be below 0", limit, offset)
	}
	all, err := p.store.All(ctx)
	if err != nil {
		return nil, err
	}
	return page(all, compare, limit, offset), nil
}

// Watch streams the changes of the store.
func (p *Products) Watch(ctx context.Context) productapi.Changes { return p.store.Watch(ctx) }

// errClosing makes a caller of Watch call again: another instance answers.
func errClosing() error {
	return bus.Errorf(http.StatusServiceUnavailable, "the instance is closing: watch again")
}

// notFound gives the error of a store its status and its sentence.
func notFound(id int, err error) error {
	if errors.Is(err, ErrNotFound) {
		return bus.Errorf(http.StatusNotFound, "no product has the id %d: %w", id, err)
	}
	return err
}

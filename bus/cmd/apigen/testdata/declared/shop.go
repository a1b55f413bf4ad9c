// Package declared has all directives.
package declared

import "context"

//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Shop -host shop.example

// Shop sells.
//
//busline:port 445
//busline:resource goods
type Shop interface {
	// Create adds an item.
	//
	//busline:status 201
	//busline:result id number of the item
	//busline:problem 409 taken Taken
	Create(ctx context.Context, httpRequestBody Item) (id int, err error)

	// List lists items.
	//
	//busline:arg limit minimum=1 maximum=100 default=20 page size
	//busline:arg filter optional pattern="^[a-z ]+$" what the name contains
	//busline:arg order enum=name,price default=name
	List(ctx context.Context, filter string, limit int, order string) (httpResponseBody []string, err error)

	// Order orders an item.
	//
	//busline:route POST /goods/{id}/order
	//busline:port 446
	//busline:idempotent
	//busline:arg amount required minimum=0 how many
	//busline:problem 404 no-item
	//busline:problem 409 out-of-stock OutOfStock
	Order(ctx context.Context, id int, amount int) error

	// Drop removes all items.
	//
	//busline:method DELETE
	//busline:status 204
	Drop(ctx context.Context) error
}

// Item is for sale.
type Item struct {
	ID   int    `json:"id" jsonschema:"readOnly=true"`
	Name string `json:"name" jsonschema:"minLength=1"`
}

// Taken says which item has the name already.
type Taken struct {
	ID int `json:"item"`
}

// OutOfStock says how many are left.
type OutOfStock struct {
	Left int `json:"left"`
}

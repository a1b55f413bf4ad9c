package restmap_test

import (
	"fmt"
	"log"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/restmap"
)

// Shelves is what the example maps.
type Shelves struct{}

// Read returns what is on a shelf.
func (Shelves) Read(id int) (httpResponseBody []string) { return nil }

// Delete removes a shelf.
func (Shelves) Delete(id int) {}

// CountBooks counts the books of all shelves.
func (Shelves) CountBooks(author string) (number int) { return len(author) }

// Methods get routes by their names.
func ExampleMap() {
	service, err := reflectapi.Describe(Shelves{})
	if err != nil {
		log.Fatal(err)
	}
	endpoints, err := restmap.Map(service, restmap.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, endpoint := range endpoints {
		for _, route := range endpoint.Routes {
			fmt.Println(endpoint.Name, route.Method, route.Pattern)
		}
	}
	// Output:
	// CountBooks GET /count-books
	// CountBooks POST /count-books
	// Delete DELETE /shelves/{id}
	// Read GET /shelves/{id}
}

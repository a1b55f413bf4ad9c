package bus_test

import (
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"slices"

	"github.com/busline/busline/bus"
)

// Notes keeps notes.
type Notes struct{}

// Count counts the notes that have a word.
func (Notes) Count(word string) (number int) { return len(word) }

// Forget throws all notes away.
func (Notes) Forget() {}

// The document needs no broker. A service on the bus answers it to GET /openapi.json.
func ExampleOpenAPIOf() {
	document, err := bus.OpenAPIOf("notes.example", Notes{},
		bus.Method("Forget", bus.Path("/all"), bus.HTTPMethod("DELETE")))
	if err != nil {
		log.Fatal(err)
	}
	var read struct {
		OpenAPI string
		Paths   map[string]map[string]struct{ Summary, Description string }
	}
	if err := json.Unmarshal(document, &read); err != nil {
		log.Fatal(err)
	}
	fmt.Println(read.OpenAPI)
	for _, path := range slices.Sorted(maps.Keys(read.Paths)) {
		for method, operation := range read.Paths[path] {
			fmt.Println(method, path, operation.Summary, operation.Description)
		}
	}
	// Output:
	// 3.0.0
	// delete /notes.example:443/all Forget() Forget throws all notes away.
	// post /notes.example:443/count Count(word string) (number int) Count counts the notes that have a word.
}

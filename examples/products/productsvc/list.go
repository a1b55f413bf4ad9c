package productsvc

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/examples/products/productapi"
)

// comparison says which of two products comes first, in the way of cmp.Compare.
type comparison func(a, b productapi.Product) int

// order returns the comparison that sortBy asks for: "price", or "-price" for the other way round.
func order(sortBy string) (comparison, error) {
	field, descending := strings.CutPrefix(sortBy, "-")
	var compare comparison
	switch field {
	case "name":
		compare = func(a, b productapi.Product) int { return cmp.Compare(a.Name, b.Name) }
	case "price":
		compare = func(a, b productapi.Product) int { return cmp.Compare(a.Price, b.Price) }
	case "tags":
		compare = func(a, b productapi.Product) int { return slices.Compare(a.Tags, b.Tags) }
	default:
		if sortBy == "" {
			return func(productapi.Product, productapi.Product) int { return 0 }, nil
		}
		return nil, bus.Errorf(http.StatusBadRequest, "sortBy is %q; use name, price or tags, or -name, -price or -tags",
			sortBy)
	}
	if descending {
		return func(a, b productapi.Product) int { return compare(b, a) }, nil
	}
	return compare, nil
}

// page sorts products and cuts out a part. Products that compare equal stay in the order in which they come. A
// limit of 0 is none.
func page(products []productapi.Product, compare comparison, limit, offset int) []productapi.Product {
	slices.SortStableFunc(products, compare)
	products = products[min(offset, len(products)):]
	if limit > 0 {
		products = products[:min(limit, len(products))]
	}
	return products
}

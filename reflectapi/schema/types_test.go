package schema_test

// Point is a place.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// Page and Pair are generic.
type Page[T any] struct{ Items []T }

type Pair[A, B any] struct {
	First  A
	Second B
}

// inner is embedded, and not exported.
type inner struct{}

// Shown is promoted.
func (inner) Shown() {}

func errorText(err error) string {
	if err == nil {
		return "<nil>"
	}
	return err.Error()
}

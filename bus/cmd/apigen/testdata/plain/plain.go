// Package plain has methods without contexts, names and comments.
package plain

//go:generate go run github.com/busline/busline/bus/cmd/apigen -type OrderAPI -output zz_generated.go

type OrderAPI interface {
	Place(item string, count ...uint8) (int, error)
	// Cancel cancels.
	//
	// Deprecated: do not.
	Cancel(_id, 世界 string) error
	Names() ([]string, error)
	Ping() error
}

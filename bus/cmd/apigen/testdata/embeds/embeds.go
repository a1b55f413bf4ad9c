// Package embeds has structs that embed in every way there is, and lead back to themselves.
package embeds

import (
	"fmt"
	"io"
	"mime/multipart"
	"net/netip"
	"os"
	"time"
)

// Embeds has an argument of each.
type Embeds interface {
	Plain(x Plain) error
	Pointers(x Pointers) error
	Named(x Named) error
	NamedPointers(x NamedPointers) error
	Optional(x Optional) error
	Slice(x Slice) error
	HiddenSlice(x HiddenSlice) error
	HiddenPointer(x HiddenPointer) error
	NamedSlice(x NamedSlice) error
	Interface(x Interface) error
	HiddenInterface(x HiddenInterface) error
	Any(x Any) error
	Methods(x Methods) error
	Marshallers(x Marshallers) error
	Upload(x Upload) error
	Stream(x io.Reader) error
	Body(x io.ReadCloser) error
	File(x *os.File) error
	EmbeddedStream(x EmbeddedStream) error

	Tree(x Tree) error
	Branch(x Branch) error
	Copy(x Copy) error
	Both(x Both) error
	List(x List) error
	Box(x Box[int]) error
}

type (
	// Inner has a member.
	Inner struct{ Member int }
	inner struct{ Own int }
	// Ints is no struct.
	Ints []int
	ints []int
	// Said says something.
	Said struct{ Text string }
	hook interface{ hook() }
)

// Said is a method, none of JSON's.
func (Said) Said() {}

// Structs that embed.
type (
	Plain struct {
		Inner
		inner
		Said
	}
	Pointers struct {
		*Inner
		*Said
	}
	Named struct {
		Inner `json:"inner"`
		inner `json:"own"`
	}
	NamedPointers struct {
		*Inner `json:"inner"`
		*inner `json:"own"`
	}
	Optional struct {
		inner `json:",omitempty"`
		X     int
	}
	Slice struct {
		Ints
		X int
	}
	HiddenSlice struct {
		ints
		X int
	}
	HiddenPointer struct {
		*ints
		X int
	}
	NamedSlice struct {
		Ints `json:"ints"`
	}
	Interface struct {
		fmt.Stringer
		X int
	}
	HiddenInterface struct {
		hook
		X int
	}
	Any struct {
		any
		X int
	}
	Methods struct {
		Said
		Other Said
	}
	Marshallers struct { // their methods hide each other
		time.Time
		netip.Addr
		X int
	}
	Upload         struct{ Files []*multipart.FileHeader }
	EmbeddedStream struct{ io.Writer }
)

// Structs that lead back to themselves.
type (
	Tree struct {
		Name     string
		Branches []Branch
	}
	Branch struct {
		*Tree
		Weight int
	}
	Copy struct {
		Name   string
		Copies []struct{ Copy }
	}
	Both struct {
		Left  map[string]Other
		Right *Other
	}
	Other struct {
		*Both
		*Copy
		Up *Both
	}
	List  []Entry
	Entry struct {
		*List
		X int
	}
	Box[T any] struct {
		Value T
		*Cover[T]
	}
	Cover[T any] struct{ Boxes []Box[T] }
)

package reflectapi_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/reflectapi"
)

type (
	trailing struct {
		Name string `json:"name,"` //nolint:revive,staticcheck // what is tested
	}
	doubled struct {
		Count int `json:"count,omitempty,omitempty"` //nolint:staticcheck // what is tested
	}
	Number   int
	promoted struct {
		Number
		Name string
	}
	base    struct{ ID int }
	derived struct {
		*base
		Name string
	}
	mayBeRead struct {
		*selfRead // is nil when its method is called
		Name      string
	}
	quotedText struct {
		Name string `json:",string"`
	}
	quotedList struct {
		Inner []struct {
			Counts []int `json:",string"` //nolint:staticcheck // what is tested
		}
	}
)

// taker takes a value of a type.
type taker[T any] struct{}

func (taker[T]) Take(value T) (ok bool) { return true }

// TestCodecRefuses finds out at registration what the codec would say of every value.
func TestCodecRefuses(t *testing.T) {
	t.Parallel()
	for want, impl := range map[string]any{
		"Go struct field Name has malformed `json` tag: invalid trailing ',' character":           taker[trailing]{},
		"Go struct field Count has duplicate appearance of `omitempty` tag option":                taker[*doubled]{},
		"embedded Go struct field Number of non-struct type must be explicitly given a JSON name": taker[map[string]promoted]{},
		"argument value cannot be read from JSON: reflectapi_test.derived embeds *reflectapi_test.base, a pointer to a struct that is not exported: embed it without the pointer, or export it; change it, or leave it out with bus.ExcludeMethods(\"Take\")": taker[[]derived]{},
		"argument value cannot be read from JSON: reflectapi_test.mayBeRead is read by the *reflectapi_test.selfRead that it embeds, which is nil: embed it without the pointer":                                                                              taker[[]*mayBeRead]{},
		"argument value cannot be encoded as JSON: field reflectapi_test.quotedText.Name is of type string: the json option string is only for num":                                                                                                           taker[quotedText]{},
		".Counts is of type []int: the json option string is only for numbers; change it, or leave it out with bus.ExcludeMethods(\"Take\")":                                                                                                                  taker[quotedList]{},
	} {
		_, err := reflectapi.Describe(impl)
		assert.ErrorContains(t, err, want, "%T", impl)
	}
}

// quoted is what may be quoted.
type quoted struct {
	Int    int     `json:",string"`
	Float  float64 `json:"float,string,omitempty"`
	Number *uint16 `json:",string"`
}

// selfRead reads itself, and takes no empty object.
type selfRead struct {
	Name string
}

func (*selfRead) UnmarshalJSON([]byte) error { panic("a value is read at registration") }

// ownReader reads itself, whatever it embeds.
type ownReader struct{ *selfRead }

func (*ownReader) UnmarshalJSON([]byte) error { return nil }

// written has a result that can only be written.
type written struct{}

func (written) Give() (value derived) { return }

func TestCodecTakes(t *testing.T) {
	t.Parallel()
	for _, impl := range []any{taker[quoted]{}, taker[[]selfRead]{}, taker[struct{ base }]{}, taker[struct{ *Point }]{}, taker[struct{ selfRead }]{}, taker[ownReader]{}, written{}} {
		if _, err := reflectapi.Describe(impl); err != nil {
			t.Errorf("%T: %v", impl, err)
		}
	}
}

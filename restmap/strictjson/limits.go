package strictjson

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how deep arrays and objects may nest: [] is 1 deep, [[]] is 2.
const MaxDepth = 64

// maxNumberLength is how many bytes a number may have: room for every float64 written
// out in full, far below what makes a conversion slow.
const maxNumberLength = 1100

// checkLimits refuses data that nests too deep or holds an endless number or word, in one pass
// and before anything is allocated. What it reads need not be JSON: it only has to know
// strings from the rest, and whatever is malformed is left to the decoder.
func checkLimits(data []byte) error {
	depth, number := 0, 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = stringEnd(data, i)
			number = 0
		case '{', '[':
			if depth++; depth > MaxDepth {
				return &Error{Detail: "nests deeper than 64 levels"}
			}
			number = 0
		case '}', ']':
			depth--
			number = 0
		case ',', ':', ' ', '\t', '\r', '\n':
			number = 0
		default:
			if number++; number > maxNumberLength {
				return &Error{pointerAt(data[:i-maxNumberLength]), "is a number or word that is too long"}
			}
		}
	}
	return nil
}

// stringEnd returns the index of the quote that ends the string starting at start,
// or the last index of data when there is none.
func stringEnd(data []byte, start int) int {
	for i := start + 1; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(data) - 1
}

// pointerAt returns the place that the JSON text has reached where data breaks off.
func pointerAt(data []byte) string {
	decoder := jsontext.NewDecoder(bytes.NewReader(data))
	for {
		if _, err := decoder.ReadToken(); err != nil {
			return string(decoder.StackPointer())
		}
	}
}

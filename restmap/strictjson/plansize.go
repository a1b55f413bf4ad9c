package strictjson

import (
	"encoding/base64"
	"reflect"
)

// fewElements is the number of elements that are assumed to be as large as the first. In a longer list, those already
// written give a better estimate of the rest: these, then twice as many, and so on.
const fewElements = 8

// maxGuess is the largest number of bytes reserved at once for elements that have not been examined. They may be far
// smaller than the first ones, which an attacker may have chosen, and estimates for nested lists multiply.
const maxGuess = 256 << 10

// sizeOfAny is a guess: the dynamic type is not known in advance.
const sizeOfAny = 24

// size returns roughly how many bytes the JSON of a value takes, to reserve room for it. The JSON may be longer.
func (n *node) size(v reflect.Value) int {
	switch n.kind {
	case plainString:
		return v.Len() + len(`""`)
	case plainBytes:
		return base64.StdEncoding.EncodedLen(v.Len()) + len(`""`)
	case plainPointer:
		if v.IsNil() {
			return nullSize
		}
		return n.elem.size(v.Elem())
	case plainList:
		if v.Len() == 0 {
			return len("[]")
		}
		first := n.elem.size(v.Index(0)) + len(",")
		return len("[]") + first + min(first*(min(v.Len(), fewElements)-1), maxGuess)
	case plainStruct:
		size := n.fixed
		for _, place := range n.variable {
			size += n.fields[place].size(v.Field(n.fields[place].index))
		}
		return size
	case plainAny:
		return sizeOfAny
	case plainMap:
		return len("{}") + v.Len()*2*sizeOfAny
	default:
		return n.fixed
	}
}

package strictjson

import (
	"encoding/base64"
	"reflect"
)

// fewElements are as many as are taken to be as large as the first. Of more than that, those that are written tell better
// how much room the rest takes: these, and again twice as many, and so on.
const fewElements = 8

// maxGuess is the most bytes that are set aside at once for elements that nobody has looked at. They may be far smaller
// than the first ones, which somebody else may have chosen, and guesses for lists in lists multiply.
const maxGuess = 256 << 10

// sizeOfAny is a guess: what is in there, nobody knows before.
const sizeOfAny = 24

// size returns about how many bytes a value takes, so that there is room for it. More of them find room, too.
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

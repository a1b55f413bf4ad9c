package strictjson

import (
	"encoding/base64"
	"reflect"
)

// fewElements are as many as are taken to be as large as the first. Of more than that, those that are written tell better
// how much room the rest takes.
const fewElements = 8

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
		return len("[]") + min(v.Len(), fewElements)*(n.elem.size(v.Index(0))+len(","))
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

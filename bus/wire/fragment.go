package wire

import "bytes"

// Fragment says which part of a message this is. The zero value is that of a message that travels whole.
type Fragment struct {
	Number int // from 1
	Count  int // of the parts that make the message; from 2
}

// IsPart reports whether this is one of several parts.
func (f Fragment) IsPart() bool { return f.Count > 1 && 1 <= f.Number && f.Number <= f.Count }

// appendFragment appends the field, with its line end in front, unless the message is whole.
func appendFragment(dst []byte, part Fragment) []byte {
	if !part.IsPart() || part.Count > maxNumber {
		return dst
	}
	dst = appendNumber(append(dst, crlf+HeaderFragment+is...), part.Number)
	return appendNumber(append(dst, '/'), part.Count)
}

// fragment returns what Bus-Fragment says: see Fragment. A message that is its own only part is whole.
func (h *head) fragment() (Fragment, error) {
	if !h.has(isFragment) {
		return Fragment{}, nil
	}
	value := h.value(isFragment)
	before, after, _ := bytes.Cut(value, []byte("/"))
	number, isNumber := digits(before)
	count, isCount := digits(after)
	if !isNumber || !isCount || number < 1 || number > count {
		return Fragment{}, fault("header %s: %s is not a part and the number of parts, such as 1/3", isFragment, quote(value))
	}
	if count == 1 {
		return Fragment{}, nil
	}
	return Fragment{Number: number, Count: count}, nil
}

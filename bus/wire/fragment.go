package wire

import "bytes"

// Fragment is the position of a part within its message. The zero value stands for a message that is not split.
type Fragment struct {
	Number int // of this part, from 1
	Count  int // of the message's parts; at least 2, or 0 for a part of a stream that is not its last one
}

// IsPart reports whether this is one of several parts.
func (f Fragment) IsPart() bool {
	return f.IsOpen() || f.Count > 1 && 1 <= f.Number && f.Number <= f.Count
}

// IsOpen reports whether this is a part of a stream, whose number of parts is not known before the last one.
func (f Fragment) IsOpen() bool { return f.Number >= 1 && f.Count == 0 }

// appendFragment appends the field after a line end, unless the message is not split.
func appendFragment(dst []byte, part Fragment) []byte {
	if !part.IsPart() || max(part.Number, part.Count) > maxNumber {
		return dst
	}
	dst = appendNumber(append(dst, crlf+HeaderFragment+colonSpace...), part.Number)
	if part.IsOpen() {
		return append(dst, "/*"...)
	}
	return appendNumber(append(dst, '/'), part.Count)
}

// fragment parses Bus-Fragment, see Fragment. "1/1" stands for a message that is not split.
func (h *head) fragment() (Fragment, error) {
	if !h.has(fieldFragment) {
		return Fragment{}, nil
	}
	value := h.value(fieldFragment)
	part, ok := parseFragment(value)
	if !ok {
		return Fragment{}, malformed("header %s: %s is not a part and the number of parts, such as 1/3 or 1/*", fieldFragment,
			quote(value))
	}
	return part, nil
}

func parseFragment(value []byte) (part Fragment, ok bool) {
	before, after, _ := bytes.Cut(value, []byte("/"))
	number, isNumber := digits(before)
	count, isCount := digits(after)
	switch {
	case isNumber && number > 0 && string(after) == "*":
		return Fragment{Number: number}, true
	case !isNumber || !isCount || number < 1 || number > count:
		return Fragment{}, false
	case count == 1:
		return Fragment{}, true
	default:
		return Fragment{Number: number, Count: count}, true
	}
}

package strictjson

import "math/bits"

const (
	eachByte    = 0x0101010101010101 // times a byte: that byte eight times
	highBits    = 0x80 * eachByte
	blanks      = ' ' * eachByte
	quotes      = '"' * eachByte
	backslashes = '\\' * eachByte
)

// special sets the high bit of the first of eight bytes that a JSON string cannot contain unescaped, and arbitrary bits
// of the bytes after it: a control character borrows from the next byte, and so does the 0 that a quote or a backslash
// becomes. Bytes above ASCII are not special.
func special(eight uint64) uint64 {
	return ((eight - blanks) | ((eight ^ quotes) - eachByte) | ((eight ^ backslashes) - eachByte)) &^ eight & highBits
}

// plainPrefix returns how many bytes of a text come before the first that a JSON string cannot contain unescaped, and
// whether all of them are ASCII. It examines eight bytes at a time.
func plainPrefix[T string | []byte](text T) (length int, ascii bool) {
	var all uint64
	rest := text
	for ; len(rest) >= 8; rest = rest[8:] {
		eight := eightBytes(rest)
		if found := special(eight); found != 0 {
			before := bits.TrailingZeros64(found) &^ 7
			all |= eight & (1<<before - 1)
			return len(text) - len(rest) + before/8, all&highBits == 0
		}
		all |= eight
	}
	i := 0
	for ; i < len(rest) && rest[i] >= ' ' && rest[i] != '"' && rest[i] != '\\'; i++ {
		all |= uint64(rest[i])
	}
	return len(text) - len(rest) + i, all&highBits == 0
}

// eightBytes returns the first eight bytes of a text as a number, the first one lowest. It compiles to one instruction.
func eightBytes[T string | []byte](text T) uint64 {
	_ = text[7]
	return uint64(text[0]) | uint64(text[1])<<8 | uint64(text[2])<<16 | uint64(text[3])<<24 |
		uint64(text[4])<<32 | uint64(text[5])<<40 | uint64(text[6])<<48 | uint64(text[7])<<56
}

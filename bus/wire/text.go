package wire

import (
	"encoding/binary"
	"math/bits"
)

// text is a string or bytes.
type text interface{ ~string | ~[]byte }

// same reports whether two names are equal, ignoring the case of ASCII letters. strings.EqualFold would also accept the
// Kelvin sign for a k.
func same[Text text](a Text, b string) bool {
	return string(a) == b || len(a) == len(b) && sameFolded(a, b)
}

func sameFolded[Text text](a Text, b string) bool {
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// isToken reports whether text is a token, the form of methods and field names (RFC 9110, 5.6.2).
func isToken[Text text](text Text) bool {
	for i := range len(text) {
		if !isTokenByte(text[i]) {
			return false
		}
	}
	return len(text) > 0
}

// isTokenByte looks the byte up in a bit set: letters, digits and !#$%&'*+-.^_`|~.
func isTokenByte(c byte) bool {
	const low, high = 0x03ff6cfa00000000, 0x57ffffffc7fffffe
	if c < 64 {
		return uint64(low)>>c&1 != 0
	}
	return c < 128 && uint64(high)>>(c-64)&1 != 0
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// isText reports whether text can be a field value: tabs, spaces, visible characters, bytes above ASCII (RFC 9110,
// 5.5).
func isText(text string) bool { return controlAt([]byte(text)) == len(text) }

// controlAt returns the index of the first byte that a field value must not contain, or the length of text if there is
// none. It examines eight bytes at a time.
func controlAt(text []byte) int { return controlFrom(text, 0) }

// controlFrom is controlAt, starting at an index.
func controlFrom(text []byte, at int) int {
	for ; at+8 <= len(text); at += 8 {
		if marks := controls(binary.LittleEndian.Uint64(text[at:])); marks != 0 {
			if found := at + bits.TrailingZeros64(marks)/8; text[found] != '\t' {
				return found
			}
			break // a tab is rare: continue byte by byte
		}
	}
	if last := len(text) - 8; last >= 0 && at > last && controls(binary.LittleEndian.Uint64(text[last:])) == 0 {
		return len(text) // checks the last eight bytes at once, some of them again
	}
	for at < len(text) && !isControl(text[at]) {
		at++
	}
	return at
}

const del = 0x7f // the only control byte that is not below a space

// isControl reports whether a field value must not contain the byte. A tab is allowed.
func isControl(c byte) bool { return c < ' ' && c != '\t' || c == del }

// controls returns zero if none of eight bytes is below a space or del; otherwise its lowest set bit is the top bit of
// the first such byte. A subtraction from a smaller byte sets the top bit of that byte; bytes whose top bit was set
// before are masked out. A borrow falsifies only the results for higher bytes.
func controls(word uint64) uint64 {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	zeros := word ^ del*ones // zero where word has a del
	return ((word-' '*ones)&^word | (zeros-ones)&^zeros) & tops
}

// trim removes spaces and tabs around a field value.
func trim(value string) string {
	for value != "" && isBlank(value[0]) {
		value = value[1:]
	}
	for value != "" && isBlank(value[len(value)-1]) {
		value = value[:len(value)-1]
	}
	return value
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

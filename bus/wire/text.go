package wire

import (
	"encoding/binary"
	"math/bits"
	"strings"
)

// same reports whether two names are equal but for the case of ASCII letters. strings.EqualFold would also take the
// Kelvin sign for a k.
func same(a, b string) bool {
	return a == b || len(a) == len(b) && sameFolded(a, b)
}

func sameFolded(a, b string) bool {
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
func isToken(text string) bool {
	for i := range len(text) {
		if c := text[i]; !isAlphanumeric(c) && c != '-' && strings.IndexByte("!#$%&'*+.^_`|~", c) < 0 {
			return false
		}
	}
	return text != ""
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// isText reports whether text can be a field value: tabs, blanks, visible characters, bytes above ASCII (RFC 9110,
// 5.5).
func isText(text string) bool { return controlAt([]byte(text)) == len(text) }

// controlAt returns the place of the first byte that a field value cannot hold, the length of text when there is
// none. It looks at eight bytes in one step.
func controlAt(text []byte) int {
	rest := text
	for len(rest) >= 8 {
		if marks := controls(binary.LittleEndian.Uint64(rest)); marks != 0 {
			if found := bits.TrailingZeros64(marks) / 8; rest[found&7] != '\t' {
				return len(text) - len(rest) + found
			}
			break // a tab is rare: go on byte by byte
		}
		rest = rest[8:]
	}
	for len(rest) > 0 && !isControl(rest[0]) {
		rest = rest[1:]
	}
	return len(text) - len(rest)
}

const del = 0x7f // the one control byte that is not below a blank

// isControl reports whether a field value cannot hold the byte. A tab is allowed.
func isControl(c byte) bool { return c < ' ' && c != '\t' || c == del }

// controls returns zero when none of eight bytes is below a blank or del; else its lowest set bit is the top bit of the
// first such byte. To take something from a smaller byte sets that byte's top bit, unless it was set before: those do
// not count. The borrow falsifies the bytes above, never those below.
func controls(word uint64) uint64 {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	zeros := word ^ del*ones // zero where word has a del
	return ((word-' '*ones)&^word | (zeros-ones)&^zeros) & tops
}

// trim drops the blanks and tabs around a field value.
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

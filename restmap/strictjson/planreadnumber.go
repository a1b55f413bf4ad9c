package strictjson

import (
	"reflect"
	"strconv"
)

// maxDigits is how many digits fit an uint64, whatever they are.
const maxDigits = 19

// digits reads a number of one digit or more, without leading zeros. What follows is nobody's business here: a number
// that goes on is followed by what no object takes.
func (r *reader) digits() (number uint64, ok bool) {
	start := r.at
	for ; r.at < len(r.data); r.at++ {
		digit := r.data[r.at] - '0'
		if digit > 9 {
			break
		}
		number = number*10 + uint64(digit)
	}
	count := r.at - start
	return number, count == 1 || 1 < count && count <= maxDigits && r.data[start] != '0'
}

// int reads an integer with a sign that fits.
func (r *reader) int(n *node, v reflect.Value) bool {
	limit := uint64(1)<<(n.bits-1) - 1
	negative := r.word("-")
	if negative {
		limit++
	}
	number, ok := r.digits()
	if !ok || number > limit {
		return false
	}
	if negative {
		number = -number
	}
	v.SetInt(int64(number))
	return true
}

// uint reads an integer without a sign that fits.
func (r *reader) uint(n *node, v reflect.Value) bool {
	number, ok := r.digits()
	if !ok || number>>(n.bits-1)>>1 != 0 {
		return false
	}
	v.SetUint(number)
	return true
}

// float reads any number that fits.
func (r *reader) float(n *node, v reflect.Value) bool {
	text, ok := r.number()
	if !ok {
		return false
	}
	number, err := strconv.ParseFloat(string(text), n.bits)
	v.SetFloat(number)
	return err == nil
}

// maxPlainNumber is how long a number may be, in bytes, that is not left to those who know the limits.
const maxPlainNumber = 32

// number reads a number as JSON has it.
func (r *reader) number() ([]byte, bool) {
	start := r.at
	r.word("-")
	if _, ok := r.digits(); !ok {
		return nil, false
	}
	if r.word(".") && !r.moreDigits() {
		return nil, false
	}
	if r.word("e") || r.word("E") {
		if !r.word("+") {
			r.word("-")
		}
		if !r.moreDigits() {
			return nil, false
		}
	}
	return r.data[start:r.at], r.at-start <= maxPlainNumber
}

// moreDigits reads a digit or more.
func (r *reader) moreDigits() bool {
	start := r.at
	for r.at < len(r.data) && r.data[r.at]-'0' <= 9 {
		r.at++
	}
	return r.at > start
}

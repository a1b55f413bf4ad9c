package strictjson

import (
	"reflect"
	"strconv"
)

// maxDigits is the number of digits that always fit a uint64.
const maxDigits = 19

// digits parses a number of at least one digit without leading zeros. It need not check what follows: if the number
// goes on, the object or array around it does not accept the next byte.
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

// int parses a signed integer in range.
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

// uint parses an unsigned integer in range.
func (r *reader) uint(n *node, v reflect.Value) bool {
	number, ok := r.digits()
	if !ok || number>>(n.bits-1)>>1 != 0 {
		return false
	}
	v.SetUint(number)
	return true
}

// float parses any number in range.
func (r *reader) float(n *node, v reflect.Value) bool {
	text, ok := r.number()
	if !ok {
		return false
	}
	number, err := strconv.ParseFloat(string(text), n.bits)
	v.SetFloat(number)
	return err == nil
}

// maxPlainNumber is the largest length of a number in bytes; longer ones are left to the library.
const maxPlainNumber = 32

// number parses a number in the syntax of JSON.
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

// moreDigits parses at least one digit.
func (r *reader) moreDigits() bool {
	start := r.at
	for r.at < len(r.data) && r.data[r.at]-'0' <= 9 {
		r.at++
	}
	return r.at > start
}

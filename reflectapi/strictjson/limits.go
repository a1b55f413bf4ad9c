package strictjson

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how deep arrays and objects may nest: [] is 1 deep, [[]] is 2.
const MaxDepth = 64

// maxNumberLength is the largest length of a number in bytes: enough for every float64 written out in full, and far
// below what makes conversions slow.
const maxNumberLength = 1100

// isShallow reports whether a text is within the limits whatever it holds, so that it needs no scan for them.
func isShallow(data []byte) bool {
	return len(data) <= maxNumberLength && bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) <= MaxDepth
}

// scanner makes one pass over a JSON text before anything is allocated. The text need not be valid JSON: the scanner
// only distinguishes strings from the rest.
type scanner struct {
	text   Text
	depth  int
	before byte // the previous character, if it matters: ':', or '"' after a string that may be a name
}

func (s *scanner) scan(data []byte) error {
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case ' ', '\t', '\r', '\n':
		case '"':
			i = stringEnd(data, i)
			s.string()
		case ':':
			s.colon()
		case '{', '[':
			if s.depth++; s.depth > MaxDepth {
				return &Error{Detail: "nests deeper than 64 levels"}
			}
			s.open(data[i:])
		case '}', ']':
			s.depth--
			s.before = 0
		case ',':
			s.before = 0
		default:
			word := wordAt(data, i)
			if len(word) > maxNumberLength {
				return &Error{Pointer: pointerAt(data[:i]), Detail: "is a number or word that is too long"}
			}
			i += len(word) - 1
			s.value()
			s.text.long = s.text.long || isLongInteger(word)
		}
	}
	return nil
}

// value counts a possible value: a member's after a colon, otherwise an element.
func (s *scanner) value() {
	if s.before == ':' {
		s.text.Members++
	} else {
		s.text.Elements++
	}
	s.before = 0
}

// string counts a string, which is a name if a colon follows.
func (s *scanner) string() {
	named := s.before == ':'
	s.value()
	if !named {
		s.before = '"'
	}
}

// colon marks the string before it as a name.
func (s *scanner) colon() {
	if s.before == '"' {
		s.text.Elements--
	}
	s.before = ':'
}

// open counts the array or object at the start of data.
func (s *scanner) open(data []byte) {
	s.value()
	s.text.Containers++
	if data[0] == '{' && !bytes.HasPrefix(data, []byte("{}")) {
		s.text.Filled++
	}
}

// wordAt returns the number or word that starts at an index, as far as it matters.
func wordAt(data []byte, start int) []byte {
	most := min(len(data), start+maxNumberLength+1)
	for end := start + 1; end < most; end++ {
		switch data[end] {
		case ',', '}', ']', ':', ' ', '\t', '\r', '\n', '"', '{', '[':
			return data[start:end]
		}
	}
	return data[start:most]
}

// stringEnd returns the index of the closing quote of the string that begins at start, or the last index of data if
// there is none.
func stringEnd(data []byte, start int) int {
	for i := start + 1; i < len(data); {
		quote := bytes.IndexByte(data[i:], '"')
		if quote < 0 {
			break
		}
		for quote += i; i < quote; i += 2 { // behind each backslash before the quote
			escape := bytes.IndexByte(data[i:quote], '\\')
			if escape < 0 {
				return quote
			}
			i += escape
		}
		if i == quote {
			return quote
		}
	}
	return len(data) - 1
}

// pointerAt returns the place in the JSON text at which data ends.
func pointerAt(data []byte) string {
	decoder := jsontext.NewDecoder(bytes.NewReader(data))
	for {
		if _, err := decoder.ReadToken(); err != nil {
			return string(decoder.StackPointer())
		}
	}
}

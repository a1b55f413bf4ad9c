package strictjson

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Path writes a place in a JSON text in a readable form: "lines[0].sub.n" for the JSON Pointer "/lines/0/sub/n",
// "[2].n" inside an array, "" for the whole text. The pointer is that of an [Error] about data; data is needed to
// distinguish elements from members with numbers as names. If data cannot be parsed as far as that, the remaining parts
// are taken for members. It parses data only up to that place.
func Path(data []byte, pointer string) string {
	decoder := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	var path []byte
	for step := range jsontext.Pointer(pointer).Tokens() {
		if decoder.PeekKind() == '[' {
			path = append(append(append(path, '['), step...), ']')
			skipElements(decoder, step)
			continue
		}
		if len(path) > 0 {
			path = append(path, '.')
		}
		path = append(path, step...)
		if decoder.PeekKind() == '{' {
			skipMembers(decoder, step)
		}
	}
	return string(path)
}

// skipElements reads an array up to the element at an index.
func skipElements(decoder *jsontext.Decoder, index string) {
	_, err := decoder.ReadToken()
	before, _ := strconv.Atoi(index)
	for ; err == nil && before > 0; before-- {
		err = decoder.SkipValue()
	}
}

// skipMembers reads an object up to the value of a member.
func skipMembers(decoder *jsontext.Decoder, name string) {
	_, err := decoder.ReadToken()
	for err == nil {
		var found jsontext.Token
		if found, err = decoder.ReadToken(); err != nil || found.Kind() != '"' || found.String() == name {
			return
		}
		err = decoder.SkipValue()
	}
}

package strictjson

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Path writes a place in a JSON text the way people do: "lines[0].sub.n" for the JSON Pointer "/lines/0/sub/n", "[2].n"
// inside an array, "" for the whole. The pointer is one that an [Error] about data has; the text tells an element from a
// member that is called like a number. Where the text cannot be read that far, all the rest is taken for members.
// It reads data up to that place.
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

// skipElements reads the start of an array, up to the element of an index.
func skipElements(decoder *jsontext.Decoder, index string) {
	_, err := decoder.ReadToken()
	before, _ := strconv.Atoi(index)
	for ; err == nil && before > 0; before-- {
		err = decoder.SkipValue()
	}
}

// skipMembers reads the start of an object, up to the value of a member.
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

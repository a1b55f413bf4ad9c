//go:build goexperiment.jsonv2 && !go1.27

package strictjson

import "encoding/json/v2"

// With this experiment of Go 1.26 the JSON library is that of the standard library, in an earlier state. What differs
// is here; decision 3 says which library is used when.

// ErrSkip makes the JSON library go on without the marshal or unmarshal function that returns it.
var ErrSkip = json.SkipFunc

// EmbedOption is the option of a json tag that puts the fields of a struct in place of the field.
const EmbedOption = "inline"

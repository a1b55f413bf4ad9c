//go:build !goexperiment.jsonv2 || go1.27

package strictjson

import "errors"

// ErrSkip makes the JSON library go on without the marshal or unmarshal function that returns it.
var ErrSkip = errors.ErrUnsupported

// EmbedOption is the option of a json tag that puts the fields of a struct in place of the field.
const EmbedOption = "embed"

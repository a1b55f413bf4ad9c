//go:build !goexperiment.jsonv2 || go1.27

package schema_test

import "reflect"

type (
	Spread struct {
		Base Base `json:",embed"` //nolint:revive // an option of the codec's
		Last string
	}
	Inlined struct {
		Base Base `json:"kept,inline"` //nolint:revive // an option of jsonschema, none of the codec's
	}
)

// An experiment of Go 1.26 reads these tags in another way, see strictjson.EmbedOption.
func init() { //nolint:gochecknoinits // adds to a table where the build has these
	leaves = append(leaves, reflect.TypeFor[Spread](), reflect.TypeFor[Inlined]())
}

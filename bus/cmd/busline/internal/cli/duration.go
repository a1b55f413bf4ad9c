package cli

import (
	"strconv"
	"strings"
	"time"

	"github.com/busline/busline/reflectapi"
)

// isDuration reports whether an integer is a duration in nanoseconds, which is the JSON of a time.Duration. In documents
// the first word of its description says so.
func (d schemas) isDuration(schema *reflectapi.Schema) bool {
	return d.kind(schema) == typeInteger && strings.HasPrefix(strings.ToLower(d.description(schema)), "nanoseconds")
}

// nanoseconds converts a text such as 1.5s to the integer in JSON; any other text, including a plain number, stays as
// it is.
func nanoseconds(text string) string {
	if _, err := strconv.ParseInt(text, 10, 64); err == nil { // time.ParseDuration would accept 0
		return text
	}
	if duration, err := time.ParseDuration(text); err == nil {
		return strconv.FormatInt(int64(duration), 10)
	}
	return text
}

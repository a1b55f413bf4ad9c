package cli

import (
	"strconv"
	"strings"
	"time"

	"github.com/busline/busline/reflectapi"
)

// isDuration says whether an integer is a time in nanoseconds, which is what a time.Duration is in JSON. Documents say so
// in the first word of its description.
func (d schemas) isDuration(schema *reflectapi.Schema) bool {
	return d.kind(schema) == typeInteger && strings.HasPrefix(strings.ToLower(d.description(schema)), "nanoseconds")
}

// nanoseconds writes 1.5s as the integer that JSON has for it; any other text, and a bare number, stays as it is.
func nanoseconds(text string) string {
	if _, err := strconv.ParseInt(text, 10, 64); err == nil { // time.ParseDuration takes 0
		return text
	}
	if duration, err := time.ParseDuration(text); err == nil {
		return strconv.FormatInt(int64(duration), 10)
	}
	return text
}

package reflectapi

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// unmarshalExact is json.Unmarshal for a target in which numbers may be of any type. Run exact over these: as a float64, which
// they would become, an integer beyond 2^53 loses digits.
func unmarshalExact(data []byte, target any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	return decoder.Decode(target)
}

// exact returns a value with its numbers as Go has them: an int64, a float64, or a json.Number for an integer that neither holds.
func exact(value any) any {
	switch v := value.(type) {
	case json.Number:
		return exactNumber(v)
	case []any:
		for i := range v {
			v[i] = exact(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = exact(v[name])
		}
	}
	return value
}

func exactNumber(n json.Number) any {
	if i, err := strconv.ParseInt(n.String(), 10, 64); err == nil {
		return i
	}
	if f, err := n.Float64(); err == nil && strings.ContainsAny(n.String(), ".eE") {
		return f
	}
	return n
}

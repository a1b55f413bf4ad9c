package bus

import (
	"fmt"
	"strings"
)

// targetOf returns what a request asks for: a path, and a query that is as it will be after its way over the broker. A
// blank or a control byte in it, which net/url lets pass, is escaped; whoever decodes the query reads the same.
func targetOf(path, query string) string {
	if query == "" {
		return path
	}
	return path + "?" + escapeControls(query)
}

func escapeControls(query string) string {
	if strings.IndexFunc(query, isControl) < 0 {
		return query
	}
	var escaped strings.Builder
	for i := range len(query) {
		if c := query[i]; isControl(rune(c)) {
			fmt.Fprintf(&escaped, "%%%02X", c)
		} else {
			escaped.WriteByte(c)
		}
	}
	return escaped.String()
}

// isControl is true for what a request line cannot hold: all ASCII but what is visible.
func isControl(c rune) bool { return c <= ' ' || c == '\x7f' }

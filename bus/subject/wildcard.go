package subject

import "strings"

// CallsBelow returns a pattern for the broker's permissions: the calls on a port to all hosts below a domain,
// "bus.443.example.>". The domain "" stands for all hosts: "bus.443.>". The parts are not validated.
func CallsBelow(plane, port, domain string) string {
	pattern := plane + "." + port
	if domain != "" {
		pattern += "." + reverse(domain)
	}
	return pattern + "." + anyTokens
}

// ResponsesBelow returns a pattern for the acks and responses to the calls of these hosts: "bus.r.example.>".
func ResponsesBelow(plane, domain string) string { return CallsBelow(plane, responsePort, domain) }

// Covers reports whether each subject that the pattern narrow matches is also matched by the pattern wide. Both are
// written as for the broker: "*" stands for one token, and ">" at the end for one or more.
func Covers(wide, narrow string) bool {
	tokens := strings.Split(narrow, ".")
	pattern := strings.Split(wide, ".")
	for i, token := range pattern {
		switch {
		case i == len(tokens):
			return false
		case token == ">":
			return true
		case tokens[i] == ">" || token != "*" && token != tokens[i]:
			return false
		}
	}
	return len(pattern) == len(tokens)
}

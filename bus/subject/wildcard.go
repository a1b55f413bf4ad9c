package subject

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

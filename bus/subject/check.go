package subject

import (
	"slices"
	"strings"
)

const (
	maxHostLength  = 253 // RFC 1035, 2.3.4, without the trailing dot
	maxLabelLength = 63  // RFC 1035, 2.3.4
	maxPlaneLength = 64  // keeps a response subject and a message ID well inside MaxLength
	maxIDLength    = 32
	maxPort        = 65535
)

// CheckHost returns an error unless host is a lower-case DNS name: labels of a-z, 0-9 and inner hyphens, of at
// most 63 bytes each, joined by dots, 253 bytes at most.
func CheckHost(host string) error {
	if len(host) > maxHostLength {
		return malformed("host %s: longer than %d bytes", quote(host), maxHostLength)
	}
	for label := range strings.SplitSeq(host, ".") {
		if !validLabel(label) {
			return malformed("host %s: label %s is not 1 to %d characters of a-z, 0-9 and inner hyphens",
				quote(host), quote(label), maxLabelLength)
		}
	}
	return nil
}

// CheckCalledHost returns an error unless host can be called: a hostname, with or without an instance ID and a dot
// before it. An ID of 10 bytes, like those of [NewID], does not count towards the 253 bytes.
func CheckCalledHost(host string) error {
	if id, rest, ok := strings.Cut(host, "."); ok && len(host) > maxHostLength && len(id) == idLength &&
		CheckID(id) == nil {
		return CheckHost(rest)
	}
	return CheckHost(host)
}

func validLabel(label string) bool {
	if label == "" || len(label) > maxLabelLength || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	return all(label, func(c byte) bool { return lowerOrDigit(c) || c == '-' })
}

// CheckCallers returns an error for the first that is neither a host nor stands for all hosts below one, as
// "*.billing.example".
func CheckCallers(hosts []string) error {
	for _, each := range hosts {
		host := strings.TrimPrefix(each, "*.")
		reason := CheckHost(host)
		if host == HostAll {
			reason = malformed("every service answers on it, and none calls from it")
		}
		if reason != nil {
			return malformed(`who may call: %q is neither a host nor of the form "*.billing.example": %v`, each, reason)
		}
	}
	return nil
}

// IsCaller reports whether a host is one of those that [CheckCallers] accepts, or below one.
func IsCaller(host string, callers []string) bool {
	return slices.ContainsFunc(callers, func(each string) bool {
		domain, isBelow := strings.CutPrefix(each, "*")
		return each == host || isBelow && strings.HasSuffix(host, domain)
	})
}

// CheckID returns an error unless id can be an instance ID: 1 to 32 of a-z and 0-9.
func CheckID(id string) error {
	if id == "" || len(id) > maxIDLength || !all(id, lowerOrDigit) {
		return malformed("instance ID %s: not 1 to %d characters of a-z and 0-9", quote(id), maxIDLength)
	}
	return nil
}

// CheckPlane returns an error unless plane is 1 to 64 of A-Z, a-z, 0-9, "-" and "_".
func CheckPlane(plane string) error {
	allowed := func(c byte) bool { return plain(c) && c != '~' }
	if plane == "" || len(plane) > maxPlaneLength || !all(plane, allowed) {
		return malformed(`plane %s: not 1 to %d characters of letters, digits, "-" and "_"`, quote(plane), maxPlaneLength)
	}
	return nil
}

// CheckMethod returns an error unless method is a word of A-Z. "*" is only for subscriptions, and an error here.
func CheckMethod(method string) error {
	if method == "" || !all(method, func(c byte) bool { return 'A' <= c && c <= 'Z' }) {
		return malformed("method %s: not a word of A-Z such as GET", quote(method))
	}
	return nil
}

// CheckPort returns an error unless port is from 1 to 65535.
func CheckPort(port int) error {
	if port < 1 || maxPort < port {
		return malformed("port %d: not from 1 to %d", port, maxPort)
	}
	return nil
}

// all reports whether every byte of text is allowed.
func all(text string, allowed func(byte) bool) bool {
	for i := range len(text) {
		if !allowed(text[i]) {
			return false
		}
	}
	return true
}

func lowerOrDigit(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }

package bus

import (
	"cmp"
	"slices"
	"strings"
)

// serviceName is a hostname as the name of a NATS service, which has letters, digits, "-" and "_": the dots become "-". So
// two hosts may share one; the metadata has the host.
func serviceName(host string) string { return strings.ReplaceAll(host, ".", "-") }

// endpointName is the name of an endpoint under the same rule: what is not allowed becomes "-", and none stands at an end.
// "Calculator.Add" is "Calculator-Add", "GET /files/{path+}" is "GET-files-path".
func endpointName(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return r != '_' && !isAlphanumeric(r) })
	return cmp.Or(strings.Join(words, "-"), "any")
}

// noVersion is the version of a service that tells none, or none that SemVer knows.
const noVersion = "0.0.0"

// semanticVersion is a version as SemVer: "1" is "1.0.0", "v2.3" is "2.3.0", "" and "latest" are "0.0.0".
func semanticVersion(version string) string {
	rest, build, hasBuild := strings.Cut(strings.TrimPrefix(version, "v"), "+")
	core, prerelease, hasPrerelease := strings.Cut(rest, "-")
	numbers := strings.Split(core, ".")
	for len(numbers) < 3 {
		numbers = append(numbers, "0")
	}
	if len(numbers) > 3 || slices.ContainsFunc(numbers, func(n string) bool { return !isNumber(n) || hasLeadingZero(n) }) {
		return noVersion
	}
	made := strings.Join(numbers, ".")
	if hasPrerelease {
		if !hasIdentifiers(prerelease, true) {
			return noVersion
		}
		made += "-" + prerelease
	}
	if hasBuild {
		if !hasIdentifiers(build, false) {
			return noVersion
		}
		made += "+" + build
	}
	return made
}

// hasIdentifiers says whether a text is what SemVer has behind "-" or "+": letters, digits and "-", separated by dots. In
// the former numbers have no zero in front.
func hasIdentifiers(text string, strict bool) bool {
	for one := range strings.SplitSeq(text, ".") {
		foreign := strings.ContainsFunc(one, func(r rune) bool { return r != '-' && !isAlphanumeric(r) })
		if one == "" || foreign || strict && isNumber(one) && hasLeadingZero(one) {
			return false
		}
	}
	return true
}

func isNumber(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r < '0' || r > '9' })
}

func hasLeadingZero(digits string) bool { return len(digits) > 1 && digits[0] == '0' }

func isAlphanumeric(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

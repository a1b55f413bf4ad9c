package natsmicro

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/micro"
)

// Verbs of the service protocol.
const (
	verbPing  = "PING"
	verbInfo  = "INFO"
	verbStats = "STATS"
)

// answerOf returns what a service answers. The types are those of package micro; nothing else of that package is used.
func answerOf(service Service, verb string) any {
	instance := service.Instance()
	identity := micro.ServiceIdentity{
		Name: serviceName(instance.Host), ID: instance.ID, Version: SemanticVersion(instance.Version),
		Metadata: map[string]string{"host": instance.Host, "plane": instance.Plane, "version": instance.Version},
	}
	switch verb {
	case verbInfo:
		return micro.Info{
			ServiceIdentity: identity, Type: micro.InfoResponseType,
			Description: service.Description(), Endpoints: endpointInfos(service.Endpoints()),
		}
	case verbStats:
		return micro.Stats{
			ServiceIdentity: identity, Type: micro.StatsResponseType,
			Started: instance.Started.UTC(), Endpoints: endpointStats(service.Endpoints()),
		}
	default:
		return micro.Ping{ServiceIdentity: identity, Type: micro.PingResponseType}
	}
}

func endpointInfos(endpoints []Endpoint) []micro.EndpointInfo {
	infos := []micro.EndpointInfo{} // not nil, which would be null
	for _, e := range endpoints {
		infos = append(infos, micro.EndpointInfo{
			Name: EndpointName(e.Name), Subject: e.Subject, QueueGroup: e.QueueGroup, Metadata: e.Metadata,
		})
	}
	return infos
}

func endpointStats(endpoints []Endpoint) []*micro.EndpointStats {
	stats := []*micro.EndpointStats{}
	for _, e := range endpoints {
		counts := e.Counts
		one := &micro.EndpointStats{
			Name: EndpointName(e.Name), Subject: e.Subject, QueueGroup: e.QueueGroup,
			NumRequests: int(counts.Total()), NumErrors: int(counts.Refused + counts.Failed), LastError: e.LastError,
			ProcessingTime: counts.Took,
		}
		if one.NumRequests > 0 {
			one.AverageProcessingTime = one.ProcessingTime / time.Duration(one.NumRequests)
		}
		if one.NumErrors > 0 { // not always: "nats micro info" takes five lines for it
			one.Data = json.RawMessage(fmt.Sprintf(`{"refused":%d,"failed":%d}`, counts.Refused, counts.Failed))
		}
		stats = append(stats, one)
	}
	return stats
}

// serviceName is a hostname as the name of a NATS service, which has letters, digits, "-" and "_": the dots become "-".
// So two hosts may share one; the metadata has the host.
func serviceName(host string) string { return strings.ReplaceAll(host, ".", "-") }

// EndpointName returns the name of an endpoint with letters, digits, "-" and "_" only, as the protocol asks: what is
// not allowed becomes "-", and none stands at an end. "Calculator.Add" is "Calculator-Add", "GET /files/{path+}" is
// "GET-files-path". If nothing is left it is "any".
func EndpointName(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return r != '_' && !isAlphanumeric(r) })
	return cmp.Or(strings.Join(words, "-"), "any")
}

// noVersion is the version of a service that reports none, or none that SemVer knows.
const noVersion = "0.0.0"

// SemanticVersion returns a version as SemVer: "1" is "1.0.0", "v2.3" is "2.3.0", "" and "latest" are "0.0.0".
func SemanticVersion(version string) string {
	rest, build, hasBuild := strings.Cut(strings.TrimPrefix(version, "v"), "+")
	core, prerelease, hasPrerelease := strings.Cut(rest, "-")
	numbers := strings.Split(core, ".")
	for len(numbers) < 3 {
		numbers = append(numbers, "0")
	}
	if len(numbers) > 3 || slices.ContainsFunc(numbers, func(n string) bool { return !isNumber(n) || hasLeadingZero(n) }) {
		return noVersion
	}
	semantic := strings.Join(numbers, ".")
	if hasPrerelease {
		if !hasIdentifiers(prerelease, true) {
			return noVersion
		}
		semantic += "-" + prerelease
	}
	if hasBuild {
		if !hasIdentifiers(build, false) {
			return noVersion
		}
		semantic += "+" + build
	}
	return semantic
}

// hasIdentifiers reports whether a text is what SemVer has behind "-" or "+": letters, digits and "-", separated by
// dots. In the former numbers have no zero in front.
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

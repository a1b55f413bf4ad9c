package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/reflectapi/similar"
)

// plainPort is the default port of http://.
const plainPort = 80

// instance is what one instance reports about itself.
type instance struct {
	Host    string `json:"host"`
	ID      string `json:"id"`
	Version string `json:"version"`
	Ports   []int  `json:"ports"`            // on which it serves something; none for a mere caller
	Digest  string `json:"digest,omitempty"` // of its documents; "" if it reports none

	NotReady string `json:"notReady,omitempty"` // why it has left its queues; "" if it has not
}

// name returns what calls this instance, and no other, go to.
func (i *instance) name() string { return i.ID + "." + i.Host }

// discover asks all instances on the plane, or those of a host, and returns those that answer, without this process,
// sorted.
func (s *session) discover(ctx context.Context, host string) ([]instance, error) {
	conn, err := s.join(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := s.limited(ctx)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		fmt.Sprintf("https://%s:%d/ping", host, subject.ControlPort), http.NoBody)
	if err != nil {
		return nil, err
	}
	found := []instance{}
	for response, err := range conn.Multicast(request) {
		if err != nil {
			if isOfInstance(err) {
				continue // it acknowledged the question and has gone
			}
			return nil, err
		}
		if answered, ok := readPing(response); ok && answered.ID != conn.ID() {
			found = append(found, answered)
		}
	}
	slices.SortFunc(found, func(a, b instance) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), strings.Compare(a.ID, b.ID))
	})
	return found, nil
}

// isOfInstance reports whether one instance failed, rather than the call.
func isOfInstance(err error) bool {
	failed, ok := errors.AsType[*bus.Error](err)
	return ok && failed.Host != ""
}

// readPing parses the answer of an instance; it returns false if that is invalid. A member of another type counts as
// absent: an instance that is there is to be seen.
func readPing(response *http.Response) (answered instance, ok bool) {
	defer response.Body.Close()
	err := json.NewDecoder(response.Body).Decode(&answered)
	if _, ofType := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !ofType {
		return instance{}, false
	}
	answered.Ports = slices.DeleteFunc(answered.Ports, func(port int) bool { return port == 0 })
	answered.Host, answered.ID = response.Header.Get("Bus-From-Host"), response.Header.Get("Bus-From-Id")
	if answered.Ports == nil {
		answered.Ports = []int{}
	}
	slices.Sort(answered.Ports)
	return answered, subject.CheckHost(answered.Host) == nil
}

// hostsOf returns the hosts that serve something, sorted.
func hostsOf(instances []instance) (hosts []string) {
	for _, each := range instances {
		if len(each.Ports) > 0 && !slices.Contains(hosts, each.Host) {
			hosts = append(hosts, each.Host)
		}
	}
	return hosts
}

// portsOf returns the ports on which any of the instances serves something, sorted.
func portsOf(instances []instance) (ports []int) {
	for _, each := range instances {
		ports = append(ports, each.Ports...)
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// portless returns the error for a port on which no instance of a host serves anything; nil if one does, or if the
// instances do not say.
func portless(to address, instances []instance) error {
	ports := portsOf(instances)
	if to.port == subject.ControlPort || len(ports) == 0 || slices.Contains(ports, to.port) {
		return nil
	}
	text := fmt.Sprintf("no instance serves %s on port %d; it is on %s", to.host, to.port,
		strings.ReplaceAll(joinPorts(ports), " ", ", "))
	return &failure{status: absent, err: errors.New(text)}
}

// idsOf returns the ids of the instances of a host.
func idsOf(instances []instance, host string) (ids []string) {
	for _, each := range instances {
		if each.Host == host {
			ids = append(ids, cleanLine(each.ID))
		}
	}
	return ids
}

// isUnanswered reports whether a call had no responder or no ack.
func isUnanswered(err error) bool {
	return errors.Is(err, bus.ErrNoResponder) || errors.Is(err, bus.ErrNoAck)
}

// hostNotFound returns the error for a host that is not on the bus, with those that are. cause is what a call of it
// failed with, nil if it was not called.
func (s *session) hostNotFound(ctx context.Context, host string, cause error) error {
	if s.conn == nil {
		return &failure{status: absent, err: fmt.Errorf("no instance serves %s", host)}
	}
	text := fmt.Sprintf("no instance serves %s in plane %s", host, s.conn.Plane())
	instances, err := s.discover(ctx, "all")
	hosts := hostsOf(instances)
	id, service, _ := strings.Cut(host, ".")
	switch {
	case err != nil:
		return err
	case errors.Is(cause, bus.ErrNoAck): // the broker knows a subscriber
		text = unacked(cause)
		if !slices.Contains(hosts, host) {
			text += similar.DidYouMean(host, hosts)
		}
	case slices.Contains(hosts, service): // an instance that is not there
		text = fmt.Sprintf("%s has no instance %s; it has %s", service, id, enumerated(idsOf(instances, service)))
	case slices.Contains(hosts, host): // on another port, or it has just come back
		text = fmt.Sprintf("no instance answered for %s, although it is on the bus now", host)
	case len(hosts) == 0:
		text += "; there are no other hosts either"
	case similar.Name(host, hosts) != "":
		text += similar.DidYouMean(host, hosts)
	default:
		text += "; there are " + enumerated(hosts)
	}
	return &failure{status: absent, err: errors.New(text)}
}

// enumerated lists names in a sentence: of many the first ones, and how many there are besides.
func enumerated(names []string) string {
	const many = 20
	if len(names) <= many {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:many], ", "), len(names)-many)
}

// unacked explains an error of a call that was not acked.
func unacked(cause error) string {
	text := cause.Error()
	if called, ok := errors.AsType[*bus.Error](cause); ok {
		text = called.Detail
	}
	return text + ": a subscriber hangs, has lost the connection, or only listens"
}

// address is the target of a call: "https://calculator.example/add?x=5".
type address struct {
	host  string // may begin with an instance ID
	port  int
	path  string // escaped
	query string
}

// parseAddress parses an address; https:// may be omitted.
func parseAddress(text string) (address, error) {
	whole := text
	if !strings.Contains(text, "://") {
		whole = "https://" + text
	}
	parsed, err := url.Parse(whole)
	if err != nil { // it begins with the whole text
		return address{}, misuse("%q is not an address such as calculator.example/add: %w", text,
			cmp.Or(errors.Unwrap(err), err))
	}
	to, err := subject.FromURL(http.MethodGet, parsed)
	if err != nil {
		return address{}, misuse("%q is not an address such as calculator.example/add: %w", text, err)
	}
	path := strings.NewReplacer("%7B", "{", "+%7D", "}", "%7D", "}").Replace(to.Path) // {path+} is {path} in documents
	return address{host: to.Host, port: to.Port, path: path, query: parsed.RawQuery}, nil
}

// String returns the address without its query.
func (a address) String() string { return a.place() + a.path }

// place returns the host, with the port unless it is the default.
func (a address) place() string {
	if a.port == subject.PublicPort {
		return a.host
	}
	return a.host + ":" + strconv.Itoa(a.port)
}

// url returns the address with another escaped path and query.
func (a address) url(path, query string) (*url.URL, error) {
	to, err := url.Parse("https://" + a.host + ":" + strconv.Itoa(a.port) + path)
	if err != nil {
		return nil, misuse("%q is not a valid path", path)
	}
	to.RawQuery = query
	return to, nil
}

// checkPatterns returns an error for an invalid pattern of hosts; a valid one is "*.example".
func checkPatterns(patterns []string) error {
	for _, pattern := range patterns {
		if pattern == "" {
			return misuse("a host pattern is empty: name a host, or a pattern such as '*.example'")
		}
		if _, err := path.Match(pattern, ""); err != nil {
			return misuse("%q is not a host pattern: %w", pattern, err)
		}
	}
	return nil
}

// matchesAny reports whether a host matches one of the patterns, which have been checked.
func matchesAny(patterns []string, host string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		matched, _ := path.Match(pattern, host)
		return matched
	})
}

// hostsIn returns all hosts, also those that serve nothing, such as a mere publisher of events.
func hostsIn(instances []instance) (hosts []string) {
	for _, each := range instances {
		hosts = append(hosts, each.Host)
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

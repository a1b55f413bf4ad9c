package bus

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/natsmicro"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// Permissions are the permissions of one user in a NATS server. String returns a block for its configuration file; the
// JSON is the object "nats" of a user JWT.
type Permissions struct {
	Publish   []Permission
	Subscribe []Permission
	// SubscribeDeny is denied to the user although Subscribe allows it: announcements, because the user publishes them
	// itself. With Responses the user could otherwise deliver an announcement with any reply subject to itself, and
	// then publish there.
	SubscribeDeny []Permission
	// Responses allows the user to answer on the reply subject of a message that was delivered to it. Nil: it may not.
	Responses *ResponsePermission
}

// Permission allows one subject.
type Permission struct {
	Subject string // with wildcards: "bus.443.example.products.|.>"
	Queue   string // of a subscription: allowed only in this queue group; "" allows it without one and in any
	For     string // the purpose, for people: "calls to products.example"
}

// ResponsePermission is allow_responses of NATS.
type ResponsePermission struct {
	MaxMsgs int           // messages to one reply subject; -1: no limit, as a large response takes many; 0: 1
	Expires time.Duration // time after the delivery of the request; -1: no limit; 0: 2 minutes
}

// The broker's defaults for a zero in [ResponsePermission].
const (
	brokerMax     = 1
	brokerExpires = 2 * time.Minute
)

// Permissions returns exactly the permissions that the user of this connection needs for what the connection does now:
// serve the registered endpoints, be found, and call the hosts that it has called so far, as well as the given callees.
// A callee is "products.example", "products.example:444" for another port than 443, "*.example" for all hosts below a
// domain, or "*" for all hosts, which an ingress needs. Only the plane of the connection is allowed.
//
// Every instance of the host needs the same permissions. Hosts that share one broker connection need the union (see
// [Permissions.With]). Anything outside the bus, such as a JetStream bucket, is not included. With [WithAllowResponses]
// the result is the stricter of the two profiles in docs/guides/permissions.md: no service can answer requests that
// were meant for another, unless the service may call its own host. Responses are then allowed for the longest time
// budget, 10 minutes; a shorter time saves memory of the broker.
//
// Call it after everything is registered, and before Close. It returns an error if a callee is invalid.
func (c *Conn) Permissions(callees ...string) (Permissions, error) {
	named := make([]callee, 0, len(callees))
	for _, text := range callees {
		each, err := parseCallee(text)
		if err != nil {
			return Permissions{}, fmt.Errorf("permissions of %s: %w", c.host, err)
		}
		named = append(named, each)
	}
	granted := Permissions{Publish: c.ownPublications(), Subscribe: c.ownSubscriptions()}
	for _, each := range c.extensions.All() {
		published, subscribed := each.Permissions()
		granted.Publish = append(granted.Publish, ownPermissions(published)...)
		granted.Subscribe = append(granted.Subscribe, ownPermissions(subscribed)...)
	}
	for _, each := range c.callees.sorted(named) {
		granted.Publish = append(granted.Publish, each.publications(c.plane)...)
	}
	if c.config.allowResponses {
		granted.SubscribeDeny = granted.unheard(c.plane)
		granted.Responses = &ResponsePermission{MaxMsgs: -1, Expires: wire.MaxTimeBudget}
	}
	return granted.With(), nil
}

// ownPermissions returns permissions of an extension as those of this package.
func ownPermissions(all []natsconn.Permission) (own []Permission) {
	for _, one := range all {
		own = append(own, Permission{Subject: one.Subject, For: one.For})
	}
	return own
}

// unheard returns the permission to deny announcements; nil if the user receives other messages of its own anyway.
func (p Permissions) unheard(plane string) []Permission {
	announcements := callee{subject.HostAll, subject.ControlPort}.publication(plane, "POST."+anyRest,
		"what it could have answered itself")
	for _, sent := range p.Publish {
		if announcements.covers(sent) {
			continue
		}
		if slices.ContainsFunc(p.Subscribe, func(subscription Permission) bool {
			return subscription.covers(sent) ||
				sent.covers(subscription)
		}) {
			return nil
		}
	}
	return []Permission{announcements}
}

// With returns the union of the permissions and the others, including SubscribeDeny. The receiver and the others are
// not changed.
func (p Permissions) With(others ...Permissions) Permissions {
	sum := p
	for _, other := range others {
		sum.Publish = slices.Concat(sum.Publish, other.Publish)
		sum.Subscribe = slices.Concat(sum.Subscribe, other.Subscribe)
		sum.SubscribeDeny = slices.Concat(sum.SubscribeDeny, other.SubscribeDeny)
		sum.Responses = sum.Responses.with(other.Responses)
	}
	sum.Publish, sum.Subscribe, sum.SubscribeDeny = needed(sum.Publish), needed(sum.Subscribe), needed(sum.SubscribeDeny)
	return sum
}

// with returns the union of both, nil if both are nil. Neither is changed.
func (r *ResponsePermission) with(other *ResponsePermission) *ResponsePermission {
	switch {
	case r == nil:
		return other
	case other == nil:
		return r
	}
	return &ResponsePermission{MaxMsgs: widestLimit(r.MaxMsgs, other.MaxMsgs, brokerMax),
		Expires: widestLimit(r.Expires, other.Expires, brokerExpires)}
}

// widestLimit returns the limit that allows more. A value below zero means no limit, and zero stands for the broker's
// default.
func widestLimit[T int | time.Duration](one, other, ofBroker T) T {
	switch {
	case one < 0 || other < 0:
		return -1
	case cmp.Or(one, ofBroker) < cmp.Or(other, ofBroker):
		return other
	default:
		return one
	}
}

// needed removes permissions that another one covers.
func needed(all []Permission) []Permission {
	var kept []Permission
	for i, one := range all {
		redundant := slices.ContainsFunc(all[:i], one.sameAs)
		for _, other := range all {
			redundant = redundant || !one.sameAs(other) && other.covers(one)
		}
		if !redundant {
			kept = append(kept, one)
		}
	}
	return kept
}

func (p Permission) sameAs(other Permission) bool {
	return p.Subject == other.Subject && p.Queue == other.Queue
}

// covers reports whether p allows everything that other allows.
func (p Permission) covers(other Permission) bool {
	return (p.Queue == "" || p.Queue == other.Queue) && subject.Covers(p.Subject, other.Subject)
}

// Wildcards of the broker.
const (
	anyLabel = "*"
	anyRest  = ">"
)

// ownPublications are the permissions to publish that every instance needs, regardless of its callees.
func (c *Conn) ownPublications() []Permission {
	all := callee{subject.HostAll, subject.ControlPort}
	allowed := []Permission{
		all.publication(c.plane, "POST.hello", "optional: announcing the instance and new endpoints"),
		all.publication(c.plane, "POST.bye", "optional: announcing that the instance leaves"),
	}
	if !c.config.allowResponses {
		allowed = append(allowed, Permission{
			Subject: subject.ResponsesBelow(c.plane, ""), For: "acks and responses to callers",
		})
		if c.isListed() {
			allowed = append(allowed, Permission{Subject: nats.InboxPrefix + anyRest, For: forServiceProtocol + ", the answers"})
		}
	}
	return allowed
}

// ownSubscriptions are the permissions for the current subscriptions of this instance, valid for every instance of its
// host.
func (c *Conn) ownSubscriptions() []Permission {
	var allowed []Permission
	for _, s := range c.session.Subscriptions() {
		allowed = append(allowed, Permission{Subject: cmp.Or(s.Pattern, s.Subject), Queue: s.Queue, For: s.For})
	}
	slices.SortStableFunc(allowed, func(a, b Permission) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.Subject, b.Subject))
	})
	if c.isListed() {
		name := natsmicro.Subject(c.host)
		for _, subject := range []string{natsmicro.AllServices, name, name + "." + anyLabel} {
			allowed = append(allowed, Permission{Subject: subject, For: forServiceProtocol})
		}
	}
	return allowed
}

const (
	forControl         = "requests of the framework"
	forEndpoint        = "endpoint"
	forEvent           = "event of another service"
	forEveryone        = "optional: discovery, and hearing which instances come and go"
	forServiceProtocol = "optional: being shown by nats micro"
)

// purpose returns what a subscription for the endpoint is for.
func (e *endpoint) purpose() string {
	switch e.Port {
	case subject.ControlPort:
		return forControl
	case subject.EventPort:
		return forEvent
	default:
		return forEndpoint
	}
}

// rank orders permissions: those that every instance needs come before those of this service.
func rank(p Permission) int {
	return slices.Index([]string{forEveryone, forControl, forEndpoint, forEvent}, p.For)
}

// callee is a port of a host, or of all hosts below a domain.
type callee struct {
	host string // "products.example", "*.example", "*"
	port int
}

// publications are the permissions to publish of a caller of the callee.
func (to callee) publications(plane string) []Permission {
	switch domain, wide := strings.CutPrefix(to.host, "*"); {
	case wide:
		return to.wide(plane, strings.TrimPrefix(domain, "."))
	case to.host == subject.HostAll:
		all := callee{subject.HostAll, subject.ControlPort}
		return []Permission{
			all.publication(plane, "GET.ping", "discovery"),
			all.publication(plane, "GET.traffic", "asking who called whom"),
		}
	}
	if to.port == subject.EventPort { // the hosts that answer are not known
		return []Permission{to.publication(plane, "POST."+anyRest, "publishing events of "+to.host)}
	}
	instance := callee{anyLabel + "." + to.host, to.port}
	control, instanceControl := callee{to.host, subject.ControlPort}, callee{instance.host, subject.ControlPort}
	return []Permission{
		to.publication(plane, anyRest, "calls to "+to.host),
		instance.publication(plane, anyRest, "calls to one instance of it, and the parts of large calls"),
		control.publication(plane, "GET.allow", "asking it what it serves"),
		instanceControl.publication(plane, "GET.allow", "asking one instance"),
		instanceControl.publication(plane, "POST.cancel", "cancelling calls"),
		{Subject: subject.Response(plane, to.host, anyLabel),
			For: "asking whether an instance is still there, reading its streams"},
	}
}

// wide returns the permissions to publish of a caller of all hosts below a domain, or of all hosts.
func (to callee) wide(plane, domain string) []Permission {
	return []Permission{
		{Subject: subject.CallsBelow(plane, strconv.Itoa(to.port), domain), For: "calls to " + to.host},
		{Subject: subject.CallsBelow(plane, strconv.Itoa(subject.ControlPort), domain),
			For: "asking them what they serve, and cancelling"},
		{Subject: subject.ResponsesBelow(plane, domain),
			For: "asking whether an instance is still there, reading its streams"},
	}
}

func (to callee) publication(plane, call, purpose string) Permission {
	return Permission{Subject: subject.Subscription(plane, strconv.Itoa(to.port), to.host, call), For: purpose}
}

// callees records the hosts that a connection has called, for [Conn.Permissions].
type callees struct {
	latest atomic.Pointer[callee] // the latest recorded callee: most calls go to the same one as the call before

	mu     sync.RWMutex // protects called
	called map[callee]*callee
}

// maxCallees limits the recorded callees. Callers of more hosts, such as an ingress, pass them to [Conn.Permissions].
const maxCallees = 4096

func newCallees() *callees { return &callees{called: make(map[callee]*callee)} }

// note records the destination of a call. Only the response, nil while there is none, shows whether the first label of
// the address is an instance.
func (l *callees) note(called subject.Address, response *wire.Response) {
	to := callee{called.Host, called.Port}
	if latest := l.latest.Load(); latest != nil && *latest == to {
		return
	}
	_, parent, _ := strings.Cut(called.Host, ".")
	isInstance := response != nil && subject.Joins(called.Host, response.FromID, response.FromHost)
	if isInstance {
		to.host = response.FromHost
	}
	l.mu.RLock()
	known := l.called[to]
	_, maybeInstance := l.called[callee{parent, called.Port}]
	full := len(l.called) >= maxCallees
	l.mu.RUnlock()
	if known != nil && response != nil && !isInstance { // the address is fully known
		l.latest.Store(known)
	}
	if known != nil || full || response == nil && maybeInstance {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	added := to
	l.called[added] = &added
	if isInstance { // the entry without a response took it for a host
		delete(l.called, callee{called.Host, called.Port})
	}
}

// sorted returns the recorded callees and the named ones, without duplicates.
func (l *callees) sorted(named []callee) []callee {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for each := range l.called {
		named = append(named, each)
	}
	slices.SortFunc(named, func(a, b callee) int {
		return cmp.Or(strings.Compare(a.host, b.host), cmp.Compare(a.port, b.port))
	})
	return slices.Compact(named)
}

// parseCallee parses "products.example", "products.example:444", "*.example" or "*".
func parseCallee(text string) (callee, error) {
	host, digits, hasPort := strings.Cut(text, ":")
	named := callee{host, subject.PublicPort}
	if hasPort {
		port, err := strconv.Atoi(digits)
		if err != nil {
			return callee{}, fmt.Errorf("callee %q: the port is not a number; write host or host:port", text)
		}
		named.port = port
	}
	if err := subject.CheckPort(named.port); err != nil {
		return callee{}, fmt.Errorf("callee %q: %w", text, err)
	}
	if host == "*" {
		return named, nil
	}
	if err := subject.CheckHost(strings.TrimPrefix(host, "*.")); err != nil {
		return callee{}, fmt.Errorf("callee %q: %w; write a host, *.domain for all below it, or * for all", text, err)
	}
	return named, nil
}

// String returns the permissions as a block for the configuration file of a NATS server, to be placed behind the name
// of a user:
//
//	users: [ { user: "checkout", password: "…", permissions { … } } ]
//
// Each subject has its own line, with its purpose as a comment.
func (p Permissions) String() string {
	var text strings.Builder
	text.WriteString("permissions {\n")
	writeLists(&text, "publish", p.Publish, nil)
	writeLists(&text, "subscribe", p.Subscribe, p.SubscribeDeny)
	if p.Responses != nil {
		fmt.Fprintf(&text, "  allow_responses { max: %d, expires: %q }\n", p.Responses.MaxMsgs, p.Responses.Expires)
	}
	text.WriteString("}\n")
	return text.String()
}

// nothing is the subject to deny if nothing is allowed: for the broker an empty list would allow everything.
const nothing = ">"

func writeLists(text *strings.Builder, name string, allowed, denied []Permission) {
	if len(allowed) == 0 {
		fmt.Fprintf(text, "  %s { deny: %q }\n", name, nothing)
		return
	}
	fmt.Fprintf(text, "  %s {\n", name)
	writeList(text, "allow", allowed)
	if len(denied) > 0 {
		writeList(text, "deny", denied)
	}
	text.WriteString("  }\n")
}

func writeList(text *strings.Builder, name string, listed []Permission) {
	fmt.Fprintf(text, "    %s: [\n", name)
	width := 0
	for _, one := range listed {
		width = max(width, len(one.entry()))
	}
	for _, one := range listed {
		line := fmt.Sprintf("      %-*q", width+len(`""`), one.entry())
		if one.For != "" {
			line += "  # " + one.For
		}
		text.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	text.WriteString("    ]\n")
}

// entry returns the permission in the notation of both the file and the JWT.
func (p Permission) entry() string {
	if p.Queue == "" {
		return p.Subject
	}
	return p.Subject + " " + p.Queue
}

// MarshalJSON returns the permissions in the form of a NATS user JWT:
// {"pub":{"allow":[…]},"sub":{"allow":[…],"deny":[…]},"resp":…}. Times are in nanoseconds.
func (p Permissions) MarshalJSON() ([]byte, error) {
	text := struct {
		Pub  jsonList       `json:"pub"`
		Sub  jsonList       `json:"sub"`
		Resp *jsonResponses `json:"resp,omitempty"`
	}{Pub: newJSONList(p.Publish, nil), Sub: newJSONList(p.Subscribe, p.SubscribeDeny)}
	if p.Responses != nil {
		text.Resp = &jsonResponses{p.Responses.MaxMsgs, p.Responses.Expires.Nanoseconds()}
	}
	return json.Marshal(text)
}

type jsonList struct {
	Allow []string `json:"allow,omitempty"`
	Deny  []string `json:"deny,omitempty"`
}

type jsonResponses struct {
	Max int   `json:"max"`
	TTL int64 `json:"ttl"`
}

func newJSONList(allowed, denied []Permission) jsonList {
	if len(allowed) == 0 {
		return jsonList{Deny: []string{nothing}}
	}
	return jsonList{Allow: entries(allowed), Deny: entries(denied)}
}

func entries(listed []Permission) (texts []string) {
	for _, one := range listed {
		texts = append(texts, one.entry())
	}
	return texts
}

// A broker with allow_responses lets a service publish only to the reply subjects of messages that were delivered to
// it, so only a receiver of a request can answer it. The reply subject of a request is <response subject>.<message id>.
// Its sender subscribes there anyway, for the broker's notice that no instance is there.

// WithAllowResponses answers each request on its own reply subject, for a plane whose broker enforces allow_responses.
// It is the stricter profile of docs/guides/permissions.md. The broker permits an instance to
// answer there only requests that were delivered to it, and the connection accepts answers to its own calls only there,
// so that only the instance that received the call can answer. All services of a plane have to use the option: answers
// on the response subject are ignored. Default: acks and responses travel to the response subject.
func WithAllowResponses() ConnectOption {
	return func(c *connectConfig) { c.allowResponses = true }
}

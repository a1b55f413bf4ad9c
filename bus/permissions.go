package bus

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/busline/busline/bus/wire"
)

// Permissions are the permissions of one user in a NATS server. Printed, they are a block for its configuration file; as
// JSON they are what a user JWT has under "nats".
type Permissions struct {
	Publish   []Permission
	Subscribe []Permission
	// SubscribeDeny is what the user does not get although Subscribe allows it: announcements, as it publishes such itself. With
	// Responses it could hand itself one with any reply subject, and then publish there.
	SubscribeDeny []Permission
	// Responses says that the user may answer on the reply subject of what was delivered to it. Nil: it may not.
	Responses *ResponsePermission
}

// Permission allows one subject.
type Permission struct {
	Subject string // with wildcards: "bus.443.example.products.|.>"
	Queue   string // of a subscription: allowed in this queue group only; "" allows it without one and in any
	For     string // what it is needed for, to be read by people: "calls to products.example"
}

// ResponsePermission is what NATS calls allow_responses.
type ResponsePermission struct {
	MaxMsgs int           // messages to one reply subject; -1 is no limit, as a large response takes many; 0 is 1
	Expires time.Duration // after the request was delivered; -1 is never; 0 is 2 minutes
}

// What the broker takes a zero in [ResponsePermission] for.
const (
	brokerMax     = 1
	brokerExpires = 2 * time.Minute
)

// Permissions returns what the user of this connection has to be allowed, and no more, for the connection to do what it
// does now: serve what was registered, be found, and call the hosts that it has called so far, as well as the callees
// named. A callee is "products.example", "products.example:444" for another port than 443, "*.example" for all hosts
// below a domain, or "*" for all hosts, which an ingress needs. Only the plane of the connection is allowed.
//
// Every instance of the host needs the same. Hosts that share one broker connection need the sum (see
// [Permissions.With]). What goes on beside the bus, such as a JetStream bucket, is not included. With
// [WithAllowResponses] the result is the stricter of the two profiles in docs/permissions.md: nobody can answer
// requests that were meant for somebody else, unless the service may call its own host. Responses are then allowed for the
// longest time budget, 10 minutes; less saves the broker memory.
//
// Call it when everything is registered, and before Close. The error names a callee that is not valid.
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
	published, subscribed := c.events.permissions()
	granted.Publish, granted.Subscribe = append(granted.Publish, published...), append(granted.Subscribe, subscribed...)
	for _, each := range c.callees.sorted(named) {
		granted.Publish = append(granted.Publish, each.publications(c.plane)...)
	}
	if c.allowResponses {
		granted.SubscribeDeny = granted.unheard(c.plane)
		granted.Responses = &ResponsePermission{MaxMsgs: -1, Expires: wire.MaxTimeBudget}
	}
	return granted.With(), nil
}

// unheard leaves out announcements, unless the user gets other messages of its own all the same.
func (p Permissions) unheard(plane string) []Permission {
	announcements := callee{hostAll, controlPort}.publication(plane, "POST."+anyRest, "what it could have answered itself")
	for _, sent := range p.Publish {
		if announcements.covers(sent) {
			continue
		}
		if slices.ContainsFunc(p.Subscribe, func(heard Permission) bool { return heard.covers(sent) || sent.covers(heard) }) {
			return nil
		}
	}
	return []Permission{announcements}
}

// With returns the union of the permissions and the others. What one of them leaves unheard, the union does.
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

// with returns the union of both, nil if neither allows anything. Neither is changed.
func (r *ResponsePermission) with(other *ResponsePermission) *ResponsePermission {
	switch {
	case r == nil:
		return other
	case other == nil:
		return r
	}
	return &ResponsePermission{MaxMsgs: widestLimit(r.MaxMsgs, other.MaxMsgs, brokerMax), Expires: widestLimit(r.Expires, other.Expires, brokerExpires)}
}

// widestLimit returns the limit that allows more. Below zero it is none, and zero stands for the broker's own.
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

// needed leaves out what another one allows, too.
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

// covers says whether p allows all that other does.
func (p Permission) covers(other Permission) bool {
	if p.Queue != "" && p.Queue != other.Queue {
		return false
	}
	wide, narrow := strings.Split(p.Subject, "."), strings.Split(other.Subject, ".")
	for i, token := range wide {
		switch {
		case i == len(narrow):
			return false
		case token == ">":
			return true
		case narrow[i] == ">" || token != "*" && token != narrow[i]:
			return false
		}
	}
	return len(wide) == len(narrow)
}

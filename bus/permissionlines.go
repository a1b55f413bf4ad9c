package bus

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/subject"
)

// Wildcards of the broker.
const (
	anyLabel = "*"
	anyRest  = ">"
)

// ownPublications are what every instance publishes, whomever it calls.
func (c *Conn) ownPublications() []Permission {
	all := callee{hostAll, controlPort}
	allowed := []Permission{
		all.publication(c.plane, "POST.hello", "announcing the instance and new endpoints"),
		all.publication(c.plane, "POST.bye", "announcing that the instance leaves"),
	}
	if !c.allowResponses {
		allowed = append(allowed, Permission{
			Subject: subject.ResponsesBelow(c.plane, ""), For: "acks and responses to whoever calls",
		})
		if c.isListed() {
			allowed = append(allowed, Permission{Subject: nats.InboxPrefix + anyRest, For: forServiceProtocol + ", the answers"})
		}
	}
	return allowed
}

// ownSubscriptions are what this instance has subscribed to, as any instance of its host would have.
func (c *Conn) ownSubscriptions() []Permission {
	var allowed []Permission
	responses := subject.Response(c.plane, c.host, anyLabel)
	for _, s := range c.subscribed() {
		if s.optional {
			continue
		}
		one := Permission{Subject: s.subject, Queue: s.queue}
		switch s.subject {
		case c.nats.response:
			one.Subject, one.For = responses, "acks and responses to its calls"
		case c.nats.response + "." + anyLabel:
			one.Subject, one.For = responses+"."+anyLabel, "notices that nobody subscribes, answers by allow_responses"
		case subject.Instance(c.plane, c.host, c.id):
			one.Subject, one.For = subject.Instance(c.plane, c.host, anyLabel), "calls to one instance"
		default:
			if inbox, ok := strings.CutPrefix(s.subject, c.nats.response+"."+storedInbox+"."); ok {
				one.Subject, one.For = responses+"."+storedInbox+"."+inbox, "stored events"
				break
			}
			one.For = c.purposeOf(s.subject)
		}
		allowed = append(allowed, one)
	}
	slices.SortStableFunc(allowed, func(a, b Permission) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.Subject, b.Subject))
	})
	if c.isListed() {
		for _, subject := range []string{allServices, c.serviceSubject(), c.serviceSubject() + "." + anyLabel} {
			allowed = append(allowed, Permission{Subject: subject, For: forServiceProtocol})
		}
	}
	return allowed
}

const (
	forControl         = "requests of the framework"
	forEndpoint        = "endpoint"
	forEvent           = "event of another service"
	forServiceProtocol = "optional: being shown by nats micro"
)

func (c *Conn) purposeOf(subscribed string) string {
	if strings.HasPrefix(subscribed, c.plane+"."+strconv.Itoa(controlPort)+".") {
		return forControl
	}
	if strings.HasPrefix(subscribed, c.plane+"."+strconv.Itoa(eventPort)+".") {
		return forEvent
	}
	return forEndpoint
}

// rank puts what every instance has before what is special to this one.
func rank(p Permission) int { return slices.Index([]string{forControl, forEndpoint, forEvent}, p.For) }

// publications are what a caller of the callee publishes.
func (to callee) publications(plane string) []Permission {
	switch domain, wide := strings.CutPrefix(to.host, "*"); {
	case wide:
		return to.wide(plane, strings.TrimPrefix(domain, "."))
	case to.host == hostAll:
		all := callee{hostAll, controlPort}
		return []Permission{
			all.publication(plane, "GET.ping", "discovery"),
			all.publication(plane, "GET.traffic", "asking who called whom"),
		}
	}
	if to.port == eventPort { // those who answer are others, and not known
		return []Permission{to.publication(plane, "POST."+anyRest, "firing events of "+to.host)}
	}
	instance := callee{anyLabel + "." + to.host, to.port}
	control, instanceControl := callee{to.host, controlPort}, callee{instance.host, controlPort}
	return []Permission{
		to.publication(plane, anyRest, "calls to "+to.host),
		instance.publication(plane, anyRest, "calls to one instance of it, and the parts of large calls"),
		control.publication(plane, "GET.allow", "asking it what it serves"),
		instanceControl.publication(plane, "GET.allow", "asking one instance"),
		instanceControl.publication(plane, "POST.cancel", "cancelling calls"),
		{Subject: subject.Response(plane, to.host, anyLabel), For: "asking the broker whether an instance is still there"},
	}
}

// wide are what a caller of all hosts below a domain, or of all, publishes.
func (to callee) wide(plane, domain string) []Permission {
	return []Permission{
		{Subject: subject.CallsBelow(plane, strconv.Itoa(to.port), domain), For: "calls to " + to.host},
		{Subject: subject.CallsBelow(plane, strconv.Itoa(controlPort), domain), For: "asking them what they serve, and cancelling"},
		{Subject: subject.ResponsesBelow(plane, domain), For: "asking the broker whether an instance is still there"},
	}
}

func (to callee) publication(plane, call, purpose string) Permission {
	return Permission{Subject: subject.Subscription(plane, strconv.Itoa(to.port), to.host, call), For: purpose}
}

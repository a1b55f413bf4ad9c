package bus

import (
	"encoding/json"
	"fmt"
	"strings"
)

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

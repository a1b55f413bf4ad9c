package bus

import (
	"encoding/json"
	"fmt"
	"strings"
)

// String returns the permissions as a block for the configuration file of a NATS server, to stand behind the name of a user:
//
//	users: [ { user: "checkout", password: "…", permissions { … } } ]
//
// Each subject stands on a line of its own, with a comment that says what it is for.
func (p Permissions) String() string {
	var text strings.Builder
	text.WriteString("permissions {\n")
	writeList(&text, "publish", p.Publish)
	writeList(&text, "subscribe", p.Subscribe)
	if p.Responses != nil {
		fmt.Fprintf(&text, "  allow_responses { max: %d, expires: %q }\n", p.Responses.Max, p.Responses.Expires)
	}
	text.WriteString("}\n")
	return text.String()
}

// nothing is how the broker is told that nothing is allowed: an empty list would allow everything.
const nothing = ">"

func writeList(text *strings.Builder, name string, allowed []Permission) {
	if len(allowed) == 0 {
		fmt.Fprintf(text, "  %s { deny: %q }\n", name, nothing)
		return
	}
	fmt.Fprintf(text, "  %s {\n    allow: [\n", name)
	width := 0
	for _, one := range allowed {
		width = max(width, len(one.entry()))
	}
	for _, one := range allowed {
		line := fmt.Sprintf("      %-*q", width+len(`""`), one.entry())
		if one.For != "" {
			line += "  # " + one.For
		}
		text.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	text.WriteString("    ]\n  }\n")
}

// entry is a permission as both the file and the JWT have it.
func (p Permission) entry() string {
	if p.Queue == "" {
		return p.Subject
	}
	return p.Subject + " " + p.Queue
}

// MarshalJSON returns the permissions as a NATS user JWT has them: {"pub":{"allow":[…]},"sub":{"allow":[…]},"resp":…}.
// Its times are in nanoseconds.
func (p Permissions) MarshalJSON() ([]byte, error) {
	text := struct {
		Pub  jsonList       `json:"pub"`
		Sub  jsonList       `json:"sub"`
		Resp *jsonResponses `json:"resp,omitempty"`
	}{Pub: newJSONList(p.Publish), Sub: newJSONList(p.Subscribe)}
	if p.Responses != nil {
		text.Resp = &jsonResponses{p.Responses.Max, p.Responses.Expires.Nanoseconds()}
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

func newJSONList(allowed []Permission) jsonList {
	if len(allowed) == 0 {
		return jsonList{Deny: []string{nothing}}
	}
	var list jsonList
	for _, one := range allowed {
		list.Allow = append(list.Allow, one.entry())
	}
	return list
}

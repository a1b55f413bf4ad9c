package bus_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/busline/busline/bus"
)

// asksForLife is the one thing that the shop does not come to in a test: it asks after a second without an answer.
func asksForLife() operation {
	return operation{verb: "PUB", subject: "bus.r.example.calculator.x1aaaaaaaa"}
}

// tellsOfItself is what the shop does when an operator asks.
func tellsOfItself() operation { return operation{verb: "PUB", subject: "_INBOX.operator"} }

// TestEachPermissionIsNeeded takes one line after the other out of the printed block. Of what the shop was seen to do, the
// broker then denies exactly what that line is for, and with all lines nothing.
func TestEachPermissionIsNeeded(t *testing.T) {
	t.Parallel()
	for name, options := range profiles() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			blocks, done := rehearse(t, options)
			whole := blocks[shopHost]
			done = append(done, asksForLife())
			if whole.Responses == nil {
				done = append(done, tellsOfItself())
			}
			users := map[string]string{"whole": whole.String()}
			removed := without(whole)
			for key, remaining := range removed {
				users[key.String()] = remaining.String()
			}
			e := newEnforcing(t, users)
			if denied := e.denied("whole", done); whole.Responses == nil && len(denied) != 0 {
				t.Errorf("denied with the whole block: %v", denied)
			} else {
				done = slices.DeleteFunc(done, func(o operation) bool { return slices.Contains(denied, o) })
				checkAnswers(t, denied)
			}
			for line := range removed {
				if denied := e.denied(line.String(), done); len(denied) == 0 {
					t.Errorf("%s: nothing is denied without it", line)
				} else if other := slices.IndexFunc(denied, func(o operation) bool { return !line.allows(o) }); other >= 0 {
					t.Errorf("%s: %s is denied without it", line, denied[other])
				}
			}
		})
	}
}

// line is a permission in the printed block.
type line struct {
	verb string
	bus.Permission
}

func (l line) String() string { return strings.TrimSpace(l.verb + " " + l.Subject + " " + l.Queue) }

// without returns the block as it is without each of its lines.
func without(whole bus.Permissions) map[line]bus.Permissions {
	removed := make(map[line]bus.Permissions)
	for i, one := range whole.Publish {
		rest := whole
		rest.Publish = slices.Delete(slices.Clone(whole.Publish), i, i+1)
		removed[line{"PUB", one}] = rest
	}
	for i, one := range whole.Subscribe {
		rest := whole
		rest.Subscribe = slices.Delete(slices.Clone(whole.Subscribe), i, i+1)
		removed[line{"SUB", one}] = rest
	}
	return removed
}

// allows reports whether an operation is what the line is for.
func (l line) allows(o operation) bool {
	return l.verb == o.verb && l.Queue == o.queue && fitsPattern(l.Subject, o.subject)
}

// fitsPattern is the broker's rule for subjects.
func fitsPattern(pattern, subject string) bool {
	wide, tokens := strings.Split(pattern, "."), strings.Split(subject, ".")
	for i, token := range wide {
		if token == ">" {
			return len(tokens) > i
		}
		if i >= len(tokens) || token != "*" && token != tokens[i] {
			return false
		}
	}
	return len(wide) == len(tokens)
}

// denied returns those operations that the broker does not let a user do.
func (e *enforcing) denied(user string, all []operation) (denied []operation) {
	e.t.Helper()
	as := e.login(user)
	for _, o := range all {
		if !as.allows(o) {
			denied = append(denied, o)
		}
	}
	return denied
}

// checkAnswers holds that what allow_responses lets pass are answers, of which nothing stands in the list.
func checkAnswers(t *testing.T, denied []operation) {
	t.Helper()
	for _, o := range denied {
		if o.verb != "PUB" || !fitsPattern("bus.r.>", o.subject) || len(strings.Split(o.subject, ".")) < 6 {
			t.Errorf("denied with the whole block: %s", o)
		}
	}
}

// TestAnswersNeedAllowResponses holds that the stricter profile answers nobody without it.
func TestAnswersNeedAllowResponses(t *testing.T) {
	t.Parallel()
	blocks, _ := rehearse(t, []bus.ConnectOption{bus.WithAllowResponses()})
	granted := blocks[shopHost]
	endpoint := operation{"SUB", "bus.443.example.shop.|.GET.buy", shopHost}
	answer := operation{verb: "PUB", subject: "bus.r.example.caller.c1aaaaaaaa.m1"}
	users := map[string]string{"caller.example": blocks["caller.example"].String(), shopHost: granted.String()}
	granted.Responses = nil
	users["mute"] = granted.String()
	e := newEnforcing(t, users)
	for user, want := range map[string]bool{shopHost: true, "mute": false} {
		shop := e.login(user)
		if !shop.allows(endpoint) {
			t.Fatalf("%s may not serve", user)
		}
		if shop.allows(answer) {
			t.Errorf("%s may answer what was never asked", user)
		}
		if refused := e.login("caller.example").publish("bus.443.example.shop.|.GET.buy", answer.subject, "hello"); len(refused) != 0 {
			t.Fatal(refused)
		}
		if got := shop.allows(answer); got != want {
			t.Errorf("%s may answer: %v, want %v", user, got, want)
		}
		shop.say("UNSUB 1") // the next message is for the other one
	}
}

package bus_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/busline/busline/bus"
)

// TestPermissions_Text holds the form that a configuration file has.
func TestPermissions_Text(t *testing.T) {
	t.Parallel()
	granted := bus.Permissions{
		Publish:   []bus.Permission{{Subject: "bus.443.example.products.|.>", For: "calls"}, {Subject: "bus.r.>"}},
		Subscribe: []bus.Permission{{Subject: "bus.443.example.shop.|.GET.buy", Queue: "shop.example", For: "endpoint"}},
		Responses: &bus.ResponsePermission{MaxMsgs: -1, Expires: time.Minute},
	}
	const text = `permissions {
  publish {
    allow: [
      "bus.443.example.products.|.>"  # calls
      "bus.r.>"
    ]
  }
  subscribe {
    allow: [
      "bus.443.example.shop.|.GET.buy shop.example"  # endpoint
    ]
  }
  allow_responses { max: -1, expires: "1m0s" }
}
`
	if got := granted.String(); got != text {
		t.Errorf("printed\n%s\nwant\n%s", got, text)
	}
	encoded, err := json.Marshal(granted)
	if err != nil {
		t.Fatal(err)
	}
	const asJSON = `{"pub":{"allow":["bus.443.example.products.|.>","bus.r.>"]},` +
		`"sub":{"allow":["bus.443.example.shop.|.GET.buy shop.example"]},"resp":{"max":-1,"ttl":60000000000}}`
	if got := strings.ReplaceAll(string(encoded), `\u003e`, ">"); got != asJSON {
		t.Errorf("as JSON %s\nwant    %s", got, asJSON)
	}
}

// TestNoPermissions holds that an empty list allows nothing: to the broker it would mean everything.
func TestNoPermissions(t *testing.T) {
	t.Parallel()
	var none bus.Permissions
	encoded, err := json.Marshal(none)
	if want := `{"pub":{"deny":["\u003e"]},"sub":{"deny":["\u003e"]}}`; err != nil || string(encoded) != want {
		t.Errorf("as JSON %s, error %v, want %s", encoded, err, want)
	}
	user := newEnforcing(t, map[string]string{"none": none.String()}).login("none")
	for _, verb := range []string{"PUB", "SUB"} {
		if user.allows(operation{verb: verb, subject: "bus.x"}) {
			t.Errorf("%s is allowed", verb)
		}
	}
}

func TestPermissions_With(t *testing.T) {
	t.Parallel()
	list := func(entries ...string) (all []bus.Permission) {
		for _, entry := range entries {
			subject, queue, _ := strings.Cut(entry, " ")
			all = append(all, bus.Permission{Subject: subject, Queue: queue})
		}
		return all
	}
	for name, test := range map[string]struct{ one, other, want []bus.Permission }{
		"the same":                {list("a.b"), list("a.b"), list("a.b")},
		"a token":                 {list("a.*"), list("a.b", "a.b.c"), list("a.*", "a.b.c")},
		"the rest":                {list("a.b", "a"), list("a.>"), list("a", "a.>")},
		"wildcards in both":       {list("a.*.>", "a.>"), list("a.*", "*.b"), list("a.>", "*.b")},
		"any queue":               {list("a.b q"), list("a.*"), list("a.*")},
		"the same queue":          {list("a.b q"), list("a.* q", "a.c"), list("a.* q", "a.c")},
		"another queue":           {list("a.b q"), list("a.* r"), list("a.b q", "a.* r")},
		"longer than the pattern": {list("a.b.c"), list("a.*"), list("a.b.c", "a.*")},
	} {
		sum := bus.Permissions{Publish: test.one}.With(bus.Permissions{Publish: test.other, Subscribe: test.other, Responses: &bus.ResponsePermission{}})
		want := bus.Permissions{Publish: test.want, Subscribe: test.other, Responses: &bus.ResponsePermission{}}.With()
		if sum.String() != want.String() || len(sum.Publish) != len(test.want) {
			t.Errorf("%s: %s, want %s", name, sum, want)
		}
	}
}

// TestPermissions_WithResponses holds that whoever may answer at all may answer as much and as long as any of those in the sum.
func TestPermissions_WithResponses(t *testing.T) {
	t.Parallel()
	type responses = bus.ResponsePermission
	for name, test := range map[string]struct{ one, other, want *responses }{
		"neither":      {},
		"one":          {&responses{MaxMsgs: 1, Expires: time.Second}, nil, &responses{MaxMsgs: 1, Expires: time.Second}},
		"more":         {&responses{MaxMsgs: 1, Expires: time.Second}, &responses{MaxMsgs: 2, Expires: time.Minute}, &responses{MaxMsgs: 2, Expires: time.Minute}},
		"each in part": {&responses{MaxMsgs: 9, Expires: time.Second}, &responses{MaxMsgs: 2, Expires: time.Minute}, &responses{MaxMsgs: 9, Expires: time.Minute}},
		"no limit":     {&responses{MaxMsgs: 1, Expires: time.Second}, &responses{MaxMsgs: -1, Expires: 10 * time.Minute}, &responses{MaxMsgs: -1, Expires: 10 * time.Minute}},
		"no end":       {&responses{MaxMsgs: 0, Expires: time.Hour}, &responses{MaxMsgs: 0, Expires: -1}, &responses{MaxMsgs: 0, Expires: -1}},
		"the broker's": {&responses{}, &responses{MaxMsgs: 3, Expires: time.Minute}, &responses{MaxMsgs: 3}},
	} {
		for _, order := range [][2]*responses{{test.one, test.other}, {test.other, test.one}} {
			sum := bus.Permissions{Responses: order[0]}.With(bus.Permissions{}, bus.Permissions{Responses: order[1]})
			if want := (bus.Permissions{Responses: test.want}); sum.String() != want.String() {
				t.Errorf("%s: %s, want %s", name, sum, want)
			}
		}
	}
}

// TestNamedCallees says what callers of hosts need that they have not called yet.
func TestNamedCallees(t *testing.T) {
	t.Parallel()
	conn := newBus(t).Connect("caller.example", bus.WithPlane("bus"))
	for callee, want := range map[string][]string{
		"products.example": {
			"bus.443.example.products.|.>", "bus.443.example.products.*.|.>",
			"bus.888.example.products.|.GET.allow", "bus.888.example.products.*.|.GET.allow", "bus.888.example.products.*.|.POST.cancel",
		},
		"products.example:888": {"bus.888.example.products.|.>", "bus.888.example.products.*.|.>"},
		"all":                  {"bus.888.all.|.GET.ping", "bus.888.all.|.GET.traffic"},
		"*.example:444":        {"bus.444.example.>", "bus.888.example.>"},
		"*":                    {"bus.443.>", "bus.888.>"},
	} {
		granted, err := conn.Permissions(callee)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, one := range granted.Publish {
			if !strings.HasPrefix(one.Subject, "bus.888.all.|.POST.") && one.Subject != "bus.r.>" { // what all publish
				got = append(got, one.Subject)
			}
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: %q, want %q", callee, got, want)
		}
	}
}

func TestPermissions_RefuseACallee(t *testing.T) {
	t.Parallel()
	conn := newBus(t).Connect("caller.example")
	for callee, want := range map[string]string{
		"":               `permissions of caller.example: callee "": host "": label "" is not 1 to 63 characters of a-z, 0-9 and inner hyphens; write a host, *.domain for all below it, or * for all`,
		"https://a":      `callee "https://a": the port is not a number; write host or host:port`,
		"a:0":            `callee "a:0": port 0: not from 1 to 65535`,
		"a.*":            `callee "a.*": host "a.*": label "*" is not`,
		"*.":             `callee "*.": host "": label ""`,
		">":              `callee ">": host ">": label ">" is not`,
		"A.example":      `callee "A.example": host "A.example": label "A" is not`,
		`x"] } evil: ["`: `the port is not a number`,
	} {
		granted, err := conn.Permissions("good.example", callee)
		if err == nil || !strings.Contains(err.Error(), want) || granted.Publish != nil {
			t.Errorf("%q: %v, %v", callee, granted, err)
		}
	}
}

// TestPermissions_OfCallees remembers who was called, by its host, and on which port.
func TestPermissions_OfCallees(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		caller, callee := newCalculator(t, w)
		instance := "https://" + callee.ID() + "." + calculatorHost
		for _, address := range []string{instance + "/add", instance + "/who", "https://x.nobody.example:444/add"} {
			_ = caller.Call(t.Context(), "GET "+address, nil, nil)
		}
		publish(t, caller, instance+"/who")
		granted, err := caller.Permissions()
		if err != nil {
			t.Fatal(err)
		}
		var called []string
		for _, one := range granted.Publish {
			if host, isCall := strings.CutPrefix(one.For, "calls to "); isCall && !strings.Contains(host, " ") {
				called = append(called, host+" "+strings.TrimPrefix(one.Subject, w.Plane()))
			}
		}
		want := "calculator.example .443.example.calculator.|.>, x.nobody.example .444.example.nobody.x.|.>"
		if got := strings.Join(called, ", "); got != want {
			t.Errorf("callees are %s\nwant %s", got, want)
		}
	})
}

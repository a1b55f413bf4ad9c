package subject_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/subject"
)

// golden are calls with their subjects and the canonical form of their paths ("" if the same as in the URL).
var golden = []struct{ method, url, subject, path string }{
	{"POST", "https://calculator.example/add", "bus.443.example.calculator.|.POST.add", ""},
	{"GET", "https://calculator.example/add?x=5&y=6#sum", "bus.443.example.calculator.|.GET.add", "/add"},
	{"GET", "https://a.b.c/p/q", "bus.443.c.b.a.|.GET.p.q", ""},
	{"GET", "https://k3xq27abcd.messaging.example/default-queue",
		"bus.443.example.messaging.k3xq27abcd.|.GET.default-queue", ""},
	{"GET", "http://calculator.example/add", "bus.80.example.calculator.|.GET.add", ""},
	{"GET", "https://CALCULATOR.Example:444/Add", "bus.444.example.calculator.|.GET.Add", ""},
	{"GET", "https://calculator.example:/add", "bus.443.example.calculator.|.GET.add", ""},
	{"POST", "https://all:888/hello", "bus.888.all.|.POST.hello", ""},
	{"GET", "https://r/x", "bus.443.r.|.GET.x", ""},
	{"GET", "https://h", "bus.443.h.|.GET.%", "/"},
	{"GET", "https://h/", "bus.443.h.|.GET.%", ""},
	{"GET", "https://h//", "bus.443.h.|.GET.%.%", ""},
	{"GET", "https://h/dir/", "bus.443.h.|.GET.dir.%", ""},
	{"GET", "https://h/a//b", "bus.443.h.|.GET.a.%.b", ""},
	{"GET", "https://h/openapi.json", "bus.443.h.|.GET.openapi%2Ejson", ""},
	{"GET", "https://h/a%2Fb", "bus.443.h.|.GET.a%2Fb", ""},
	{"GET", "https://h/a.b", "bus.443.h.|.GET.a%2Eb", ""},
	{"GET", "https://h/a%2eb", "bus.443.h.|.GET.a%2Eb", "/a.b"},
	{"GET", "https://h/.", "bus.443.h.|.GET.%2E", ""},
	{"GET", "https://h/a/../b", "bus.443.h.|.GET.a.%2E%2E.b", ""},
	{"GET", "https://h/%2e%2e/x", "bus.443.h.|.GET.%2E%2E.x", "/../x"},
	{"GET", "https://h/é", "bus.443.h.|.GET.%C3%A9", "/%C3%A9"},
	{"GET", "https://h/😀", "bus.443.h.|.GET.%F0%9F%98%80", "/%F0%9F%98%80"},
	{"GET", "https://h/%ff", "bus.443.h.|.GET.%FF", "/%FF"},
	{"GET", "https://h/%0d%0aX", "bus.443.h.|.GET.%0D%0AX", "/%0D%0AX"},
	{"GET", "https://h/a b", "bus.443.h.|.GET.a%20b", "/a%20b"},
	{"GET", "https://h/*", "bus.443.h.|.GET.%2A", ""},
	{"GET", "https://h/>", "bus.443.h.|.GET.%3E", "/%3E"},
	{"GET", "https://h/$SYS/_INBOX/|", "bus.443.h.|.GET.%24SYS._INBOX.%7C", "/$SYS/_INBOX/%7C"},
	{"GET", "https://h/%25", "bus.443.h.|.GET.%25", ""},
	{"GET", "https://h/{id}", "bus.443.h.|.GET.%7Bid%7D", "/%7Bid%7D"},
	{"GET", "https://h/A-z_0~9", "bus.443.h.|.GET.A-z_0~9", ""},
	{"GET", "https://h/@a:b;c=1,d", "bus.443.h.|.GET.%40a%3Ab%3Bc%3D1%2Cd", ""},
}

func TestSubject(t *testing.T) {
	t.Parallel()
	for _, test := range golden {
		t.Run(test.method+" "+test.url, func(t *testing.T) {
			t.Parallel()
			parsed, err := url.Parse(test.url)
			require.NoError(t, err)
			address, err := subject.FromURL(test.method, parsed)
			require.NoError(t, err)
			got, err := address.Subject("bus")
			require.NoError(t, err)
			if got != test.subject {
				t.Errorf("subject %q, want %q", got, test.subject)
			}
			if test.path != "" {
				address.Path = test.path
			}
			plane, back, err := subject.Parse(got)
			require.NoError(t, err)
			assert.Equal(t, "bus", plane)
			assert.Equal(t, address, back)
		})
	}
}

func TestSubject_Refuses(t *testing.T) {
	t.Parallel()
	ok := subject.Address{Port: 443, Host: "h.example", Method: "GET", Path: "/x"}
	change := func(edit func(*subject.Address)) subject.Address {
		address := ok
		edit(&address)
		return address
	}
	long := strings.Repeat("x", 5000)
	tests := map[string]struct {
		plane   string
		address subject.Address
		status  int
		detail  string
	}{
		"no plane": {"", ok, 400, `plane "": not 1 to 64 characters of letters, digits, "-" and "_"`},
		"port":     {"bus", change(func(a *subject.Address) { a.Port = 0 }), 400, "port 0: not from 1 to 65535"},
		"no host": {"bus", change(func(a *subject.Address) { a.Host = "" }), 400,
			`host "": label "" is not 1 to 63 characters of a-z, 0-9 and inner hyphens`},
		"any method": {"bus", change(func(a *subject.Address) { a.Method = "*" }), 400,
			`method "*": not a word of A-Z such as GET`},
		"relative": {"bus", change(func(a *subject.Address) { a.Path = "x/y" }), 400,
			`path "x/y": does not begin with a slash`},
		"bad escape": {"bus", change(func(a *subject.Address) { a.Path = "/a/%zz" }), 400,
			`path segment "%zz": a percent sign without two hex digits; write %25 for the sign itself`},
		"cut escape": {"bus", change(func(a *subject.Address) { a.Path = "/%4" }), 400,
			`path segment "%4": a percent sign without two hex digits; write %25 for the sign itself`},
		"long path": {"bus", change(func(a *subject.Address) { a.Path = "/" + long }), 414,
			"subject: longer than 1024 bytes; shorten the path"},
		"long escapes": {"bus", change(func(a *subject.Address) { a.Path = "/" + strings.Repeat("%41", 1010) }), 414,
			"subject: longer than 1024 bytes; shorten the path"},
		"long segments": {"bus", change(func(a *subject.Address) { a.Path = strings.Repeat("/a", 1900) }), 414,
			"subject: longer than 1024 bytes; shorten the path"},
		"long method": {"bus", change(func(a *subject.Address) { a.Method = strings.ToUpper(long) }), 414,
			"subject: longer than 1024 bytes; shorten the path"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := test.address.Subject(test.plane)
			if got != "" {
				t.Errorf("subject %q beside an error", got)
			}
			wantError(t, err, test.status, test.detail)
		})
	}
}

func TestSubject_MaxLength(t *testing.T) {
	t.Parallel()
	const head = "bus.443.h.|.GET."
	address := subject.Address{Port: 443, Host: "h", Method: "GET"}
	for _, letter := range []string{"x", "%41"} {
		address.Path = "/" + strings.Repeat(letter, subject.MaxLength-len(head))
		got, err := address.Subject("bus")
		require.NoError(t, err)
		assert.Equal(t, subject.MaxLength, len(got))
		address.Path += letter
		if got, err = address.Subject("bus"); err == nil {
			t.Errorf("a subject of %d bytes is accepted", len(got))
		}
	}
}

func TestParse_Refuses(t *testing.T) {
	t.Parallel()
	const form = "not <plane>.<port>.<reversed host>.|.<method>.<path>"
	const token = `contains something other than letters, digits, "-", "_", "~" and upper-case escapes`
	tests := map[string]string{
		"":                              `subject "": ` + form,
		"bus":                           `subject "bus": ` + form,
		"bus.r.example.calculator.k3x":  `subject "bus.r.example.calculator.k3x": ` + form,
		"bus.443.|.GET.x":               `subject "bus.443.|.GET.x": ` + form,
		"bus.443.h.|.GET":               `subject "bus.443.h.|.GET": ` + form,
		"b*s.443.h.|.GET.x":             `plane "b*s": not 1 to 64 characters of letters, digits, "-" and "_"`,
		"bus.*.h.|.GET.x":               `port "*": not from 1 to 65535`,
		"bus.0443.h.|.GET.x":            `port "0443": not from 1 to 65535`,
		"bus.4e3.h.|.GET.x":             `port "4e3": not from 1 to 65535`,
		"bus.65536.h.|.GET.x":           `port "65536": not from 1 to 65535`,
		"bus.443.h..g.|.GET.x":          `host "g..h": label "" is not 1 to 63 characters of a-z, 0-9 and inner hyphens`,
		"bus.443.H.|.GET.x":             `host "H": label "H" is not 1 to 63 characters of a-z, 0-9 and inner hyphens`,
		"bus.443.h.|.*.x":               `method "*": not a word of A-Z such as GET`,
		"bus.443.h.|..x":                `method "": not a word of A-Z such as GET`,
		"bus.443.h.|.GET.":              `token "": ` + token,
		"bus.443.h.|.GET.*":             `token "*": ` + token,
		"bus.443.h.|.GET.>":             `token ">": ` + token,
		"bus.443.h.|.GET.a.|.b":         `token "|": ` + token,
		"bus.443.h.|.GET.%2e":           `token "%2e": ` + token,
		"bus.443.h.|.GET.%41":           `token "%41": ` + token,
		"bus.443.h.|.GET.%%":            `token "%%": ` + token,
		"bus.443.h.|.GET.a%":            `token "a%": ` + token,
		"bus.443.h.|.GET.a b":           `token "a b": ` + token,
		"bus.443.h.|.GET.é":             `token "é": ` + token,
		"bus.443.h.|.GET.a\x00":         `token "a\x00": ` + token,
		"a." + strings.Repeat("x", 100): `subject "a.` + strings.Repeat("x", 62) + `"…: ` + form,
		"bus.443.h.|.get.x":             `method "get": not a word of A-Z such as GET`,
	}
	for text, detail := range tests {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			plane, address, err := subject.Parse(text)
			assert.Empty(t, plane)
			assert.Equal(t, subject.Address{}, address)
			wantError(t, err, 400, detail)
		})
	}
	_, _, err := subject.Parse("bus.443.h.|.GET." + strings.Repeat("x", subject.MaxLength))
	wantError(t, err, 414, "subject: longer than 1024 bytes; shorten the path")
}

func TestSubscription(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ got, want string }{
		"endpoint": {subject.Subscription("bus", "443", "calculator.example", "POST", "add"),
			"bus.443.example.calculator.|.POST.add"},
		"any method": {subject.Subscription("bus", "443", "h", "*", "a", subject.Escape("")), "bus.443.h.|.*.a.%"},
		"parameter":  {subject.Subscription("bus", "443", "h", "GET", "products", "*"), "bus.443.h.|.GET.products.*"},
		"rest":       {subject.Subscription("p1", "*", "a.b.c", "*", ">"), "p1.*.c.b.a.|.*.>"},
		"response":   {subject.Response("bus", "calculator.example", "k3x"), "bus.r.example.calculator.k3x"},
		"instance":   {subject.Instance("bus", "calculator.example", "k3x"), "bus.*.example.calculator.k3x.|.>"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.got != test.want {
				t.Errorf("%q, want %q", test.got, test.want)
			}
		})
	}
}

func TestAllocations(t *testing.T) {
	address := subject.Address{Port: 443, Host: "calculator.example", Method: "POST", Path: "/add"}
	wantAllocs(t, "Subject", 1, func() error {
		_, err := address.Subject("bus")
		return err
	})
	wantAllocs(t, "Parse", 2, func() error {
		_, _, err := subject.Parse("bus.443.example.calculator.|.POST.add")
		return err
	})
	wantAllocs(t, "FromURL", 0, func() error {
		_, err := subject.FromURL("POST", &url.URL{Scheme: "https", Host: "calculator.example", Path: "/add"})
		return err
	})
}

func BenchmarkSubject(b *testing.B) {
	address := subject.Address{Port: 443, Host: "calculator.example", Method: "POST", Path: "/add"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := address.Subject("bus"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := subject.Parse("bus.443.example.calculator.|.POST.add"); err != nil {
			b.Fatal(err)
		}
	}
}

func TestIsCaller(t *testing.T) {
	t.Parallel()
	callers := []string{"orders.example", "*.billing.example"}
	for host, want := range map[string]bool{
		"orders.example": true, "a.orders.example": false, "orders.example.evil": false, "": false,
		"eu.billing.example": true, "a.b.billing.example": true, "billing.example": false, "evilbilling.example": false,
	} {
		assert.Equal(t, want, subject.IsCaller(host, callers), host)
	}
}

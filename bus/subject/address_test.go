package subject_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/subject"
)

func TestFromURL_Refuses(t *testing.T) {
	t.Parallel()
	const label = " is not 1 to 63 characters of a-z, 0-9 and inner hyphens"
	tests := map[string]struct {
		method string
		url    url.URL
		detail string
	}{
		"no scheme": {"GET", url.URL{Host: "h"},
			`URL scheme "": neither https nor http; an address is https://<host>/<path>`},
		"other scheme": {"GET", url.URL{Scheme: "ftp", Host: "h"},
			`URL scheme "ftp": neither https nor http; an address is https://<host>/<path>`},
		"opaque": {"GET", url.URL{Scheme: "https", Opaque: "h/x"},
			`URL: contains user information, or no // before the host; write https://host/path`},
		"user": {"GET", url.URL{Scheme: "https", Host: "evil", User: url.User("calculator.example")},
			`URL: contains user information, or no // before the host; write https://host/path`},
		"no host":      {"GET", url.URL{Scheme: "https", Path: "/x"}, `host "": label ""` + label},
		"empty label":  {"GET", url.URL{Scheme: "https", Host: "a..b"}, `host "a..b": label ""` + label},
		"leading dot":  {"GET", url.URL{Scheme: "https", Host: ".a"}, `host ".a": label ""` + label},
		"trailing dot": {"GET", url.URL{Scheme: "https", Host: "a."}, `host "a.": label ""` + label},
		"wildcards":    {"GET", url.URL{Scheme: "https", Host: "*.>"}, `host "*.>": label "*"` + label},
		"divider":      {"GET", url.URL{Scheme: "https", Host: "a.|.b"}, `host "a.|.b": label "|"` + label},
		"underscore":   {"GET", url.URL{Scheme: "https", Host: "a_b"}, `host "a_b": label "a_b"` + label},
		"blank":        {"GET", url.URL{Scheme: "https", Host: "a b"}, `host "a b": label "a b"` + label},
		"line break":   {"GET", url.URL{Scheme: "https", Host: "a\r\nb"}, `host "a\r\nb": label "a\r\nb"` + label},
		"escape":       {"GET", url.URL{Scheme: "https", Host: "a%2eb"}, `host "a%2eb": label "a%2eb"` + label},
		"outer hyphen": {"GET", url.URL{Scheme: "https", Host: "a-.b"}, `host "a-.b": label "a-"` + label},
		"IPv6": {"GET", url.URL{Scheme: "https", Host: "[::1]"},
			`host "[::1]": an IPv6 address is no host of the bus; write the name under which the service is connected`},
		"IPv6 and port": {"GET", url.URL{Scheme: "https", Host: "[::1]:443"},
			`host "[::1]:443": an IPv6 address is no host of the bus; write the name under which the service is connected`},
		"two schemes": {"GET", url.URL{Scheme: "https", Host: "https:", Path: "//h/x"},
			`URL: has two schemes; a host is written without one, calculator.example, and an address with one, https://<host>/<path>`},
		"of an instance": {"GET", url.URL{Scheme: "https", Host: "k3x.http:", Path: "//h/x"},
			`URL: has two schemes; a host is written without one, calculator.example, and an address with one, https://<host>/<path>`},
		"bracketed name":  {"GET", url.URL{Scheme: "https", Host: "[a]"}, `host "[a]": label "[a]"` + label},
		"Kelvin sign":     {"GET", url.URL{Scheme: "https", Host: "\u212a"}, "host \"\u212a\": label \"\u212a\"" + label},
		"international":   {"GET", url.URL{Scheme: "https", Host: "bücher"}, `host "bücher": label "bücher"` + label},
		"bad encoding":    {"GET", url.URL{Scheme: "https", Host: "A\xff"}, "host \"a\uFFFD\": label \"a\uFFFD\"" + label},
		"leading zero":    {"GET", url.URL{Scheme: "https", Host: "h:0888"}, `port "0888": not from 1 to 65535`},
		"port with sign":  {"GET", url.URL{Scheme: "https", Host: "h:+443"}, `port "+443": not from 1 to 65535`},
		"port with blank": {"GET", url.URL{Scheme: "https", Host: "h:443 "}, `port "443 ": not from 1 to 65535`},
		"port too high":   {"GET", url.URL{Scheme: "https", Host: "h:99999"}, `port "99999": not from 1 to 65535`},
		"port zero":       {"GET", url.URL{Scheme: "https", Host: "h:0"}, `port "0": not from 1 to 65535`},
		"two ports":       {"GET", url.URL{Scheme: "https", Host: "h:888:443"}, `port "888:443": not from 1 to 65535`},
		"wide digits":     {"GET", url.URL{Scheme: "https", Host: "h:８８８"}, `port "８８８": not from 1 to 65535`},
		"no method":       {"", url.URL{Scheme: "https", Host: "h"}, `method "": not a word of A-Z such as GET`},
		"lower case":      {"get", url.URL{Scheme: "https", Host: "h"}, `method "get": not a word of A-Z such as GET`},
		"method with dot": {"A.B", url.URL{Scheme: "https", Host: "h"}, `method "A.B": not a word of A-Z such as GET`},
		"smuggling": {"GET /x HTTP/1.1\r\n", url.URL{Scheme: "https", Host: "h"},
			`method "GET /x HTTP/1.1\r\n": not a word of A-Z such as GET`},
		"relative path": {"GET", url.URL{Scheme: "https", Host: "h", Path: "x"}, `path "x": does not begin with a slash`},
		"asterisk form": {"OPTIONS", url.URL{Scheme: "https", Host: "h", Path: "*"}, `path "*": does not begin with a slash`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, err := subject.FromURL(test.method, &test.url)
			if address != (subject.Address{}) {
				t.Errorf("address %v beside an error", address)
			}
			wantError(t, err, 400, test.detail)
		})
	}
	_, err := subject.FromURL("GET", nil)
	wantError(t, err, 400, "URL: missing; write https://host/path")
}

func TestCheckHost(t *testing.T) {
	t.Parallel()
	label := strings.Repeat("x", 63)
	longest := strings.Join([]string{label, label, label, label[:61]}, ".")
	for _, host := range []string{"h", "all", "r", "0", "127.0.0.1", "a-b.c--d", label, longest} {
		assert.NoError(t, subject.CheckHost(host))
	}
	wantError(t, subject.CheckHost("x"+label), 400,
		`host "`+label+`x": label "`+label+`x" is not 1 to 63 characters of a-z, 0-9 and inner hyphens`)
	wantError(t, subject.CheckHost("x."+longest), 400,
		`host "x.`+label[:62]+`"…: longer than 253 bytes`)
}

func TestCheckHost_OfACall(t *testing.T) {
	t.Parallel()
	label := strings.Repeat("x", 63)
	longest := strings.Join([]string{label, label, label, label[:61]}, ".")
	for _, host := range []string{"h", "k3xq27abcd.a.b", longest, "k3xq27abcd." + longest} {
		assert.NoError(t, subject.CheckCalledHost(host))
		address := subject.Address{Port: 443, Host: host, Method: "GET", Path: "/add"}
		name, err := address.Subject("bus")
		assert.NoError(t, err)
		_, got, err := subject.Parse(name)
		require.NoError(t, err, name)
		assert.Equal(t, address, got, name)
	}
	for _, host := range []string{"", "A.b", "x" + longest, "k3-q27abcd." + longest, "x.k3xq27abcd." + longest,
		"x." + longest} {
		if subject.CheckCalledHost(host) == nil {
			t.Errorf("%s can be called", host)
		}
	}
}

func TestCheckID(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("a1", 16)
	for _, id := range []string{"a", "7", "k3xq27abcd", longest} {
		assert.NoError(t, subject.CheckID(id))
	}
	for _, id := range []string{"", "A", "a-b", "a.b", "*", "a ", "é", longest + "x"} {
		wantError(t, subject.CheckID(id), 400, `instance ID "`+id+`": not 1 to 32 characters of a-z and 0-9`)
	}
}

func TestCheckPlane(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("p", 64)
	for _, plane := range []string{"bus", "Test-1_x", "7", longest} {
		assert.NoError(t, subject.CheckPlane(plane))
	}
	for _, plane := range []string{"", "a.b", "*", "$SYS", "a~b", "é"} {
		wantError(t, subject.CheckPlane(plane), 400,
			`plane "`+plane+`": not 1 to 64 characters of letters, digits, "-" and "_"`)
	}
	wantError(t, subject.CheckPlane(longest+"p"), 400,
		`plane "`+longest+`"…: not 1 to 64 characters of letters, digits, "-" and "_"`)
}

func TestCheckPort(t *testing.T) {
	t.Parallel()
	for _, port := range []int{1, 443, 65535} {
		assert.NoError(t, subject.CheckPort(port))
	}
	wantError(t, subject.CheckPort(0), 400, "port 0: not from 1 to 65535")
	wantError(t, subject.CheckPort(-443), 400, "port -443: not from 1 to 65535")
	wantError(t, subject.CheckPort(65536), 400, "port 65536: not from 1 to 65535")
}

func TestNewID(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		id := subject.NewID()
		require.NoError(t, subject.CheckID(id))
		require.Equal(t, 10, len(id))
		require.GreaterOrEqual(t, id[0], byte('a'))
		if seen[id] {
			t.Fatalf("ID %q twice", id)
		}
		seen[id] = true
	}
}

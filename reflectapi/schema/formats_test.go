package schema_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// TestConstraints_Formats: texts follow the grammars of RFC 3339, 3986, 4291, 4648, 5321 and 9562.
func TestConstraints_Formats(t *testing.T) {
	t.Parallel()
	label63 := strings.Repeat("a", 63)
	for format, texts := range map[string]struct{ valid, invalid []string }{
		"date": {
			[]string{"2024-02-29", "0000-01-01", "9999-12-31"},
			[]string{"", "2023-02-29", "2024-2-01", "2024-02-1", "24-02-01", "2024-13-01", "2024-00-10", "2024-04-31",
				"2024/02/01", "20240201", "+2024-02-01", "2024-02-01Z", " 2024-02-01", "２０24-02-01"},
		},
		"date-time": {
			[]string{
				"2024-01-01T00:00:00Z", "2024-01-01t00:00:00z", "2024-01-01T00:00:00.5Z", "2024-01-01T00:00:00.123456789012345Z",
				"2024-01-01T00:00:00+23:59", "2024-01-01T00:00:00-23:59", "2024-01-01T00:00:00-00:00",
				"2024-02-29T12:30:45.25+05:30",
				"2016-12-31T23:59:60Z", "1990-12-31T15:59:60-08:00", "2016-12-31T23:59:60.75z", "2017-01-01T05:29:60+05:30",
				"2015-06-30T23:59:60Z",
			},
			[]string{
				"", "2024-01-01", "2024-01-01T00:00:00", "2024-01-01 00:00:00Z", "2024-01-01T00:00:00,5Z", "2024-01-01T00:00:00.Z",
				"2024-01-01T00:00:00+24:00", "2024-01-01T00:00:00-24:00", "2024-01-01T00:00:00+10:60", "2024-01-01T00:00:00+0100",
				"2024-01-01T00:00:00+01",
				"2024-01-01T0:00:00Z", "2024-01-01T00:0:00Z", "2024-01-01T00:00:0Z", "2024-01-01T24:00:00Z", "2024-01-01T00:60:00Z",
				"2024-01-01T00:00:61Z",
				"2023-02-29T00:00:00Z", "2024-1-1T00:00:00Z", "2024-01-01T00:00Z", "2024-01-01T00:00:00ZZ",
				"2024-01-01T00:00:00Z\n", "2024-01-01T00:00:00 Z",
				"2016-12-31T22:59:60Z", "2016-12-31T23:58:60Z", "2016-12-30T23:59:60Z", "2016-12-31T23:59:60+01:00",
				"2024-01-01T000:0:00Z", "2024-0101-T00:00:00Z",
			},
		},
		"byte": {
			[]string{"", "YQ==", "YWI=", "YWJj", "+/+/"},
			[]string{"YQ", "YQ=", "YQ==YQ==", "YW Jj", "YWJj\n", "YW\r\nJj", "-_-_", "====", "é==="},
		},
		"email": {
			[]string{
				"joe@example.com", "joe.bloggs@example.com", "joe+tag@example.com", "!#$%&'*+-/=?^_`{|}~@example.com",
				"joe@localhost", "1@2.example", "joe@xn--bcher-kva.example",
				`"joe bloggs"@example.com`, `"joe@home"@example.com`, `"a\"b\\c"@example.com`, `"."@example.com`, `""@example.com`,
				"joe@[192.0.2.1]", "joe@[IPv6:2001:db8::1]", "joe@" + label63 + ".example",
				strings.Repeat("a", 64) + "@example.com",
			},
			[]string{
				"", "joe", "@example.com", "joe@", "joe@invalid=domain.com", "joe@exam_ple.com", "joe@-example.com",
				"joe@example-.com", "joe@example..com", "joe@.example.com", "joe@example.com.",
				".joe@example.com", "joe.@example.com", "joe..bloggs@example.com", "joe bloggs@example.com", "joe@home@example.com",
				`joe"x"@example.com`, `"joe@example.com`, `"a"b"@example.com`, `"a\"@example.com`,
				"<joe@example.com>", "Joe <joe@example.com>", "joe@example.com (Joe)", " joe@example.com", "joe@example.com ",
				"joe@exa mple.com", "jo,e@example.com", "joe@example.com\n", "\"a\nb\"@example.com",
				"joe@[192.0.2.256]", "joe@[192.0.2.1", "joe@[2001:db8::1]", "joe@[IPv6:192.0.2.1]", "joe@[IPv6:fe80::1%eth0]",
				"joe@[]", "jörg@example.com", "joe@bücher.example",
				"joe@" + label63 + "a.example", strings.Repeat("a", 65) + "@example.com",
				"joe@" + strings.Repeat(label63+".", 4) + "example",
			},
		},
		"uuid": {
			[]string{"f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6",
				"00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"},
			[]string{"", "f81d4fae7dec11d0a76500a0c91e6bf6", "{f81d4fae-7dec-11d0-a765-00a0c91e6bf6}",
				"urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "f81d4fae-7dec-11d0-a765-00a0c91e6bf",
				"f81d4fae-7dec-11d0-a765-00a0c91e6bfg", "f8gd4fae-7dec-11d0-a765-00a0c91e6bf6",
				"f81d4fae-7dec-11d0-a76500a0-c91e6bf6", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6\n"},
		},
		"ipv4": {
			[]string{"0.0.0.0", "192.0.2.1", "255.255.255.255"},
			[]string{"", "192.0.2", "192.0.2.1.1", "192.0.2.256", "192.0.2.01", "0x7f.0.0.1", "192.0.2.-1", "192.0.2.1/24",
				" 192.0.2.1", "192.0.2.1\n", "::ffff:192.0.2.1", "3221225985", "１92.0.2.1"},
		},
		"ipv6": {
			[]string{"::", "::1", "2001:db8::8:800:200c:417a", "2001:DB8:0:0:8:800:200C:417A", "::ffff:192.0.2.1",
				"1:2:3:4:5:6:192.0.2.1", "1:2:3:4:5:6:7::"},
			[]string{"", ":", ":::", "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "::1:2:3:4:5:6:7:8", "12345::", "::g",
				"fe80::1%eth0", "[::1]", "::1/64", "::192.0.2.256", "::192.0.2", "1:2:3:4:5:6:7:192.0.2.1", "192.0.2.1",
				":1:2:3:4:5:6:7", " ::1"},
		},
		"uri": {
			[]string{
				"http://example.com", "https://joe:secret@example.com:8080/a/b;c=1?q=/?&r=a:b@c#f/?", "http://[2001:db8::1]:80/",
				"http://[v7.a:b]/", "http://192.0.2.1/", "http://example.com:", "http://example.com//a//",
				"mailto:joe@example.com", "urn:isbn:0451450523", "tel:+1-816-555-1212", "file:///etc/hosts", "news:comp.lang", "a:",
				"a+b-c.1:x", "a:/", "a:/b", "a:?", "a:#", "a:b/c//d",
				"http://example.com/%7Ejoe%20b", "http://ex%41mple.com/", "http://example.com/!$&'()*+,;=:@-._~",
				"HTTP://EXAMPLE.COM/",
			},
			[]string{
				"", "example.com", "/a/b", "//example.com/a", "?q", "#f", "http", ":a", "1a:b", "a_b:c", "-a:b", "ä:b",
				"http://example.com/a b", `http://example.com/"a"`, "http://example.com/<a>", "http://example.com/{a}",
				"http://example.com/a|b", `http://example.com/a\b`, "http://example.com/a^b", "http://example.com/`a`",
				"http://example.com/ä", "http://bücher.example/", "http://example.com/?q=a b", "http://example.com/?q={a}",
				"http://example.com/#a#b", "http://example.com/#ä", "http://example.com/[a]", "http://example.com/?[a]",
				"http://example.com/%", "http://example.com/%4", "http://example.com/%zz", "http://example.com:80a/",
				"http://a:b:c/", "http://a@b@c/", "http://[::1", "http://[::g]/", "http://[192.0.2.1]/", "http://[1::2::3]/",
				"http://[fe80::1%25eth0]/", "http://[]/",
				" http://example.com", "http://example.com ", "http://example.com/\n", "http://example.com/\x7f",
				"http://exa mple.com/",
			},
		},
	} {
		for _, text := range texts.valid {
			checkField(t, "format="+format, reflect.TypeFor[*string](), jsonText(text), true)
		}
		for _, text := range texts.invalid {
			checkField(t, "format="+format, reflect.TypeFor[*string](), jsonText(text), false)
		}
	}
}

func jsonText(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(data)
}

package portal_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/busline/busline/portal"
)

// FuzzAddress holds that what is called is what was asked for, on an open port.
func FuzzAddress(f *testing.F) {
	for _, seed := range []string{
		"/calculator.example/add?x=1", "/Calculator.example:80/a//b/", "/a:888/b", "//a/b", "/a/%2e%2e/b:888", "/a%3a888/",
		"/a/é\"<>%2F", "/a%2Fb|", "/a/\xff%2f%25", "/user@a/b", "/all/ping", "http://a:888/b/c", "/a:443:888/", "/", "*",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, target string) {
		asked, err := url.ParseRequestURI(target)
		if err != nil {
			return
		}
		path := portal.SentPath(asked)
		sent := cmp.Or(asked.RawPath, path)
		if decoded, err := url.PathUnescape(path); err != nil || decoded != asked.Path || strings.Count(path, "/") != strings.Count(sent, "/") {
			t.Fatalf("%q: the path %q is read as %q", target, sent, path)
		}
		called, err := portal.Address(path)
		if err != nil {
			return
		}
		again, err := url.Parse(called.String())
		if err != nil || again.Host != called.Host || again.EscapedPath() != called.EscapedPath() {
			t.Fatalf("%q: %s is read as %v, %v", target, called, again, err)
		}
		if port := again.Port(); port != "443" && port != "80" {
			t.Errorf("%q: port %q is called", target, port)
		}
		service, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		host, _, _ := strings.Cut(service, ":")
		if again.Hostname() != strings.ToLower(host) || again.Hostname() == "all" || again.EscapedPath() != "/"+rest {
			t.Errorf("%q: %s is called", target, called)
		}
	})
}

// FuzzSetMember holds that one member of an object changes, and nothing else.
func FuzzSetMember(f *testing.F) {
	for _, seed := range []string{
		`{"status":404,"instance":"/x","extra":[1,{"a":null}]}`, `{}`, `{"instance":{}}`, ` {"a":1e400} `, `[]`, `{"a":1,"a":2}`,
	} {
		f.Add([]byte(seed), "/path")
	}
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		changed, err := portal.SetMember(data, "instance", text)
		if err != nil || !utf8.ValidString(text) {
			return
		}
		var before, after map[string]json.RawMessage
		if err := json.Unmarshal(data, &before); err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		if err := json.Unmarshal(changed, &after); err != nil {
			t.Fatalf("%q became %q: %v", data, changed, err)
		}
		var set string
		if err := json.Unmarshal(after["instance"], &set); err != nil || set != text {
			t.Errorf("%q became %q, want the instance %q", data, changed, text)
		}
		others := func(name string, _ json.RawMessage) bool { return name == "instance" }
		maps.DeleteFunc(before, others)
		maps.DeleteFunc(after, others)
		if !reflect.DeepEqual(before, after) {
			t.Errorf("%q became %q", data, changed)
		}
	})
}

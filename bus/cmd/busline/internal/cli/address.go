package cli

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/busline/busline/bus/subject"
)

// address is the target of a call: "https://calculator.example/add?x=5".
type address struct {
	host  string // may begin with an instance ID
	port  int
	path  string // escaped
	query string
}

// parseAddress parses an address; https:// may be omitted.
func parseAddress(text string) (address, error) {
	whole := text
	if !strings.Contains(text, "://") {
		whole = "https://" + text
	}
	parsed, err := url.Parse(whole)
	if err != nil { // it begins with the whole text
		return address{}, misuse("%q is not an address such as calculator.example/add: %w", text, cmp.Or(errors.Unwrap(err), err))
	}
	to, err := subject.FromURL(http.MethodGet, parsed)
	if err != nil {
		return address{}, misuse("%q is not an address such as calculator.example/add: %w", text, err)
	}
	path := strings.NewReplacer("%7B", "{", "+%7D", "}", "%7D", "}").Replace(to.Path) // {path+} is {path} in documents
	return address{host: to.Host, port: to.Port, path: path, query: parsed.RawQuery}, nil
}

// String returns the address without its query.
func (a address) String() string { return a.place() + a.path }

// place returns the host, with the port unless it is the default.
func (a address) place() string {
	if a.port == subject.PublicPort {
		return a.host
	}
	return a.host + ":" + strconv.Itoa(a.port)
}

// url returns the address with another escaped path and query.
func (a address) url(path, query string) (*url.URL, error) {
	to, err := url.Parse("https://" + a.host + ":" + strconv.Itoa(a.port) + path)
	if err != nil {
		return nil, misuse("%q is not a valid path", path)
	}
	to.RawQuery = query
	return to, nil
}

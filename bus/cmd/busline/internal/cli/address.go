package cli

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/busline/busline/bus/subject"
)

// address is what is called: "https://calculator.example/add?x=5".
type address struct {
	host  string // perhaps with an instance in front
	port  int
	path  string // escaped
	query string
}

// parseAddress reads an address; https:// may be left out.
func parseAddress(text string) (address, error) {
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	parsed, err := url.Parse(text)
	if err != nil {
		return address{}, misuse("%q is no address such as calculator.example/add", text)
	}
	to, err := subject.FromURL(http.MethodGet, parsed)
	if err != nil {
		return address{}, misuse("%q is no address such as calculator.example/add: %w", text, err)
	}
	path := strings.NewReplacer("%7B", "{", "+%7D", "}", "%7D", "}").Replace(to.Path) // {path+} is {path} in documents
	return address{host: to.Host, port: to.Port, path: path, query: parsed.RawQuery}, nil
}

// String returns the address without its query.
func (a address) String() string { return a.place() + a.path }

// place returns the host, and the port unless everybody assumes it.
func (a address) place() string {
	if a.port == publicPort {
		return a.host
	}
	return a.host + ":" + strconv.Itoa(a.port)
}

// url returns the address of the bus with another path, escaped, and query.
func (a address) url(path, query string) (*url.URL, error) {
	to, err := url.Parse("https://" + a.host + ":" + strconv.Itoa(a.port) + path)
	if err != nil {
		return nil, misuse("%q is no path", path)
	}
	to.RawQuery = query
	return to, nil
}

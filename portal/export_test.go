package portal

import (
	"net/url"
	"time"
)

// WithClock has the portal take the time from now.
func WithClock(now func() time.Time) RegisterOption { return clockOption(now) }

type clockOption func() time.Time

func (o clockOption) applyToPortal(c *portalConfig) { c.now = o }

// PageFiles are the files of the page.
var PageFiles = pageFiles

// Address is where an ingress with default settings calls for a path.
func Address(path string) (*url.URL, error) {
	config, err := newIngressConfig(nil)
	if err != nil {
		return nil, err
	}
	return config.address(path)
}

// SetMember changes one member of a JSON object.
func SetMember(data []byte, name, text string) ([]byte, error) {
	parsed, err := parseObject(data)
	if err != nil {
		return nil, err
	}
	parsed.set(name, text)
	return parsed.json(), nil
}

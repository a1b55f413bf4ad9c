package portal

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// ingressConfig is the configuration of an ingress: defaults, then options.
type ingressConfig struct {
	ports      []int
	proxies    []string       // as given
	trusted    []netip.Prefix // parsed
	origins    []string
	sites      *http.CrossOriginProtection // with the origins
	sandbox    bool
	timeBudget time.Duration
	bodyLimit  int64
	inFlight   int64 // 0: the default
}

func newIngressConfig(options []IngressOption) (*ingressConfig, error) {
	config := &ingressConfig{
		ports: defaultPorts(), timeBudget: defaultTimeBudget, bodyLimit: defaultBodyLimit,
		sites: http.NewCrossOriginProtection(),
	}
	for i, option := range options {
		if option == nil {
			return nil, noOption(i)
		}
		option.applyToIngress(config)
	}
	return config, errors.Join(
		validPorts(config.ports), config.parseProxies(), config.parseOrigins(), config.validLimits())
}

// noOption is the error for an option that is nil: nobody knows what it was to be.
func noOption(place int) error { return fmt.Errorf("option %d is nil: leave it out", place+1) }

// validPorts returns an error for ports that must not be public.
func validPorts(ports []int) error {
	const events, control, last = 417, 888, 65535
	reserved := map[int]string{
		control: "for requests of the framework itself",
		events:  "for events",
	}
	if len(ports) == 0 {
		return errors.New("portal.WithPorts: no port is open; name one such as 443")
	}
	for _, port := range ports {
		if port < 1 || port > last {
			return fmt.Errorf("portal.WithPorts: port %d is not from 1 to %d", port, last)
		}
		if what := reserved[port]; what != "" {
			return fmt.Errorf("portal.WithPorts: port %d is %s; it is never open to the outside", port, what)
		}
	}
	return nil
}

func (c *ingressConfig) parseProxies() error {
	for _, network := range c.proxies {
		parsed, err := netip.ParsePrefix(network)
		if err != nil {
			return fmt.Errorf("portal.WithTrustedProxies: %q is not a network such as 10.0.0.0/8, or 10.0.0.1/32 for one address", network)
		}
		c.trusted = append(c.trusted, parsed.Masked())
	}
	return nil
}

// parseOrigins returns an error for an origin that no browser sends, because it would allow nobody.
func (c *ingressConfig) parseOrigins() error {
	for _, origin := range c.origins {
		if origin == anyOrigin {
			continue
		}
		parsed, err := url.Parse(origin)
		if err != nil || parsed.Scheme+"://"+strings.ToLower(parsed.Host) != origin || c.sites.AddTrustedOrigin(origin) != nil {
			return fmt.Errorf("portal.WithOrigins: %q is not an origin such as https://app.example.com, nor *", origin)
		}
	}
	return nil
}

func (c *ingressConfig) validLimits() error {
	if c.timeBudget <= 0 {
		return fmt.Errorf("portal.WithTimeBudget: %s leaves no time for a call", c.timeBudget)
	}
	if c.bodyLimit < 0 {
		return fmt.Errorf("portal.WithBodyLimit: %d bytes is below zero", c.bodyLimit)
	}
	if c.inFlight == 0 {
		c.inFlight = max(defaultInFlight, 2*c.bodyLimit)
	}
	if c.inFlight < c.bodyLimit {
		return fmt.Errorf("portal.WithInFlightLimit: %d bytes leave no room for one body of %d; lower portal.WithBodyLimit too", c.inFlight, c.bodyLimit)
	}
	return nil
}

package bus

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// checkURL says what is wrong with a broker's URL that nobody can connect to, so that nobody waits for it. What nats.go
// can use is fine, although it is laxer than its documentation.
func (c linkConfig) checkURL() error {
	addresses := c.addresses()
	reachable := c.provider != nil || len(addresses) == 0
	for _, address := range addresses {
		to, err := parseBroker(address)
		if err != nil { // which repeats the URL, password and all
			return c.faultyURL(address)
		}
		reachable = reachable || canBeDialled(to)
	}
	if !reachable {
		return c.faultyURL(addresses[0])
	}
	return nil
}

// faultyURL does not show the address where a login is near, which may be what broke it.
func (c linkConfig) faultyURL(address string) error {
	shown := "the URL of the broker"
	if !strings.Contains(c.url, "@") {
		shown = fmt.Sprintf("the URL of the broker, %q,", address)
	}
	return fmt.Errorf("%s is none (BUS_NATS_URL or bus.WithURL): write nats://host:4222, or several with commas between them; in a password, / is %%2F, @ is %%40, : is %%3A and a comma is %%2C", shown)
}

// addresses are the broker's URLs one by one. There may be none, and nats.go then takes its default.
func (c linkConfig) addresses() (each []string) {
	for address := range strings.SplitSeq(c.url, ",") {
		if address = strings.TrimSpace(address); address != "" {
			each = append(each, address)
		}
	}
	return each
}

// parseBroker parses an address as nats.go does: the scheme may be missing.
func parseBroker(address string) (*url.URL, error) {
	if !strings.Contains(address, "://") {
		address = "nats://" + address
	}
	return url.Parse(address)
}

// canBeDialled says whether an address has the form of host:port; both may be missing.
func canBeDialled(to *url.URL) bool {
	place := to.Host
	if to.Port() == "" {
		place = strings.TrimSuffix(place, ":") + ":4222"
	}
	_, port, err := net.SplitHostPort(place)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

// foreignScheme returns a scheme that no broker has; "" if there is none. nats.go takes it for nats, so it is no fault as
// long as the broker is there.
func (c linkConfig) foreignScheme() string {
	for _, address := range c.addresses() {
		to, err := parseBroker(address)
		if err == nil && !slices.Contains([]string{"nats", "tls", "ws", "wss"}, to.Scheme) {
			return to.Scheme
		}
	}
	return ""
}

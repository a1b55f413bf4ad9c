// Package login says where users of the portal's page log in.
package login

import (
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
)

// Config is the response of /login.json. Without an issuer there is no login.
type Config struct {
	Issuer   string   `json:"issuer"`
	ClientID string   `json:"clientId"`
	Scopes   []string `json:"scopes"`
}

// FromEnvironment returns what the environment says.
func FromEnvironment() Config {
	return Config{Issuer: os.Getenv("BUS_LOGIN_ISSUER"), ClientID: os.Getenv("BUS_LOGIN_CLIENT_ID")}
}

// Complete adds the scope openid, and returns an error for what cannot work.
func (c *Config) Complete() error {
	if c.Issuer == "" && c.ClientID == "" {
		c.Scopes = []string{}
		return nil
	}
	if c.Issuer == "" || c.ClientID == "" {
		return fmt.Errorf("portal: the login has the issuer %q and the client ID %q: give it both, or neither", c.Issuer,
			c.ClientID)
	}
	if !isIssuer(c.Issuer) {
		return fmt.Errorf("portal: the issuer of the login is %q: give it an https address without a query, "+
			"such as https://id.example/realms/shop", c.Issuer)
	}
	if !slices.Contains(c.Scopes, "openid") {
		c.Scopes = append([]string{"openid"}, c.Scopes...)
	}
	return nil
}

// isIssuer reports whether an address is that of an issuer, whose origin can be part of a content security policy.
func isIssuer(address string) bool {
	to, err := url.Parse(address)
	if err != nil || to.Host == "" || to.RawQuery != "" || to.Fragment != "" || to.User != nil ||
		strings.ContainsAny(to.Host, " ;,'*") {
		return false
	}
	return to.Scheme == "https" || to.Scheme == "http" && slices.Contains(loopback(), to.Hostname())
}

func loopback() []string { return []string{"localhost", "127.0.0.1", "::1"} }

// Origin returns the origin of the issuer, "" for no login.
func (c *Config) Origin() string {
	to, err := url.Parse(c.Issuer)
	if err != nil || c.Issuer == "" {
		return ""
	}
	return to.Scheme + "://" + to.Host
}

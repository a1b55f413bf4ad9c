package natsconn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Config says which broker to reach, and as whom. It is comparable: connections of a process with equal values share
// one Conn.
type Config struct {
	URL            string // several are separated by commas
	Provider       nats.InProcessConnProvider
	NATS           *nats.Conn // an open connection of the application; then nothing else counts
	Credentials    string     // file
	NkeySeed       string     // file
	User, Password string
	Token          string
	CA, Cert, Key  string // files
	Unbatched      bool
	Options        *Options      // of the application; nil for none
	ConnectTimeout time.Duration // 0: one attempt, see Timeout
}

// Options are further options of nats.go. They are shared by address, as functions cannot be compared.
type Options struct{ All []nats.Option }

// apply applies the options.
func (o *Options) apply(to *nats.Options) error {
	if o == nil {
		return nil
	}
	for i, option := range o.All {
		if option == nil {
			return fmt.Errorf("bus.WithNATSOptions: option %d is nil", i+1)
		}
		if err := option(to); err != nil {
			return fmt.Errorf("bus.WithNATSOptions: option %d: %w", i+1, err)
		}
	}
	return nil
}

// check returns an error for options that Busline cannot work with.
func (o *Options) check() error {
	got := nats.GetDefaultOptions()
	if err := o.apply(&got); err != nil {
		return err
	}
	for _, each := range []struct {
		is             bool
		option, remedy string
	}{
		{got.NoEcho, "nats.NoEcho", "the services on the connection would not receive each other's messages: leave it out"},
		{got.InProcessServer != nil, "nats.InProcessServer", "use bus.WithBroker"},
		{got.RetryOnFailedConnect, "nats.RetryOnFailedConnect",
			"bus.Connect tries again by itself, see bus.WithConnectTimeout: leave it out"},
		{!got.AllowReconnect, "nats.NoReconnect",
			"a connection of Busline always reconnects: leave it out, or use bus.WithNATS"},
	} {
		if each.is {
			return fmt.Errorf("bus.WithNATSOptions has %s: %s", each.option, each.remedy)
		}
	}
	return nil
}

// DefaultTimeout is how long to try to connect, and how long to wait for an answer of the broker, where nothing else is
// said.
const DefaultTimeout = 5 * time.Second

// dialTimeout is how long one attempt to connect may take.
const dialTimeout = 2 * time.Second

// Timeout is how long to wait for the broker. A single attempt ends by itself before that, if there are few addresses.
func (c Config) Timeout() time.Duration { return cmp.Or(c.ConnectTimeout, DefaultTimeout) }

// Check returns an error that names the variable or the option that is wrong, and the remedy.
func (c Config) Check() error {
	if c.NATS != nil {
		if c.Options != nil {
			return errors.New("bus.WithNATSOptions has no effect on the connection of bus.WithNATS, which is open: " +
				"pass the options to nats.Connect")
		}
		return nil
	}
	if err := c.Options.check(); err != nil {
		return err
	}
	if err := c.checkURL(); err != nil {
		return err
	}
	if (c.Cert == "") != (c.Key == "") {
		return errors.New("BUS_NATS_CERT and BUS_NATS_KEY go together: one of them is missing")
	}
	if c.Password != "" && c.User == "" {
		return errors.New("BUS_NATS_PASSWORD is set, and BUS_NATS_USER is not: they go together")
	}
	return nil
}

// checkURL returns an error for a URL that cannot be connected to, so that Connect does not wait. A URL that nats.go
// can use passes, although nats.go is laxer than its documentation.
func (c Config) checkURL() error {
	addresses := c.addresses()
	reachable := c.Provider != nil || len(addresses) == 0
	for _, address := range addresses {
		to, err := parseBroker(address)
		if err != nil { // which repeats the URL, password and all
			return c.malformedURL(address)
		}
		reachable = reachable || canBeDialled(to)
	}
	if !reachable {
		return c.malformedURL(addresses[0])
	}
	return nil
}

// malformedURL is the error for an address. It does not show the address beside a login, which may be the malformed
// part.
func (c Config) malformedURL(address string) error {
	shown := "the URL of the broker"
	if !strings.Contains(c.URL, "@") {
		shown = fmt.Sprintf("the URL of the broker, %q,", address)
	}
	return fmt.Errorf("%s is none (BUS_NATS_URL or bus.WithURL): write nats://host:4222, or several with commas between "+
		"them; in a password, / is %%2F, @ is %%40, : is %%3A and a comma is %%2C", shown)
}

// addresses returns the broker's URLs one by one. Without any, nats.go takes its default.
func (c Config) addresses() (each []string) {
	for address := range strings.SplitSeq(c.URL, ",") {
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

// canBeDialled reports whether an address has the form of host:port; both may be missing.
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

// foreignScheme returns a scheme that no broker has; "" if there is none. nats.go takes such a scheme for nats, so it
// is an error only when the broker is not there.
func (c Config) foreignScheme() string {
	for _, address := range c.addresses() {
		to, err := parseBroker(address)
		if err == nil && !slices.Contains([]string{"nats", "tls", "ws", "wss"}, to.Scheme) {
			return to.Scheme
		}
	}
	return ""
}

// attemptTimeout returns how long one broker may take to answer, so that each has its turn before the time to connect
// is up.
func (c Config) attemptTimeout() time.Duration {
	each := c.Timeout() / time.Duration(max(1, len(c.addresses())))
	return max(1, min(dialTimeout, each))
}

// Unreachable returns the error for a broker that was waited for long enough; err is that of the last attempt. After a
// cancelled Connect it is unknown whether the broker is there.
func (c Config) Unreachable(err error) error {
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w before the broker was reached", err)
	}
	if c.NATS != nil {
		return notConnected(c.NATS, err)
	}
	remedy := "start one, or set BUS_NATS_URL or bus.WithURL"
	if c.Provider != nil {
		remedy = "start it first, and close it last; one with users is reached with bus.WithURL or bus.WithNATS"
	}
	place := c.address()
	// it names what was dialled
	if _, isNetwork := errors.AsType[*net.OpError](err); isNetwork && strings.Contains(place, withheld) {
		err = errors.New("it cannot be reached; in a password, a comma is %2C")
	}
	return fmt.Errorf("no broker at %s: %w; %s", place, err, remedy)
}

// withheld stands for what may be a part of a login.
const withheld = "…"

// address returns where the broker is, without the password that a URL may hold.
func (c Config) address() string {
	if c.Provider != nil {
		return "the broker of this process"
	}
	addresses := strings.Split(c.URL, ",")
	inLogin := false // the part before may begin a login whose password has a comma
	for i, address := range slices.Backward(addresses) {
		scheme, _, hasScheme := strings.Cut(address, "://")
		login := strings.LastIndexByte(address, '@')
		host := address[login+1:]
		if inLogin {
			host = withheld
		}
		if hasScheme && host != address {
			host = scheme + "://" + host
		}
		addresses[i] = host
		inLogin = !hasScheme && (inLogin || login >= 0)
	}
	return strings.Join(addresses, ", ")
}

// credentialOptions returns the login. The environment does not apply to a broker in the process.
func (c Config) credentialOptions() (options []nats.Option, err error) {
	if c.Provider != nil {
		return nil, nil
	}
	if err := c.checkFiles(); err != nil {
		return nil, err
	}
	if c.Credentials != "" {
		options = append(options, nats.UserCredentials(c.Credentials))
	}
	if c.NkeySeed != "" {
		option, err := nats.NkeyOptionFromSeed(c.NkeySeed)
		if err != nil {
			return nil, fmt.Errorf("BUS_NATS_NKEY: %w", err)
		}
		options = append(options, option)
	}
	if c.User != "" {
		options = append(options, nats.UserInfo(c.User, c.Password))
	}
	if c.Token != "" {
		options = append(options, nats.Token(c.Token))
	}
	if c.CA != "" {
		options = append(options, nats.RootCAs(c.CA))
	}
	if c.Cert != "" {
		options = append(options, nats.ClientCert(c.Cert, c.Key))
	}
	return options, nil
}

// checkFiles returns an error that names the variable of a file that cannot be read.
func (c Config) checkFiles() error {
	for _, each := range []struct{ name, file string }{
		{"BUS_NATS_CREDS", c.Credentials}, {"BUS_NATS_CA", c.CA}, {"BUS_NATS_CERT", c.Cert}, {"BUS_NATS_KEY", c.Key},
	} {
		if each.file == "" {
			continue
		}
		file, err := os.Open(each.file)
		if err != nil {
			return fmt.Errorf("%s: %w", each.name, err)
		}
		_ = file.Close() // nothing was written
	}
	return nil
}

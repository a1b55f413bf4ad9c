package broker

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	// DefaultMaxPayload is the largest message in bytes when [MaxPayload] is
	// not given: 1 MiB, as in a NATS server out of the box.
	DefaultMaxPayload = 1 << 20

	// maxMaxPayload is what the server buffers for one client; a larger
	// message could be accepted and never be delivered.
	maxMaxPayload = 64 << 20

	// pingInterval finds a dead peer within half a minute: two unanswered
	// pings end a connection. Clients of the bus ping as often.
	pingInterval = 10 * time.Second

	// loopback is listened on when an address names no host.
	loopback = "127.0.0.1"
)

// Option changes what [Start] runs. When one is given twice the last one wins.
type Option func(*settings) error

// Listen lets other processes connect over TCP, besides the connections over
// memory. The address is "host:port"; port 0 takes a free port, which
// [Broker.URL] tells. An empty host is 127.0.0.1: ":4222" stays on this
// machine. Without [Config] the broker asks for no credentials; name another host
// then, such as "0.0.0.0:4222", only on a network where everybody may call
// everything. Default: connections over memory alone.
func Listen(address string) Option {
	return func(s *settings) error {
		host, port, err := parseAddress(address)
		s.host, s.port = host, port
		return err
	}
}

// JetStream turns on NATS's storage (streams and key-value buckets) and keeps
// it in a directory, which is made when it is missing. What is stored is found
// again by a later broker on the same directory; two must not use one at the
// same time. Default: no JetStream.
func JetStream(directory string) Option {
	return func(s *settings) error {
		if directory == "" {
			return errors.New("JetStream: no directory; name one that this broker has for itself")
		}
		s.directory = directory
		return nil
	}
}

// MaxPayload sets the size in bytes of the largest message, headers included,
// from 1 byte to 64 MiB. Default: 1 MiB, [DefaultMaxPayload].
func MaxPayload(size int) Option {
	return func(s *settings) error {
		if size < 1 || size > maxMaxPayload {
			return fmt.Errorf("MaxPayload: %d bytes; choose 1 to %d", size, maxMaxPayload)
		}
		s.maxPayload = int32(size)
		return nil
	}
}

// settings is what the options add up to.
type settings struct {
	host       string // to listen on; "" listens nowhere
	port       int    // 0 is any free port
	directory  string // of JetStream; "" is no JetStream
	maxPayload int32  // bytes
	config     string // in nats-server's words; "" is none
}

// newSettings applies the options to the defaults and reports every fault.
func newSettings(options []Option) (*settings, error) {
	config := &settings{maxPayload: DefaultMaxPayload}
	var faults []error
	for _, option := range options {
		faults = append(faults, option(config))
	}
	return config, errors.Join(faults...)
}

// serverOptions puts the settings into the server's words. A monitoring port,
// clustering and logging to a file are off unless they are named.
func (s *settings) serverOptions() (*server.Options, error) {
	port := s.port
	if port == 0 {
		port = server.RANDOM_PORT
	}
	options := &server.Options{
		Host:                   s.host,
		Port:                   port,
		DontListen:             s.host == "",
		JetStream:              s.directory != "",
		StoreDir:               s.directory,
		MaxPayload:             s.maxPayload,
		PingInterval:           pingInterval,
		NoSigs:                 true, // signals belong to the program
		NoLog:                  true, // so does the terminal
		DisableJetStreamBanner: true,
	}
	return options, s.configure(options)
}

// parseAddress splits "host:port" and fills in the loopback host.
func parseAddress(address string) (host string, port int, err error) {
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("Listen(%q): %w; write host:port, such as 127.0.0.1:4222", address, err)
	}
	number, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("Listen(%q): port %q is not a number from 0 to 65535", address, service)
	}
	if host == "" {
		host = loopback
	}
	return host, int(number), nil
}

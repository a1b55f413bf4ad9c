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
	// DefaultMaxPayload is the largest message in bytes without [MaxPayload]: 1 MiB, the default of a NATS server.
	DefaultMaxPayload = 1 << 20

	// maxMaxPayload is the size of the server's buffer for one client. The server could accept a larger message and never
	// deliver it.
	maxMaxPayload = 64 << 20

	// maxStore is the number of bytes that JetStream may promise to streams, 1 TiB, without [Config]. The server's own
	// default is three quarters of the free disk, so it would refuse a small stream with a high limit on a small disk.
	maxStore = server.JetStreamMaxStoreDefault

	// pingInterval is the time between two pings of a client. Two unanswered pings end a connection, so a dead peer is
	// detected within half a minute. Clients of the bus use the same interval.
	pingInterval = 10 * time.Second

	// loopback is the host of an address without one.
	loopback = "127.0.0.1"
)

// Option configures [Start]. If an option is given twice the last one wins.
type Option func(*settings) error

// Listen lets other processes connect over TCP, in addition to in-memory connections. The address is "host:port"; port
// 0 selects a free port, see [Broker.URL]. An empty host is 127.0.0.1: ":4222" can be reached only from this machine.
// Without [Config] the broker asks for no credentials; use another host, such as "0.0.0.0:4222", only on a network
// where every client may call every service. Default: only in-memory connections.
func Listen(address string) Option {
	return func(s *settings) error {
		host, port, err := parseAddress(address)
		s.host, s.port = host, port
		return err
	}
}

// JetStream enables NATS's storage (streams and key-value buckets) in a directory, which it makes if absent. A later
// broker on the same directory finds the stored data; two brokers must not use one at the same time. The disk limits
// what is stored; [Config] with jetstream { max_file_store: 10GB } sets a lower limit. Default: no JetStream.
func JetStream(directory string) Option {
	return func(s *settings) error {
		if directory == "" {
			return errors.New("JetStream: no directory; name one that this broker has for itself")
		}
		s.directory = directory
		return nil
	}
}

// SyncAlways has JetStream write what it stores to the disk before it confirms that, so that a power cut loses nothing
// that was confirmed. That costs a write to the disk for each, see docs/understand/promises.md. It needs [JetStream].
// Default: see [SyncInterval].
func SyncAlways() Option {
	return func(s *settings) error {
		s.syncAlways = true
		return nil
	}
}

// SyncInterval sets how often JetStream writes what it stores to the disk: a power cut loses what was stored since. The
// end of the process alone loses nothing. It needs [JetStream]. Default: 2 minutes, the default of a NATS server.
func SyncInterval(period time.Duration) Option {
	return func(s *settings) error {
		if period <= 0 {
			return fmt.Errorf("SyncInterval: %s is no period: for none use SyncAlways", period)
		}
		s.syncInterval = period
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

// settings are the combined options.
type settings struct {
	host       string // to listen on; "" does not listen
	port       int    // 0 is any free port
	directory  string // of JetStream; "" disables it
	maxPayload int32  // bytes
	config     string // text of a nats-server configuration; "" for none

	syncAlways   bool
	syncInterval time.Duration // 0: the server's default
}

// newSettings applies the options to the defaults and returns all errors.
func newSettings(options []Option) (*settings, error) {
	config := &settings{maxPayload: DefaultMaxPayload}
	var errs []error
	for i, option := range options {
		if option == nil {
			errs = append(errs, fmt.Errorf("option %d is nil: leave it out", i+1))
			continue
		}
		errs = append(errs, option(config))
	}
	return config, errors.Join(append(errs, config.checkSync())...)
}

// checkSync returns an error for options about a disk that nothing is written to, or that contradict each other.
func (s *settings) checkSync() error {
	switch {
	case !s.syncAlways && s.syncInterval == 0:
		return nil
	case s.syncAlways && s.syncInterval != 0:
		return errors.New("SyncAlways and SyncInterval are both given: choose one")
	case s.directory == "":
		return errors.New("SyncAlways and SyncInterval are about a disk: add JetStream with a directory")
	default:
		return nil
	}
}

// serverOptions converts the settings to options of the server. A monitoring port, clustering and logging to a file are
// off unless they are set.
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
		SyncAlways:             s.syncAlways,
		SyncInterval:           s.syncInterval,
		JetStreamMaxStore:      maxStore,
		MaxPayload:             s.maxPayload,
		PingInterval:           pingInterval,
		NoSigs:                 true, // the program handles signals
		NoLog:                  true, // the program owns the terminal
		DisableJetStreamBanner: true,
	}
	return options, s.configure(options)
}

// parseAddress splits "host:port", with loopback as the default host.
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

package broker

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

// Config sets options in the language of nats-server's configuration file: users and their permissions, TLS, and the
// rest. It takes the text of such a file, not its name; files that it names are relative to
// the working directory of the process. It overrides other options, except that only [Listen] decides which address
// clients reach. If it names users, an in-memory connection needs a password, too. bus.WithBroker has none: use
// bus.WithNATS with a connection that has nats.UserInfo. Over TCP, with Listen, a wrong password is refused sooner
// and with a clearer message. Default: none.
//
//	broker.Config(`authorization { users: [ { user: "checkout", password: "secret", permissions { … } } ] }`)
//
// (*bus.Conn).Permissions prints the permissions of a service.
func Config(text string) Option {
	return func(s *settings) error {
		if strings.TrimSpace(text) == "" {
			return errors.New("Config: the text is empty; leave the option out")
		}
		if err := new(server.Options).ProcessConfigString(text); err != nil {
			return fmt.Errorf("Config: %w", err)
		}
		s.config = text
		return nil
	}
}

// configure applies the text of Config on top of the other options.
func (s *settings) configure(options *server.Options) error {
	if s.config == "" {
		return nil
	}
	host, port := options.Host, options.Port
	if err := options.ProcessConfigString(s.config); err != nil {
		return fmt.Errorf("Config: %w", err)
	}
	options.Host, options.Port = host, port
	if options.DontListen && options.Cluster.Port != 0 { // the server would wait for its own address for good
		return errors.New("Config: a cluster needs an address for clients: add Listen")
	}
	return nil
}

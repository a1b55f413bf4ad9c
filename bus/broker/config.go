package broker

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

// Config takes settings in the words of nats-server's configuration file: users and what they may publish and subscribe
// to, TLS, and the rest. The text is that of a file, not its name; files that it names are read from where the process
// runs. What it says wins over other options, except that [Listen] alone decides which address clients reach. When it
// names users, a connection over memory needs the password of one, too; over TCP, with Listen, a wrong one is refused
// sooner and in clearer words. Default: none.
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

// configure puts what Config was given on top of the other options.
func (s *settings) configure(options *server.Options) error {
	if s.config == "" {
		return nil
	}
	host, port := options.Host, options.Port
	if err := options.ProcessConfigString(s.config); err != nil {
		return fmt.Errorf("Config: %w", err)
	}
	options.Host, options.Port = host, port
	return nil
}

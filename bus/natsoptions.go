package bus

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/nats-io/nats.go"
)

// natsOptions returns the settings that were measured to suit calls: never give up reconnecting, try often,
// notice a dead peer in seconds, and keep nothing for later: a request in a reconnect buffer would run long
// after its caller gave up.
func (l *link) natsOptions(name string, config *connectConfig) ([]nats.Option, error) {
	options := []nats.Option{
		nats.Name(name),
		nats.MaxReconnects(-1),
		nats.IgnoreAuthErrorAbort(), // or two refusals in a row would end it for good
		nats.CustomReconnectDelay(l.reconnectDelay),
		nats.ReconnectBufSize(-1),
		nats.PingInterval(5 * time.Second),
		nats.MaxPingsOutstanding(2),
		nats.ErrorHandler(l.report),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { l.logDisconnect(err) }),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { l.retryFailed(err) }),
		nats.ReconnectHandler(func(connection *nats.Conn) {
			l.retries.forget()
			l.log(l.logger.Info().Str("url", connection.ConnectedUrlRedacted()), "broker is back")
		}),
		nats.LameDuckModeHandler(func(*nats.Conn) { l.log(l.logger.Info(), "broker is about to shut down") }),
	}
	credentials, err := config.linkConfig.credentialOptions()
	return append(options, credentials...), err
}

// Pauses between attempts to reach the broker again, all of which is chance, so that not all clients come at once.
const (
	soonAgain  = 100 * time.Millisecond // on average, while a restart may be all that it is
	laterAgain = 400 * time.Millisecond // on average, from then on
	soonTries  = 50
)

// reconnectDelay returns how long to wait when no broker could be reached, so many times in a row. Of one that was reached, but
// ended the connection before it was ready, as when a certificate is wrong, the broker client tells the reason only here.
func (l *link) reconnectDelay(tries int) time.Duration {
	if connection := l.conn(); connection != nil {
		l.retryFailed(connection.LastError())
	}
	average := laterAgain
	if tries <= soonTries {
		average = soonAgain
	}
	return average/2 + rand.N(average) //nolint:gosec // spreading is no secret
}

// report takes what the broker client tells of a connection of ours.
func (l *link) report(connection *nats.Conn, subscription *nats.Subscription, err error) {
	if isRefusal(err) {
		l.testify(err)
	}
	if denied, ok := denialOf(err); ok {
		l.deny(denied)
		return
	}
	if errors.Is(err, nats.ErrMaxSubscriptionsExceeded) { // which is told of each
		if l.denials.add(denial{subject: everySubject}) {
			l.log(l.logger.Error(), l.tooManySubscriptions(err).Error())
		}
		return
	}
	if errors.Is(err, nats.ErrSlowConsumer) {
		for _, member := range l.members() {
			member.lookForOverflow()
		}
		return
	}
	if isRefusedLogin(err) || !connection.IsConnected() { // of an attempt, as when our certificate has expired
		l.retryFailed(err)
		return
	}
	event := l.logger.Error().Err(err)
	if subscription != nil {
		event = event.Str("subject", subscription.Subject)
	}
	l.log(event, "error of the broker connection")
}

func (l *link) logDisconnect(err error) {
	if err != nil { // nil: we closed it
		l.log(l.logger.Warn().Err(err), "broker is out of reach")
	}
}

func (c linkConfig) credentialOptions() (options []nats.Option, err error) {
	if c.provider != nil { // what the environment says is about another broker
		return nil, nil
	}
	if err := c.checkFiles(); err != nil {
		return nil, err
	}
	if c.credentials != "" {
		options = append(options, nats.UserCredentials(c.credentials))
	}
	if c.nkeySeed != "" {
		option, err := nats.NkeyOptionFromSeed(c.nkeySeed)
		if err != nil {
			return nil, fmt.Errorf("BUS_NATS_NKEY: %w", err)
		}
		options = append(options, option)
	}
	if c.user != "" {
		options = append(options, nats.UserInfo(c.user, c.password))
	}
	if c.token != "" {
		options = append(options, nats.Token(c.token))
	}
	if c.ca != "" {
		options = append(options, nats.RootCAs(c.ca))
	}
	if c.cert != "" {
		options = append(options, nats.ClientCert(c.cert, c.key))
	}
	return options, nil
}

// checkFiles names the variable of a file that cannot be read.
func (c linkConfig) checkFiles() error {
	for _, each := range []struct{ name, file string }{
		{"BUS_NATS_CREDS", c.credentials}, {"BUS_NATS_CA", c.ca}, {"BUS_NATS_CERT", c.cert}, {"BUS_NATS_KEY", c.key},
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

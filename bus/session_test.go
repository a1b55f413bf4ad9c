package bus_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
)

// login opens a session of a user.
func (e *enforcing) login(user string) *session {
	e.t.Helper()
	conn, err := new(net.Dialer).DialContext(e.t.Context(), "tcp", e.url.Host)
	require.NoError(e.t, err)
	e.t.Cleanup(func() { _ = conn.Close() })
	s := &session{t: e.t, conn: conn, reader: bufio.NewReader(conn)}
	if said := s.say(fmt.Sprintf(`CONNECT {"verbose":false,"user":%q,"pass":"secret"}`, user)); len(said) != 0 {
		e.t.Fatalf("login of %s: %s", user, said)
	}
	return s
}

// session speaks the broker's own protocol, so that each refusal is heard before the next step.
type session struct {
	t      *testing.T
	conn   net.Conn
	reader *bufio.Reader
	number int // of subscriptions
	heard  []delivery
}

// operation is what the broker allows or denies.
type operation struct {
	verb           string // "PUB", "SUB"
	subject, queue string
}

func (o operation) String() string {
	return strings.TrimSpace(o.verb + " " + o.subject + " " + o.queue)
}

// allows does an operation and reports whether the broker lets it pass.
func (s *session) allows(o operation) bool {
	s.t.Helper()
	refused := s.publish(o.subject, "", "")
	if o.verb == "SUB" {
		refused = s.subscribe(o.subject, o.queue)
	}
	if len(refused) > 0 && !strings.Contains(refused[0], o.subject) {
		s.t.Errorf("%s: %s", o, refused)
	}
	return len(refused) == 0
}

func (s *session) publish(to, reply, body string) (refused []string) {
	s.t.Helper()
	return s.say(fmt.Sprintf("PUB %s %s %d\r\n%s", to, reply, len(body), body))
}

func (s *session) subscribe(to, queue string) (refused []string) {
	s.t.Helper()
	s.number++
	return s.say(fmt.Sprintf("SUB %s %s %d", to, queue, s.number))
}

// say sends a command and returns what the broker objects to it. Messages that come meanwhile are kept.
func (s *session) say(command string) (refused []string) {
	s.t.Helper()
	_, err := io.WriteString(s.conn, command+"\r\nPING\r\n")
	require.NoError(s.t, err)
	for {
		verb, rest := s.line()
		switch verb {
		case "PONG":
			return refused
		case "-ERR":
			refused = append(refused, rest)
		}
	}
}

// next waits for a message.
func (s *session) next() delivery {
	s.t.Helper()
	for len(s.heard) == 0 {
		s.line()
	}
	first := s.heard[0]
	s.heard = s.heard[1:]
	return first
}

// line reads a line of the broker's, and keeps the message that may come with it.
func (s *session) line() (verb, rest string) {
	s.t.Helper()
	text, err := s.reader.ReadString('\n')
	require.NoError(s.t, err)
	verb, rest, _ = strings.Cut(strings.TrimSpace(text), " ")
	if verb != "MSG" {
		return verb, rest
	}
	fields := strings.Fields(rest) // subject, number of the subscription, perhaps a reply subject, size
	body := make([]byte, number(s.t, fields[len(fields)-1])+len("\r\n"))
	_, err = io.ReadFull(s.reader, body)
	require.NoError(s.t, err)
	message := delivery{subject: fields[0], text: strings.TrimSuffix(string(body), "\r\n")}
	if len(fields) == 4 {
		message.reply = fields[2]
	}
	s.heard = append(s.heard, message)
	return verb, rest
}

// delivery is a message of the broker's.
type delivery struct{ subject, reply, text string }

func number(t *testing.T, digits string) int {
	t.Helper()
	n, err := strconv.Atoi(digits)
	require.NoError(t, err)
	return n
}

// TestSession_CallersAreReminded has calls take longer than callers wait without a timer, and less, and be left at any
// time.
func TestSession_CallersAreReminded(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, b *bubble) {
		k, caller := newKeeping(t, b.testBus)
		slowly := bus.NewOperation[single, doubled](caller, keeperURL+"/double-slowly")
		for wait := time.Millisecond; wait < time.Minute/4; wait *= 3 {
			var calling sync.WaitGroup
			calling.Go(func() {
				response, err := slowly.Call(t.Context(), single{21})
				assert.NoError(t, err, "after %s", wait)
				assert.Equal(t, 42, response.Results.Doubled, "after %s", wait)
			})
			<-k.entered
			time.Sleep(wait)
			k.release <- struct{}{}
			calling.Wait()

			ctx, leave := context.WithTimeout(t.Context(), wait)
			calling.Go(func() {
				if _, err := slowly.Call(ctx, single{21}); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("left after %s: %v", wait, err)
				}
			})
			<-k.entered
			began := time.Now()
			calling.Wait()
			leave()
			if waited := time.Since(began); waited > wait {
				t.Errorf("a caller with %s has waited for %s", wait, waited)
			}
			k.release <- struct{}{}
		}
	})
}

// TestSession_RenewedClientCertificate has the broker come back when the certificate of the service is no longer taken,
// and then renews it in place. The environment belongs to the process, so it does not run beside others.
func TestSession_RenewedClientCertificate(t *testing.T) {
	here := net.IPv4(127, 0, 0, 1)
	authority := certify(t, nil)
	server, client := certify(t, authority, here), certify(t, authority)
	t.Setenv("BUS_NATS_CA", authority.file)
	t.Setenv("BUS_NATS_CERT", client.file)
	t.Setenv("BUS_NATS_KEY", client.keyIn)
	start := func(address string) *broker.Broker {
		started, err := broker.Start(broker.Listen(address), broker.Config(fmt.Sprintf(
			"tls { cert_file: %q, key_file: %q, ca_file: %q, verify: true }", server.file, server.keyIn, authority.file)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(started.Close)
		return started
	}
	before := start("127.0.0.1:0")
	log := new(journal)
	conn, err := bus.Connect(t.Context(), "one.example", bus.WithURL(before.URL()), bus.WithLogger(zerolog.New(log)))
	require.NoError(t, err)
	defer closeConn(t, conn)
	_, address, _ := strings.Cut(before.URL(), "://")
	before.Close()
	renew(t, client, certify(t, certify(t, nil)))
	start(address)
	log.await(t, "remote error: tls")
	renew(t, client, certify(t, authority))
	log.await(t, "broker is back")
}

// renew puts another certificate, and its key, where there was one.
func renew(t *testing.T, old, renewed *certified) {
	t.Helper()
	for from, to := range map[string]string{renewed.file: old.file, renewed.keyIn: old.keyIn} {
		require.NoError(t, os.Rename(from, to))
	}
}

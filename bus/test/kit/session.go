package kit

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Login opens a session of a user.
func (e *Enforcing) Login(user string) *Session {
	e.T.Helper()
	conn, err := new(net.Dialer).DialContext(e.T.Context(), "tcp", e.URL.Host)
	require.NoError(e.T, err)
	e.T.Cleanup(func() { _ = conn.Close() })
	s := &Session{t: e.T, Conn: conn, reader: bufio.NewReader(conn)}
	if said := s.Say(fmt.Sprintf(`CONNECT {"verbose":false,"user":%q,"pass":"secret"}`, user)); len(said) != 0 {
		e.T.Fatalf("login of %s: %s", user, said)
	}
	return s
}

// Session speaks the broker's own protocol, so that each refusal is heard before the next step.
type Session struct {
	t      *testing.T
	Conn   net.Conn
	reader *bufio.Reader
	number int // of subscriptions
	inbox  []Delivery
}

// Operation is what the broker allows or denies.
type Operation struct {
	Verb           string // "PUB", "SUB"
	Subject, Queue string
}

// String writes it as the broker's protocol does.
func (o Operation) String() string {
	return strings.TrimSpace(o.Verb + " " + o.Subject + " " + o.Queue)
}

// Allows does an operation and reports whether the broker lets it pass.
func (s *Session) Allows(o Operation) bool {
	s.t.Helper()
	refused := s.Publish(o.Subject, "", "")
	if o.Verb == "SUB" {
		refused = s.Subscribe(o.Subject, o.Queue)
	}
	if len(refused) > 0 && !strings.Contains(refused[0], o.Subject) {
		s.t.Errorf("%s: %s", o, refused)
	}
	return len(refused) == 0
}

// Publish publishes and returns what the broker objects.
func (s *Session) Publish(to, reply, body string) (refused []string) {
	s.t.Helper()
	return s.Say(fmt.Sprintf("PUB %s %s %d\r\n%s", to, reply, len(body), body))
}

// Subscribe subscribes and returns what the broker objects.
func (s *Session) Subscribe(to, queue string) (refused []string) {
	s.t.Helper()
	s.number++
	return s.Say(fmt.Sprintf("SUB %s %s %d", to, queue, s.number))
}

// Say sends a command and returns what the broker objects to it. Messages that come meanwhile are kept.
func (s *Session) Say(command string) (refused []string) {
	s.t.Helper()
	_, err := io.WriteString(s.Conn, command+"\r\nPING\r\n")
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

// Next waits for a message.
func (s *Session) Next() Delivery {
	s.t.Helper()
	for len(s.inbox) == 0 {
		s.line()
	}
	first := s.inbox[0]
	s.inbox = s.inbox[1:]
	return first
}

// line reads a line of the broker's, and keeps the message that may come with it.
func (s *Session) line() (verb, rest string) {
	s.t.Helper()
	text, err := s.reader.ReadString('\n')
	require.NoError(s.t, err)
	verb, rest, _ = strings.Cut(strings.TrimSpace(text), " ")
	if verb != "MSG" {
		return verb, rest
	}
	fields := strings.Fields(rest) // subject, number of the subscription, perhaps a reply subject, size
	body := make([]byte, Number(s.t, fields[len(fields)-1])+len("\r\n"))
	_, err = io.ReadFull(s.reader, body)
	require.NoError(s.t, err)
	message := Delivery{subject: fields[0], text: strings.TrimSuffix(string(body), "\r\n")}
	if len(fields) == 4 {
		message.Reply = fields[2]
	}
	s.inbox = append(s.inbox, message)
	return verb, rest
}

// Delivery is a message of the broker's.
type Delivery struct{ subject, Reply, text string }

// Number reads digits.
func Number(t *testing.T, digits string) int {
	t.Helper()
	n, err := strconv.Atoi(digits)
	require.NoError(t, err)
	return n
}

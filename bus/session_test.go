package bus_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
)

// login opens a session of a user.
func (e *enforcing) login(user string) *session {
	e.t.Helper()
	conn, err := new(net.Dialer).DialContext(e.t.Context(), "tcp", e.url.Host)
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { _ = conn.Close() })
	s := &session{t: e.t, conn: conn, reader: bufio.NewReader(conn)}
	if said := s.say(fmt.Sprintf(`CONNECT {"verbose":false,"user":%q,"pass":"secret","headers":true,"no_responders":true}`, user)); len(said) != 0 {
		e.t.Fatalf("login of %s: %s", user, said)
	}
	return s
}

// session speaks the broker's own protocol, so that each refusal is heard before the next step.
type session struct {
	t      *testing.T
	conn   net.Conn
	reader *bufio.Reader
	number int      // of subscriptions
	heard  []string // the subjects and bodies of messages
}

// operation is what the broker allows or denies.
type operation struct {
	verb           string // "PUB", "SUB"
	subject, queue string
}

func (o operation) String() string {
	return strings.TrimSpace(o.verb + " " + o.subject + " " + o.queue)
}

// allows does an operation and tells whether the broker lets it pass.
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
	if _, err := io.WriteString(s.conn, command+"\r\nPING\r\n"); err != nil {
		s.t.Fatal(err)
	}
	for {
		line, err := s.reader.ReadString('\n')
		if err != nil {
			s.t.Fatalf("%s: %v", command, err)
		}
		switch verb, rest, _ := strings.Cut(strings.TrimSpace(line), " "); verb {
		case "PONG":
			return refused
		case "-ERR":
			refused = append(refused, rest)
		case "MSG", "HMSG":
			fields := strings.Fields(rest)
			body := make([]byte, number(s.t, fields[len(fields)-1])+len("\r\n"))
			if _, err := io.ReadFull(s.reader, body); err != nil {
				s.t.Fatal(err)
			}
			s.heard = append(s.heard, fields[0]+" "+strings.TrimSpace(string(body)))
		}
	}
}

func number(t *testing.T, digits string) int {
	t.Helper()
	n, err := strconv.Atoi(digits)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

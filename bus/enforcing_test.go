package bus_test

import (
	"context"
	"fmt"
	"net/url"
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

// enforcing is a broker that lets in who has a name and a password, and holds each to its permissions.
type enforcing struct {
	t   *testing.T
	url *url.URL
	log *journal // of all connections made with connect
}

// newEnforcing starts one for these users: a name, and the block of permissions, "" for everything. The password of all
// is "secret".
func newEnforcing(t *testing.T, users map[string]string, options ...broker.Option) *enforcing {
	t.Helper()
	var list strings.Builder
	for name, permissions := range users {
		fmt.Fprintf(&list, "{ user: %q, password: %q\n%s }\n", name, "secret", permissions)
	}
	options = append(options, broker.Listen("127.0.0.1:0"))
	if len(users) > 0 {
		options = append(options, broker.Config("authorization { users: [\n"+list.String()+"] }"))
	}
	return startEnforcing(t, options...)
}

// startEnforcing starts a broker that has its users already.
func startEnforcing(t *testing.T, options ...broker.Option) *enforcing {
	t.Helper()
	started, err := broker.Start(options...)
	require.NoError(t, err)
	t.Cleanup(started.Close)
	address, err := url.Parse(started.URL())
	require.NoError(t, err)
	return &enforcing{t: t, url: address, log: new(journal)}
}

// as returns the broker's address for a user.
func (e *enforcing) as(user string) string {
	address := *e.url
	address.User = url.UserPassword(user, "secret")
	return address.String()
}

// connect joins the bus as a host, with the user that is named like it.
func (e *enforcing) connect(host string, options ...bus.ConnectOption) *bus.Conn {
	e.t.Helper()
	conn, err := bus.Connect(e.t.Context(), host, append([]bus.ConnectOption{
		bus.WithURL(e.as(host)), bus.WithPlane("bus"), bus.WithAckWait(10 * time.Second), bus.WithLogger(zerolog.New(e.log)),
	}, options...)...)
	require.NoError(e.t, err)
	e.t.Cleanup(func() {
		assert.NoError(e.t, conn.Close(context.Background()))
	})
	return conn
}

// journal is a log that a test reads.
type journal struct {
	mu   sync.Mutex // protects all below
	text strings.Builder
	news chan struct{} // closed at the next line; nil when no caller waits for it
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.news != nil {
		close(j.news)
		j.news = nil
	}
	return j.text.Write(line)
}

// await returns the first line that holds a word, which may be yet to come.
func (j *journal) await(t *testing.T, word string) string {
	t.Helper()
	for {
		news := j.next()
		if found := j.lines(word); len(found) > 0 {
			return found[0]
		}
		await(t, "a line with "+word, news)
	}
}

// next returns a channel that is closed at the next line.
func (j *journal) next() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.news == nil {
		j.news = make(chan struct{})
	}
	return j.news
}

// lines returns the lines that hold a word.
func (j *journal) lines(word string) (found []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for line := range strings.Lines(j.text.String()) {
		if strings.Contains(strings.ToLower(line), word) {
			found = append(found, line)
		}
	}
	return found
}

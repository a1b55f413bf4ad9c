package kit

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
)

// Guarded is a bus whose broker lets a user named guest do only some things.
type Guarded struct {
	T   *testing.T
	URL string // with the user and the password
	Log *Lines
}

// NewGuarded starts a broker that holds the guest to a block of permissions, without its braces.
func NewGuarded(t *testing.T, permissions string) *Guarded {
	t.Helper()
	started, err := broker.Start(broker.Listen("127.0.0.1:0"), broker.Config(fmt.Sprintf(`authorization { users: [
		{ user: guest, password: secret, permissions: { %s } }
		{ user: owner, password: secret }
	] }`, permissions)))
	require.NoError(t, err)
	t.Cleanup(started.Close)
	return &Guarded{T: t, URL: started.URL(), Log: new(Lines)}
}

func (g *Guarded) as(user string) string {
	return strings.Replace(g.URL, "://", "://"+user+":secret@", 1)
}

func (g *Guarded) connect(user, host string, options ...bus.ConnectOption) (*bus.Conn, error) {
	return g.ConnectWith(host, append(options, bus.WithURL(g.as(user)))...)
}

// ConnectWith leaves it to the options as whom to connect.
func (g *Guarded) ConnectWith(host string, options ...bus.ConnectOption) (*bus.Conn, error) {
	g.T.Helper()
	conn, err := bus.Connect(g.T.Context(), host,
		append(options, bus.WithPlane("bus"), bus.WithLogger(zerolog.New(g.Log)))...)
	if err == nil {
		g.T.Cleanup(func() {
			assert.NoError(g.T, conn.Close(context.Background()))
		})
	}
	return conn, err
}

// MustConnect connects a host as a user.
func (g *Guarded) MustConnect(user, host string, options ...bus.ConnectOption) *bus.Conn {
	g.T.Helper()
	conn, err := g.connect(user, host, options...)
	require.NoError(g.T, err)
	return conn
}

// Given returns a connection of the application's own.
func (g *Guarded) Given(user string) bus.ConnectOption {
	g.T.Helper()
	connection, err := nats.Connect(g.as(user), nats.ReconnectBufSize(-1), nats.ReconnectWait(time.Millisecond),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	require.NoError(g.T, err)
	g.T.Cleanup(connection.Close)
	return bus.WithNATS(connection)
}

// Both are the ways in which the guest connects: a connection of ours and one that was given.
func (g *Guarded) Both() map[string][]bus.ConnectOption {
	return map[string][]bus.ConnectOption{"our own": {bus.WithURL(g.as("guest"))}, "given": {g.Given("guest")}}
}

// Enforcing is a broker that lets in who has a name and a password, and holds each to its permissions.
type Enforcing struct {
	T   *testing.T
	URL *url.URL
	Log *Lines // of all connections made with connect
}

// NewEnforcing starts one for these users: a name, and the block of permissions, "" for everything. The password of all
// is "secret".
func NewEnforcing(t *testing.T, users map[string]string, options ...broker.Option) *Enforcing {
	t.Helper()
	var list strings.Builder
	for name, permissions := range users {
		fmt.Fprintf(&list, "{ user: %q, password: %q\n%s }\n", name, "secret", permissions)
	}
	options = append(options, broker.Listen("127.0.0.1:0"))
	if len(users) > 0 {
		options = append(options, broker.Config("authorization { users: [\n"+list.String()+"] }"))
	}
	return StartEnforcing(t, options...)
}

// StartEnforcing starts a broker that has its users already.
func StartEnforcing(t *testing.T, options ...broker.Option) *Enforcing {
	t.Helper()
	started, err := broker.Start(options...)
	require.NoError(t, err)
	t.Cleanup(started.Close)
	address, err := url.Parse(started.URL())
	require.NoError(t, err)
	return &Enforcing{T: t, URL: address, Log: new(Lines)}
}

// As returns the broker's address for a user.
func (e *Enforcing) As(user string) string {
	address := *e.URL
	address.User = url.UserPassword(user, "secret")
	return address.String()
}

// Connect joins the bus as a host, with the user that is named like it.
func (e *Enforcing) Connect(host string, options ...bus.ConnectOption) *bus.Conn {
	e.T.Helper()
	conn, err := bus.Connect(e.T.Context(), host, append([]bus.ConnectOption{
		bus.WithURL(e.As(host)), bus.WithPlane("bus"), bus.WithAckWait(10 * time.Second), bus.WithLogger(zerolog.New(e.Log)),
	}, options...)...)
	require.NoError(e.T, err)
	e.T.Cleanup(func() {
		assert.NoError(e.T, conn.Close(context.Background()))
	})
	return conn
}

// PrintedFor returns the block of a host that was set up, and calls some others.
func PrintedFor(t *testing.T, host string, options []bus.ConnectOption, setUp func(*bus.Conn),
	callees ...string) string {
	t.Helper()
	conn := NewEnforcing(t, nil).Connect(host, options...)
	setUp(conn)
	granted, err := conn.Permissions(callees...)
	require.NoError(t, err)
	return granted.String()
}

// Profiles are the ways to answer: on the response subject, or where allow_responses lets one.
func Profiles() map[string][]bus.ConnectOption {
	return map[string][]bus.ConnectOption{
		"responses to all": nil,
		"allow_responses":  {bus.WithAllowResponses()},
	}
}

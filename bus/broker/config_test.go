package broker_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/broker"
)

const oneUser = `authorization { users: [ { user: "a", password: "p", permissions {
	publish { allow: ["own"] }, subscribe { allow: ["own queue"] }
} } ] }`

// TestConfig_Users holds that clients need a password, in-memory connections included.
func TestConfig_Users(t *testing.T) {
	t.Parallel()
	embedded := start(t, broker.Listen("127.0.0.1:0"), broker.Config(oneUser))
	connect(t, embedded.URL(), nats.UserInfo("a", "p"))
	connect(t, "", nats.InProcessServer(embedded), nats.UserInfo("a", "p"))
	for _, wrong := range []nats.Option{nats.UserInfo("a", "wrong"), nats.UserInfo("b", "p"), nats.Name("anonymous")} {
		if _, err := nats.Connect(embedded.URL(), wrong); !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("a client without the password got %v", err)
		}
	}
}

// TestConfig_Permissions holds that the broker denies what the permissions do not allow. The client learns of a denial
// later, through its error handler.
func TestConfig_Permissions(t *testing.T) {
	t.Parallel()
	embedded := start(t, broker.Config(oneUser))
	failed := make(chan error, 8)
	conn := connect(t, "", nats.InProcessServer(embedded), nats.UserInfo("a", "p"),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { failed <- err }))
	for _, subject := range []string{"own", "other"} {
		require.NoError(t, conn.Publish(subject, nil))
		_, err := conn.QueueSubscribe(subject, "queue", func(*nats.Msg) {})
		require.NoError(t, err)
	}
	require.NoError(t, conn.Flush())
	for _, want := range []string{`Publish to "other"`, `Subscription to "other" using queue "queue"`} {
		err := <-failed
		assert.ErrorIs(t, err, nats.ErrPermissionViolation)
		assert.ErrorContains(t, err, want)
	}
	if len(failed) != 0 {
		t.Errorf("what is allowed was denied: %v", <-failed)
	}
}

// TestConfig_BesideOptions holds that only Listen decides which address the broker is bound to.
func TestConfig_BesideOptions(t *testing.T) {
	t.Parallel()
	elsewhere := broker.Config("listen: \"0.0.0.0:4222\"\nmax_payload: 2048")
	if url := start(t, elsewhere).URL(); url != "" {
		t.Errorf("listens on %s without Listen", url)
	}
	embedded := start(t, elsewhere, broker.Listen("127.0.0.1:0"), broker.MaxPayload(4096))
	address := broker.BoundTo(embedded).String()
	assert.True(t, strings.HasPrefix(address, "127.0.0.1:"), address)
	assert.False(t, strings.HasSuffix(address, ":4222"), address)
	if limit := connect(t, embedded.URL()).MaxPayload(); limit != 2048 {
		t.Errorf("the largest message has %d bytes, want 2048, as in the text", limit)
	}
}

func TestConfig_Refuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		" \n":                      "broker: Config: the text is empty; leave the option out",
		"authorisation { }":        `broker: Config: `,
		"authorization { users: [": "broker: Config: ",
		`server_name: a, cluster { name: c, listen: "127.0.0.1:-1" }`:                                  "broker: Config: a cluster needs an address for clients: add Listen",
		`authorization { users: [ { user: "a", password: "p", permissions { publish: ["a..b"] } } ] }`: `"a..b"`,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			embedded, err := broker.Start(broker.Config(text))
			if err == nil {
				embedded.Close()
				t.Fatal("started")
			}
			if !strings.Contains(err.Error(), want) {
				t.Error(err)
			}
		})
	}
}

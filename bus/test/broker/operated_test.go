package broker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/broker"
)

// operated is a broker whose users are not in its configuration: it believes what is signed by an account that its
// operator has signed.
type operated struct {
	t                *testing.T
	operator         nkeys.KeyPair
	account, foreign nkeys.KeyPair // the broker knows nothing of the foreign one
	claims           *jwt.AccountClaims
	url              string
	system           *nats.Conn // may change what the broker knows of the account
}

// newOperated starts one.
func newOperated(t *testing.T) *operated {
	t.Helper()
	o := &operated{t: t, operator: newKeys(t, nkeys.CreateOperator), account: newKeys(t, nkeys.CreateAccount),
		foreign: newKeys(t, nkeys.CreateAccount)}
	o.claims = jwt.NewAccountClaims(o.public(o.account))
	system := newKeys(t, nkeys.CreateAccount)
	started, err := broker.Start(broker.Listen("127.0.0.1:0"), broker.Config(fmt.Sprintf(
		"operator: %s\nsystem_account: %s\nresolver { type: full, dir: %q }\nresolver_preload { %s: %s, %s: %s }",
		o.sign(jwt.NewOperatorClaims(o.public(o.operator)), o.operator), o.public(system), t.TempDir(),
		o.public(system), o.sign(jwt.NewAccountClaims(o.public(system)), o.operator), o.public(o.account),
		o.sign(o.claims, o.operator))))
	require.NoError(t, err)
	t.Cleanup(started.Close)
	o.url = started.URL()
	file := filepath.Join(t.TempDir(), "system.creds")
	o.newUser(file, system, nil)
	o.system, err = nats.Connect(o.url, nats.UserCredentials(file))
	require.NoError(t, err)
	t.Cleanup(o.system.Close)
	return o
}

func newKeys(t *testing.T, create func() (nkeys.KeyPair, error)) nkeys.KeyPair {
	t.Helper()
	made, err := create()
	require.NoError(t, err)
	return made
}

func (o *operated) public(keys nkeys.KeyPair) string {
	o.t.Helper()
	public, err := keys.PublicKey()
	require.NoError(o.t, err)
	return public
}

func (o *operated) sign(claims jwt.Claims, by nkeys.KeyPair) string {
	o.t.Helper()
	signed, err := claims.Encode(by)
	require.NoError(o.t, err)
	return signed
}

// newUser writes the credentials of a new user to a file, and returns its public key.
func (o *operated) newUser(file string, account nkeys.KeyPair, change func(*jwt.UserClaims)) (public string) {
	o.t.Helper()
	keys := newKeys(o.t, nkeys.CreateUser)
	claims := jwt.NewUserClaims(o.public(keys))
	if change != nil {
		change(claims)
	}
	seed, err := keys.Seed()
	require.NoError(o.t, err)
	credentials, err := jwt.FormatUserConfig(o.sign(claims, account), seed)
	if err == nil {
		err = os.WriteFile(file, credentials, 0o600)
	}
	require.NoError(o.t, err)
	return o.public(keys)
}

// revoke tells the broker that what a user was given does not count any more.
func (o *operated) revoke(user string) {
	o.t.Helper()
	o.claims.Revoke(user)
	answer, err := o.system.Request("$SYS.REQ.CLAIMS.UPDATE", []byte(o.sign(o.claims, o.operator)), time.Minute)
	require.NoError(o.t, err)
	require.Contains(o.t, string(answer.Data), `"code":200`)
}

package bus_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
)

// TestStartup_WithUserJWT lets in whose account has signed, and fails at once otherwise. The environment belongs to the
// process, so it does not run beside others, as all of this file.
func TestStartup_WithUserJWT(t *testing.T) {
	o := newOperated(t)
	const refused = "nats: Authorization Violation"
	file := filepath.Join(t.TempDir(), "user.creds")
	for name, test := range map[string]struct {
		write func()
		want  string
	}{
		"good": {func() { o.newUser(file, o.account, nil) }, ""},
		"expires later": {func() {
			o.newUser(file, o.account, func(c *jwt.UserClaims) { c.Expires = time.Now().Add(time.Hour).Unix() })
		}, ""},
		"expired": {func() { o.newUser(file, o.account, func(c *jwt.UserClaims) { c.Expires = time.Now().Unix() - 1 }) }, refused},
		"not valid yet": {func() {
			o.newUser(file, o.account, func(c *jwt.UserClaims) { c.NotBefore = time.Now().Add(time.Hour).Unix() })
		}, refused},
		"another account": {func() { o.newUser(file, o.foreign, func(c *jwt.UserClaims) { c.IssuerAccount = o.public(o.account) }) }, refused},
		"revoked":         {func() { o.revoke(o.newUser(file, o.account, nil)) }, refused},
	} {
		t.Setenv("BUS_NATS_CREDS", file)
		test.write()
		conn, err := bus.Connect(t.Context(), "one.example", bus.WithURL(o.url), bus.WithLogger(zerolog.Nop()), bus.WithConnectTimeout(time.Hour))
		if err == nil {
			closeConn(t, conn)
		}
		told := "connect one.example: connect to " + o.url + ": "
		if (err == nil) != (test.want == "") || err != nil && (!strings.HasPrefix(err.Error(), told) ||
			!strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "BUS_NATS_CREDS")) {
			t.Errorf("%s: got %v\nwant %s… %s", name, err, told, test.want)
		}
	}
}

// TestRevokedUserJWT takes a user away from a service that works, and puts another one into the file: nothing has to be
// started again.
func TestRevokedUserJWT(t *testing.T) {
	o := newOperated(t)
	file := filepath.Join(t.TempDir(), "user.creds")
	user, log := o.newUser(file, o.account, nil), new(journal)
	conn, err := o.connect(file, log)
	if err != nil {
		t.Fatal(err)
	}
	defer closeConn(t, conn)
	serve(t, conn, calculator{})
	add(t, conn, calculatorHost)
	if !conn.Healthy() {
		t.Error("a connection that works is not healthy")
	}
	o.revoke(user)
	checkShutOut(t, conn, log, nats.ErrAuthRevoked)
	o.letIn(conn, file)
	add(t, conn, calculatorHost)
}

// TestExpiringUserJWT is the same for one whose time is up.
func TestExpiringUserJWT(t *testing.T) {
	o := newOperated(t)
	file := filepath.Join(t.TempDir(), "user.creds")
	conn, log := o.connectBriefly(file)
	defer closeConn(t, conn)
	checkShutOut(t, conn, log, nats.ErrAuthExpired)
	o.letIn(conn, file)
	serve(t, conn, calculator{})
	add(t, conn, calculatorHost)
}

// connectBriefly connects with a user who may stay for two seconds, or longer where that is too short to connect.
func (o *operated) connectBriefly(file string) (*bus.Conn, *journal) {
	o.t.Helper()
	for stays := 2 * time.Second; ; stays *= 2 {
		o.newUser(file, o.account, func(c *jwt.UserClaims) { c.Expires = time.Now().Add(stays).Unix() })
		log := new(journal)
		conn, err := o.connect(file, log)
		if err == nil {
			return conn, log
		}
		if stays > time.Minute {
			o.t.Fatal(err)
		}
	}
}

// connect joins as a calculator that calls itself over the broker.
func (o *operated) connect(file string, log *journal) (*bus.Conn, error) {
	o.t.Helper()
	o.t.Setenv("BUS_NATS_CREDS", file)
	return bus.Connect(o.t.Context(), calculatorHost, bus.WithURL(o.url), bus.WithLogger(zerolog.New(log)), bus.WithoutShortCircuit())
}

// checkShutOut waits until the broker does not let the connection in any more: that is logged, tried again and refused
// again, and calls fail.
func checkShutOut(t *testing.T, conn *bus.Conn, log *journal, why error) {
	t.Helper()
	log.await(t, strings.ToLower(why.Error()))
	log.await(t, strings.ToLower(nats.ErrAuthorization.Error())) // the next attempt
	if conn.Healthy() || conn.Connected() {
		t.Error("a connection that is shut out is healthy")
	}
	err := conn.Call(t.Context(), calculatorURL+"/add", nil, nil)
	if failed, _ := errors.AsType[*bus.Error](err); failed == nil || failed.Status != 503 || failed.Executed != bus.ExecutedNo || !errors.Is(err, bus.ErrDisconnected) {
		t.Errorf("a call meanwhile: %v", err)
	}
}

// acquireOrReject writes a new user, and waits until the connection has found it.
func (o *operated) letIn(conn *bus.Conn, file string) {
	o.t.Helper()
	changed := conn.NATS().StatusChanged(nats.CONNECTED)
	defer conn.NATS().RemoveStatusListener(changed)
	o.newUser(file, o.account, nil)
	await(o.t, "a connection", changed)
	if !conn.Healthy() {
		o.t.Error("a connection that is back is not healthy")
	}
}

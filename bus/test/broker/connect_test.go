// Package broker_test has connections to brokers that are late, refuse, fall silent, move or go away.
package broker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/test/kit"
)

// TestOwnHost connects under what is no hostname: the error says so before the broker is asked, and what was meant.
func TestOwnHost(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"":                                `label "" is not 1 to 63 characters of`,
		"all":                             `the host "all" is reserved`,
		"two words.example":               `label "two words" is not 1 to 63 characters of a-z, 0-9 and inner hyphens`,
		"Calculator.example":              `did you mean "calculator.example"?`,
		"calculator.example:443":          `did you mean "calculator.example"?`,
		"https://Calculator.example:443/": `did you mean "calculator.example"?`,
		"calculator.example/add":          `did you mean "calculator.example"?`,
	} {
		_, err := bus.Connect(t.Context(), host, bus.WithURL("nats://127.0.0.1:1"))
		assert.ErrorContains(t, err, want, host)
	}
	_, err := bus.Connect(t.Context(), "https://all/", bus.WithURL("nats://127.0.0.1:1"))
	require.Error(t, err, "what is reserved is meant")
	assert.NotContains(t, err.Error(), "did you mean", "what is reserved is meant")
}

// TestConnect_ShortCircuit reads what is to be one of two.
func TestConnect_ShortCircuit(t *testing.T) { //nolint:paralleltest // the environment is that of the process
	b := kit.NewBus(t)
	for _, set := range []struct {
		value string
		err   bool
	}{{"", false}, {"0", false}, {"1", false}, {"false", false}, {"2", true}, {"off", true}} {
		t.Setenv("BUS_SHORT_CIRCUIT", set.value)
		conn, err := bus.Connect(t.Context(), "caller.example", bus.WithBroker(b.Broker()), bus.WithPlane(b.Plane()))
		if set.err != (err != nil && strings.Contains(err.Error(), "BUS_SHORT_CIRCUIT")) {
			t.Errorf("%q: %v", set.value, err)
		}
		if err == nil {
			kit.CloseConn(t, conn)
		}
	}
}

// TestConnect_OptionsWinOverBadVariables holds that what an option says instead is not asked of the environment.
func TestConnect_OptionsWinOverBadVariables(t *testing.T) { //nolint:paralleltest // the environment is that of the process
	b := kit.NewBus(t)
	given, err := nats.Connect("", nats.InProcessServer(b.Broker()), nats.ReconnectBufSize(-1))
	require.NoError(t, err)
	defer given.Close()
	here := bus.WithBroker(b.Broker())
	for _, test := range []struct {
		name, value string
		instead     []bus.ConnectOption
	}{
		{"BUS_SHORT_CIRCUIT", "perhaps", []bus.ConnectOption{here, bus.WithoutShortCircuit()}},
		{"BUS_PLANE", "a.b", []bus.ConnectOption{here, bus.WithPlane(b.Plane())}},
		{"BUS_BASE_URL", "nonsense", []bus.ConnectOption{here, bus.WithBaseURL("https://api.example.com")}},
		{"BUS_NATS_CERT", "alone.pem", []bus.ConnectOption{bus.WithNATS(given)}},
		{"BUS_NATS_URL", "two words", []bus.ConnectOption{bus.WithNATS(given)}},
		{"BUS_LOG_LEVEL", "loud", []bus.ConnectOption{here, bus.WithLogger(zerolog.Nop())}},
		{"BUS_LOG_FORMAT", "xml", []bus.ConnectOption{here, bus.WithLogger(zerolog.Nop())}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv(test.name, test.value)
			if conn, err := bus.Connect(t.Context(), "caller.example", here); err == nil {
				kit.CloseConn(t, conn)
				t.Errorf("%s=%s passes without an option", test.name, test.value)
			}
			conn, err := bus.Connect(t.Context(), "caller.example", test.instead...)
			require.NoError(t, err)
			kit.CloseConn(t, conn)
		})
	}
}

// echo returns what it gets.
type echo struct{}

func (echo) Echo(text string) (echoed string) { return text }

// TestWithBroker_UsedAgain uses the option of a test's bus for two connections at once: both are as strict as the bus.
func TestWithBroker_UsedAgain(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	options := b.Options()
	hosts := []string{"one.example", "other.example"}
	failed := make(chan error, len(hosts))
	for _, host := range hosts {
		go func() {
			conn, err := bus.Connect(context.WithoutCancel(t.Context()), host, options...)
			if err == nil {
				t.Cleanup(func() { kit.CloseConn(t, conn) })
				err = bus.Serve(conn, echo{})
			}
			failed <- err
		}()
	}
	for range hosts {
		require.NoError(t, <-failed)
	}
	caller := b.Connect("caller.example")
	for _, host := range hosts {
		err := caller.Call(t.Context(), "https://"+host+"/echo", bus.Args{"text": "a", "more": 1}, nil)
		assert.Equal(t, http.StatusBadRequest, bus.StatusOf(err), "%s: %v", host, err)
	}
}

// TestConnectionNames has the broker tell the names of its connections, as "nats server report connections" shows them.
func TestConnectionNames(t *testing.T) {
	t.Parallel()
	e := kit.StartEnforcing(t, broker.Listen("127.0.0.1:0"), broker.Config(`
		accounts {
			APP: { users: [ { user: app, password: secret } ] }
			SYS: { users: [ { user: sys, password: secret } ] }
		}
		system_account: SYS`))
	asApp := bus.WithURL(e.As("app"))
	first, second := e.Connect("first.example", asApp), e.Connect("second.example", asApp)
	alone := e.Connect("alone.example", asApp, bus.WithoutSharing())
	want := []string{first.ID() + ".first.example", alone.ID() + ".alone.example"}
	slices.Sort(want)
	if got := connectionNames(t, e.As("sys")); !slices.Equal(got, want) {
		t.Errorf("connections %q, want %q, the first one of those that share", got, want)
	}
	kit.CloseConn(t, first)
	got := connectionNames(t, e.As("sys"))
	assert.Equal(t, want, got)
	assert.True(t, second.Connected())
}

// connectionNames asks the broker for the connections of the account APP.
func connectionNames(t *testing.T, url string) (names []string) {
	t.Helper()
	system, err := nats.Connect(url)
	require.NoError(t, err)
	defer system.Close()
	answer, err := system.Request("$SYS.REQ.SERVER.PING.CONNZ", []byte(`{"auth":true,"acc":"APP"}`), 10*time.Second)
	require.NoError(t, err)
	var told struct {
		Data struct {
			Connections []struct{ Name string }
		}
	}
	require.NoError(t, json.Unmarshal(answer.Data, &told))
	for _, connection := range told.Data.Connections {
		names = append(names, connection.Name)
	}
	slices.Sort(names)
	return names
}

// TestOneBroker holds that no option which says where the broker is has another one ignored.
func TestOneBroker(t *testing.T) {
	t.Parallel()
	b := kit.NewBus(t)
	here, given, there := bus.WithBroker(b.Broker()), bus.WithNATS(kit.RawClient(t,
		&kit.World{Bus: b})), bus.WithURL("nats://127.0.0.1:1")
	for want, options := range map[string][]bus.ConnectOption{
		"bus.WithBroker and bus.WithURL":                  {here, there},
		"bus.WithNATS and bus.WithURL":                    {there, given},
		"bus.WithNATS and bus.WithBroker":                 {given, here},
		"bus.WithNATS and bus.WithBroker and bus.WithURL": {there, here, given},
	} {
		want = "connect x.example: " + want + " say which broker to use, each in its way: use one of them"
		_, err := bus.Connect(t.Context(), "x.example", options...)
		assert.EqualError(t, err, want)
	}
}

// TestBroker_OfATest gives way to what the code under test asks for.
func TestBroker_OfATest(t *testing.T) {
	t.Parallel()
	b, other := bustest.New(t), kit.NewBus(t)
	elsewhere, err := broker.Start(broker.Listen("127.0.0.1:0"))
	require.NoError(t, err)
	t.Cleanup(elsewhere.Close)
	quiet := bus.WithLogger(zerolog.Nop())
	for name, option := range map[string]bus.ConnectOption{
		"given": bus.WithNATS(kit.RawClient(t, &kit.World{Bus: other})), "a URL": bus.WithURL(elsewhere.URL()),
		"another": bus.WithBroker(other.Broker()),
	} {
		t.Run(name, func(t *testing.T) {
			conn := b.Connect("one.example", option, quiet)
			if conn.Plane() != b.Plane() {
				t.Errorf("plane %s", conn.Plane())
			}
			if err := b.Connect("caller.example").Call(t.Context(), "https://one.example:888/ping", nil,
				nil); bus.StatusOf(err) != 503 {
				t.Errorf("it is on the bus of the test: %v", err)
			}
			assert.NoError(t, conn.Close(t.Context()))
		})
	}
}

// TestConnect_RefusesURLs fails at once, and not when the time is up; a login is not shown.
func TestConnect_RefusesURLs(t *testing.T) {
	t.Parallel()
	const none = " is none (BUS_NATS_URL or bus.WithURL): write nats://host:4222"
	for url, want := range map[string]string{
		":::":                       `the URL of the broker, ":::",` + none,
		"::1:4222":                  `the URL of the broker, "::1:4222",` + none,
		"two words":                 `"two words",` + none,
		"nats://h:port":             `"nats://h:port",` + none,
		"h:99999":                   `"h:99999",` + none,
		"nats://127.0.0.1:1, %zz":   `"%zz",` + none,
		"nats://one:sec/ret@h:4222": "the URL of the broker" + none,
		"nats://one:sec,ret@h:4222": "the URL of the broker" + none,
		"http://127.0.0.1:1": "connect to http://127.0.0.1:1: nats: no servers available for connection; " +
			"a broker's URL has the scheme nats, tls, ws or wss, not http: change BUS_NATS_URL or bus.WithURL",
		"nats://127.0.0.1:1,tcp://[::1]:1/": "a broker's URL has the scheme nats, tls, ws or wss, not tcp",
	} {
		_, err := bus.Connect(t.Context(), "one.example", bus.WithURL(url), bus.WithLogger(zerolog.Nop()),
			bus.WithConnectTimeout(time.Hour))
		require.Error(t, err, url)
		assert.True(t, strings.HasPrefix(err.Error(), "connect one.example: "), err.Error())
		assert.ErrorContains(t, err, want, url)
		if err != nil && strings.Contains(err.Error(), "sec") {
			t.Errorf("the password is told: %v", err)
		}
	}
}

// TestConnect_CommaInAPassword holds that a password is not told of where a comma in it looks like the end of an
// address.
func TestConnect_CommaInAPassword(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"nats://one:77,sec@127.0.0.1:1":                   "nats://…, 127.0.0.1:1",
		"one:77,sec@w,7,d@127.0.0.1:1":                    "…, …, …, 127.0.0.1:1",
		"nats://a:1,nats://o:sec@127.0.0.1:1,127.0.0.1:1": "nats://a:1, nats://127.0.0.1:1, 127.0.0.1:1",
	} {
		_, err := bus.Connect(t.Context(), "one.example", bus.WithURL(url), bus.WithLogger(zerolog.Nop()),
			bus.WithConnectTimeout(0))
		require.Error(t, err, url)
		assert.True(t, strings.HasPrefix(err.Error(), "connect one.example: no broker at "+want+": "), err.Error())
		assert.NotContains(t, err.Error(), "sec", url)
		assert.NotContains(t, err.Error(), "lookup 7", url)
	}
}

// TestConnect_URLs connects with all that nats.go takes for the same broker.
func TestConnect_URLs(t *testing.T) { //nolint:paralleltest // the environment is that of the process
	started, err := broker.Start(broker.Listen("127.0.0.1:0"))
	require.NoError(t, err)
	t.Cleanup(started.Close)
	address := strings.TrimPrefix(started.URL(), "nats://")
	t.Setenv("BUS_NATS_URL", address)
	for _, url := range []string{"", address, "nats://" + address, "NATS://" + address + "/",
		" nats://" + address + " ,, ", "http://" + address, "tcp://" + address, "::," + address} {
		conn, err := bus.Connect(t.Context(), "one.example", bus.WithURL(url), bus.WithLogger(zerolog.Nop()))
		if err != nil {
			t.Errorf("%q: %v", url, err)
			continue
		}
		kit.CloseConn(t, conn)
	}
}

// TestNoConnection passes a connection that is nil, as after an error of Connect that was not checked.
func TestNoConnection(t *testing.T) {
	t.Parallel()
	for want, try := range map[string]func() error{
		"kit.Wrapper cannot be served without a connection": func() error { return bus.Serve(nil, kit.Wrapper{}) },
		"kit.Wrapper cannot be subscribed to the events of source.example without a connection": func() error {
			return events.Subscribe(nil, "source.example", kit.Wrapper{})
		},
		"503 Service Unavailable: https://x.example/y cannot be called without a connection": func() error {
			err := (*bus.Conn)(nil).Call(t.Context(), "https://x.example/y", nil, nil)
			if failed, ok := errors.AsType[*bus.Error](err); !ok || failed.Executed != bus.ExecutedNo {
				t.Errorf("executed: %v", err)
			}
			return err
		},
		"503 Service Unavailable: https://x.example:417/on-y cannot be called without a connection": func() error {
			return events.Publish(t.Context(), (*bus.Conn)(nil), "https://x.example:417/on-y", nil)
		},
	} {
		err := try()
		assert.EqualError(t, err, want)
	}
}

// TestChallenge holds which refusals say what is wrong with a token, in characters that a header may hold.
func TestChallenge(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"": bus.Errorf(http.StatusForbidden, "not on Sundays"),
		`Bearer error="invalid_token", error_description="token: its issuer (iss) is not 'x?y???'"`: bus.Errorf(http.StatusUnauthorized, "here: %w", &claims.Error{Detail: "token: its issuer (iss) is not \"x\\y\n\x7fé\""}),
		`Bearer error="invalid_token", error_description="token: missing"`: fmt.Errorf("here: %w",
			&claims.Error{Detail: "token: missing"}),
		"Bearer": bus.Errorf(http.StatusUnauthorized, "who are you?"),
	} {
		recorder := httptest.NewRecorder()
		bus.WriteError(recorder, httptest.NewRequest(http.MethodGet, "/", http.NoBody), err)
		got := recorder.Header().Get("WWW-Authenticate")
		assert.Equal(t, want, got)
		assert.Equal(t, bus.StatusOf(err), recorder.Code)
	}
}

// TestNotUTF8 has options with texts that no document can hold.
func TestNotUTF8(t *testing.T) {
	t.Parallel()
	conn := bustest.New(t).Connect("wrapper.example")
	for want, try := range map[string]func() error{
		`connect none.example: bus.WithDescription: "caf\xe9" is not valid UTF-8, which documents are in`: func() error {
			_, err := bus.Connect(t.Context(), "none.example", bus.WithDescription("caf\xe9"))
			return err
		},
		`connect none.example: bus.WithVersion: "\xff" is not valid UTF-8, which documents are in`: func() error {
			_, err := bus.Connect(t.Context(), "none.example", bus.WithVersion("\xff"))
			return err
		},
		`serve kit.Wrapper on wrapper.example: Wrapper.Wrapped: bus.Description: "caf\xe9" is not valid UTF-8, which documents are in`: func() error {
			return bus.Serve(conn, kit.Wrapper{}, bus.Method("Wrapped", bus.Description("caf\xe9")))
		},
		`handle GET /x on wrapper.example: GET /x: bus.Description: "\xff" is not valid UTF-8, which documents are in`: func() error {
			return conn.Handle("GET", "/x", http.NotFoundHandler(), bus.Description("\xff"))
		},
	} {
		err := try()
		assert.EqualError(t, err, want)
	}
}

// TestLongestHost holds that a service with the longest possible hostname is called like any other: one instance of
// it, in parts, and told that its caller has left.
func TestLongestHost(t *testing.T) {
	t.Parallel()
	host := strings.Repeat("h.", 126) + "h"
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		conn, caller := b.Connect(host), b.Connect("caller.example")
		ends := kit.ServeWaiting(t, conn)
		count := func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Length", strconv.FormatInt(r.ContentLength, 10))
		}
		require.NoError(t, conn.Handle("POST", "/count", http.HandlerFunc(count)))
		for _, called := range []string{host, conn.ID() + "." + host} {
			for _, size := range []int{1, 2 << 20} {
				response, _ := kit.Do(t, caller, "POST", "https://"+called+"/count", "text/plain", strings.Repeat("x", size))
				assert.Equal(t, 200, response.StatusCode, "%s, %s", called[:12], response.Status)
				assert.Equal(t, strconv.Itoa(size), response.Header.Get("Length"), "%s, %s", called[:12], response.Status)
			}
			ctx, leave := context.WithCancel(t.Context())
			time.AfterFunc(300*time.Millisecond, leave)
			kit.WantFailed(t, called, caller.Call(ctx, "GET https://"+called+"/wait", nil, nil), 503, context.Canceled)
			kit.WantCancelled(t, called, ends, 300*time.Millisecond)
		}
	})
}

const missingKeys = `"message":"this connection has no keys, so every call that has a token or needs one is refused; set BUS_JWKS, or use bus.WithVerifier"`

// TestConnect_MissingKeysAreLogged has a service that no caller can reach log so, once, when it is served.
func TestConnect_MissingKeysAreLogged(t *testing.T) {
	t.Parallel()
	kit.InBubble(t, func(t *testing.T, b *kit.Bubble) {
		for _, each := range []struct {
			host    string
			options []bus.ConnectOption
			asks    bus.HandleOption
			told    int
			passes  int
		}{
			{"keyless.example", nil, bus.RequireClaims("true"), 1, 0},
			{"public.example", nil, bus.AllowAnonymous(), 0, 1},
			{"keyed.example", []bus.ConnectOption{kit.NewIssuer(t).Trust()}, bus.RequireClaims("true"), 0, 0},
		} {
			log := new(kit.Lines)
			conn := b.Connect(each.host, append(each.options, bus.WithLogger(zerolog.New(log)))...)
			require.NoError(t, conn.Handle("GET", "/x", http.NotFoundHandler(), each.asks))
			synctest.Wait()
			if told := log.Count(`"endpoint":"GET /x",` + missingKeys); told != each.told {
				t.Errorf("%s: %d warnings at the start, want %d:\n%s", each.host, told, each.told, log)
			}
			caller := b.Connect("caller.example")
			for _, token := range []string{"", "a.b.c", "a.b.c"} {
				// 401, or 404 of the handler
				_ = caller.Call(bus.WithActor(t.Context(), token), "GET https://"+each.host+"/x", nil, nil)
			}
			synctest.Wait()
			if told := log.Count(`"endpoint":"GET /x",` + missingKeys); told != each.told {
				t.Errorf("%s: %d warnings, want %d:\n%s", each.host, told, each.told, log)
			}
			assert.Equal(t, each.passes, log.Count("it ignores the tokens of its callers, and passes them on unverified"), log)
		}
	})
}

// TestConnect_MissingKeysAreLoggedWithoutAnEndpoint refuses a token that the connection verifies for others, as an
// ingress does.
func TestConnect_MissingKeysAreLoggedWithoutAnEndpoint(t *testing.T) {
	t.Parallel()
	log := new(kit.Lines)
	conn := kit.NewBus(t).Connect("ingress", bus.WithLogger(zerolog.New(log)))
	for range 2 {
		_, err := conn.VerifyToken(t.Context(), "a.b.c")
		require.Error(t, err)
	}
	kit.CloseConn(t, conn)
	assert.Equal(t, 1, log.Count(`"id":"`+conn.ID()+`",`+missingKeys), log)
}

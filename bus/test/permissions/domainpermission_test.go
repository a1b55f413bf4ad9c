package permissions_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
)

// domainOnly is the permission of the interface, and no other.
const domainOnly = `permissions { subscribe { allow: ["*.*.com.example.>"] } }`

const (
	domainHost = "calculator.example.com"
	domainURL  = "https://calculator.example.com"
)

// What that permission turns off.
var offByDomain = []string{
	"discovery does not find this instance, and it does not hear which instances come and go",
	"nats micro does not show this instance",
}

// domainBus is a broker where a user has that permission alone. connect joins as that user.
func domainBus(t *testing.T, given bool) (e *kit.Enforcing, connect func(host string) (*bus.Conn, error)) {
	t.Helper()
	e = kit.NewEnforcing(t, map[string]string{"domain": domainOnly, "owner.example.com": ""})
	options := []bus.ConnectOption{bus.WithPlane("bus"), bus.WithLogger(zerolog.New(e.Log))}
	if given {
		made, err := nats.Connect(e.As("domain"), nats.ReconnectBufSize(-1),
			nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
		require.NoError(t, err)
		t.Cleanup(made.Close)
		options = append(options, bus.WithNATS(made))
	} else {
		options = append(options, bus.WithURL(e.As("domain")))
	}
	return e, func(host string) (*bus.Conn, error) {
		conn, err := bus.Connect(t.Context(), host, options...)
		if err == nil {
			t.Cleanup(func() { _ = conn.Close(context.Background()) })
		}
		return conn, err
	}
}

// TestDomainPermission_Suffices does all that services do with each other, in the profile of the interface.
func TestDomainPermission_Suffices(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		given bool
	}{{"our own connection", false}, {"a given connection", true}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e, connect := domainBus(t, test.given)
			mustConnect := func(host string) *bus.Conn {
				conn, err := connect(host)
				require.NoError(t, err)
				return conn
			}
			var callees []*bus.Conn
			join := func() {
				conn := mustConnect(domainHost)
				kit.Serve(t, conn, kit.Calculator{ID: conn.ID()}, bus.Method("Who", bus.NoQueue()))
				callees = append(callees, conn)
			}
			join()
			join()
			caller := mustConnect("caller.example.com")
			kit.Add(t, caller, domainHost)
			kit.Add(t, caller, callees[0].ID()+"."+domainHost)
			err := caller.Call(t.Context(), domainURL+"/subtract", nil, nil)
			kit.CheckError(t, err, 404, bus.ExecutedNo)
			err = caller.Call(t.Context(), "DELETE "+domainURL+"/add", nil, nil)
			kit.CheckError(t, err, 405, bus.ExecutedNo)
			assert.ElementsMatch(t, idsOf(callees), kit.MulticastIDs(t, caller, domainURL+"/who"), "the first multicast")
			assert.ElementsMatch(t, idsOf(callees), kit.MulticastIDs(t, caller, domainURL+"/who"),
				"a multicast to known instances")
			join() // without a word that the caller can hear
			for len(kit.MulticastIDs(t, caller, domainURL+"/who")) != len(callees) {
				require.NoError(t, t.Context().Err())
			}
			assert.NoError(t, callees[0].Close(t.Context()))
			callees = callees[1:]
			assert.ElementsMatch(t, idsOf(callees), kit.MulticastIDs(t, caller, domainURL+"/who"), "after one has left")
			for _, conn := range callees {
				require.NoError(t, conn.Health())
				assert.Equal(t, offByDomain, conn.Restrictions())
			}
			require.NoError(t, caller.Health())
			assert.Equal(t, offByDomain[:1], caller.Restrictions(), "it serves nothing, so nats micro shows nothing")
			found := kit.MulticastIDs(t, e.Connect("owner.example.com"), "https://all:888/ping")
			assert.Len(t, found, 1, "only the owner's connection hears it")
			assert.Len(t, e.Log.Lines("the broker does not let user \\\"domain\\\" subscribe to bus.888.all"), 1)
			assert.Empty(t, e.Log.Lines(`"level":"error"`))
		})
	}
}

func idsOf(conns []*bus.Conn) (ids []string) {
	for _, conn := range conns {
		ids = append(ids, conn.ID())
	}
	return ids
}

// TestDomainPermission_OtherDomain cannot be served: what is missing then is no optional function.
func TestDomainPermission_OtherDomain(t *testing.T) {
	t.Parallel()
	for _, given := range []bool{false, true} {
		_, connect := domainBus(t, given)
		_, err := connect("shop.example.org")
		require.ErrorIs(t, err, nats.ErrPermissionViolation)
		assert.ErrorContains(t, err, "connect shop.example.org: ")
		assert.ErrorContains(t, err, "subscribe to bus.")
	}
}

// TestDomainPermission_AnnouncementsDenied holds that a user who may not publish announcements can do the rest.
func TestDomainPermission_AnnouncementsDenied(t *testing.T) {
	t.Parallel()
	e := kit.NewEnforcing(t, map[string]string{
		domainHost:           `permissions { subscribe { allow: ["*.*.com.example.>"] }, publish { deny: ["*.888.all.>"] } }`,
		"caller.example.com": domainOnly,
	})
	conn := e.Connect(domainHost)
	kit.Serve(t, conn, kit.Calculator{})
	kit.Add(t, e.Connect("caller.example.com"), domainHost)
	kit.Flush(t, conn.NATS())
	e.Log.Await(t, "do not hear that this one comes and goes")
	require.NoError(t, conn.Health())
	assert.Equal(t, []string{offByDomain[0], offByDomain[1], "other instances do not hear that this one comes and goes"},
		slices.Sorted(slices.Values(conn.Restrictions())))
	assert.Empty(t, e.Log.Lines(`"level":"error"`))
}

// TestRestrictions_InMetricsAndNone holds that a connection with all permissions has none.
func TestRestrictions_InMetricsAndNone(t *testing.T) {
	t.Parallel()
	e, connect := domainBus(t, false)
	owner := e.Connect("owner.example.com")
	domain, err := connect("shop.example.com")
	require.NoError(t, err)
	assert.Nil(t, owner.Restrictions())
	for conn, want := range map[*bus.Conn]string{owner: " 0\n", domain: " 1\n"} {
		told := httptest.NewRecorder()
		conn.ServeMetrics(told, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		assert.Contains(t, told.Body.String(), `busline_restrictions{host="`+conn.Host()+`",id="`+conn.ID()+`"}`+want)
	}
}

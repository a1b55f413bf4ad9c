package portal_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/portal"
)

// openPortal starts an ingress and a portal that verify tokens.
func openPortal(t *testing.T, i *issuer) *testIngress {
	t.Helper()
	ingress := openFor(t, i)
	require.NoError(t, portal.Register(ingress.bus.Connect("portal", i.Trust()), patient()...))
	return ingress
}

// TestDocument_ForEach has callers read what is on the bus for them.
func TestDocument_ForEach(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	ingress := openPortal(t, i)
	ingress.keep("vault.example", i.Trust())
	err := bus.Serve(ingress.bus.Connect("canary.example", i.Trust()), calculator{}, bus.RequireClaims(`"keeper" in roles && "canary" in roles`))
	require.NoError(t, err)
	const open = "/vault.example:443/stones /vault.example:443/who"
	for header, want := range map[string]string{
		"X: anonymous":               open,
		i.in("cook"):                 open,
		i.in("keeper"):               "/vault.example:443/gold " + open,
		i.in("keeper", "canary"):     "/canary.example:443/distance /vault.example:443/gold " + open,
		"Authorization: Basic YTpi=": open,
	} {
		document := ingress.document(header)
		got := paths(document)
		assert.Equal(t, want, got, "%.40s", header)
		assert.Equal(t, "The endpoints that the caller may call.", document.Info.Description, "%.40s", header)
		asked := document.Components != nil && document.Components.SecuritySchemes["bearer"] != nil
		if asked != strings.Contains(want, "gold") {
			t.Errorf("%.40s: the scheme is there: %v", header, asked)
		}
		if text := ingress.get("/portal/openapi.json", header).text; !strings.Contains(want, "canary") && strings.Contains(text, "canary.") {
			t.Errorf("%.40s reads of the canary: %s", header, text)
		}
	}
	if got := ingress.get("/portal/openapi.json", "Authorization: Bearer x"); got.StatusCode != 401 {
		t.Errorf("a bad token: status %d", got.StatusCode)
	}
}

// TestCatalog_HidesWhatClaimsForbid looks for the names of what a caller may not call.
func TestCatalog_HidesWhatClaimsForbid(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	ingress := openPortal(t, i)
	ingress.keep("vault.example", i.Trust())
	for header, seen := range map[string]bool{"X: anonymous": false, i.in("cook"): false, i.in("keeper"): true} {
		text := ingress.get("/portal/openapi.json", header).text
		for _, canary := range []string{"gold", "Gold", "canary", "for keepers"} {
			if strings.Contains(text, canary) != seen {
				t.Errorf("%.40s: %s is there: %v, in %s", header, canary, !seen, text)
			}
		}
	}
}

// TestService_ThatKnowsNoKeys is shown to no caller who calls with a token: it would refuse every call.
func TestService_ThatKnowsNoKeys(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	ingress := openPortal(t, i)
	ingress.keep("vault.example")
	if got := paths(ingress.document()); got != "/vault.example:443/stones /vault.example:443/who" {
		t.Errorf("no caller sees %s", got)
	}
	document := ingress.document(i.in("keeper"))
	assert.Empty(t, paths(document))
	assert.Equal(t, "vault.example:443 is left out: it answers the request for its document with status 401.", document.Info.Description)
}

// TestCatalog_OfConcurrentCallers has two callers ask at once, while what they are shown grows old.
func TestCatalog_OfConcurrentCallers(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	ingress := openFor(t, i)
	var mu sync.Mutex // protects now
	now := time.Now()
	clock := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(10 * time.Millisecond)
		return now
	}
	require.NoError(t, portal.Register(ingress.bus.Connect("portal", i.Trust()), append(patient(), portal.WithClock(clock))...))
	ingress.keep("vault.example", i.Trust())
	var readers sync.WaitGroup
	for range 4 {
		for header, want := range map[string]bool{"X: anonymous": false, i.in("keeper"): true, i.in("cook"): false} {
			readers.Go(func() {
				for range 250 {
					got := ingress.get("/portal/openapi.json", header)
					if got.StatusCode != 200 || strings.Contains(got.text, "/gold") != want || got.Header.Get("ETag") == "" {
						t.Errorf("%.40s: gold is shown: want %v: %d %s", header, want, got.StatusCode, got.text)
						return
					}
				}
			})
		}
	}
	readers.Wait()
}

// TestCatalog_IsForgotten holds how many callers the portal remembers, and for how long.
func TestCatalog_IsForgotten(t *testing.T) {
	t.Parallel()
	now := time.Now()
	catalogs := portal.NewCatalogs(func() time.Time { return now })
	catalogs.Read("")
	for n := range 1000 {
		token := strconv.Itoa(n)
		catalogs.Read(token)
		require.LessOrEqual(t, catalogs.Count(), 128)
		require.True(t, catalogs.Filled(""))
		require.True(t, catalogs.Filled(token))
	}
	now = now.Add(10 * time.Second)
	catalogs.Read("late")
	now = now.Add(11 * time.Second)
	assert.True(t, catalogs.Filled("late"))
	assert.Equal(t, 1, catalogs.Count())
}

// instances requests the running instances.
func (d *testIngress) instances(headers ...string) (plane string, hosts map[string][]struct {
	ID, Version string
	Ports       []int
}) {
	d.t.Helper()
	got := d.get("/portal/instances.json", headers...)
	kept := got.Header.Get("Cache-Control")
	require.Equal(d.t, http.StatusOK, got.StatusCode, got.text)
	require.Equal(d.t, "private, no-cache", kept, got.text)
	var list struct {
		Plane string
		Hosts map[string][]struct {
			ID, Version string
			Ports       []int
		}
	}
	got.decode(d.t, &list)
	return list.Plane, list.Hosts
}

func TestInstances(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	ingress := openFor(t, i)
	require.NoError(t, portal.Register(ingress.bus.Connect("portal", i.Trust()), patient()...))
	ingress.calculate("calculator.example")
	ingress.calculate("calculator.example")
	ingress.calculate("internal.example", bus.Port(444))
	ingress.calculate("hidden.example", bus.Undocumented())
	both := ingress.bus.Connect("both.example", bus.WithVersion("7"))
	require.NoError(t, bus.Serve(both, calculator{}))
	require.NoError(t, both.Handle("GET", "/x", http.HandlerFunc(echo), bus.Port(444)))
	secret := ingress.bus.Connect("secret.example", i.Trust())
	require.NoError(t, bus.Serve(secret, calculator{}, bus.RequireClaims(`"keeper" in roles`)))
	plane, hosts := ingress.instances()
	assert.Equal(t, ingress.bus.Plane(), plane)
	require.Len(t, hosts, 2)
	require.Len(t, hosts["calculator.example"], 2)
	assert.Len(t, hosts["both.example"], 1)
	one := hosts["both.example"][0]
	assert.Equal(t, both.ID(), one.ID)
	assert.Equal(t, "7", one.Version)
	assert.Equal(t, "[443]", fmt.Sprint(one.Ports))
	if two := hosts["calculator.example"]; two[0].ID >= two[1].ID {
		t.Errorf("not sorted: %v", two)
	}
	if _, hosts := ingress.instances(i.in("keeper")); len(hosts["secret.example"]) != 1 {
		t.Errorf("a keeper sees %v", hosts)
	}
	if got := ingress.get("/portal/instances.json", i.bearer(claims.Claims{"exp": 1})); got.StatusCode != 401 {
		t.Errorf("a token that has expired: status %d", got.StatusCode)
	}
}

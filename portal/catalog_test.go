package portal_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/portal"
	"github.com/busline/busline/portal/ingress"
	"github.com/busline/busline/portal/internal/portaltest"
	"github.com/busline/busline/restmap/openapi"
)

// openPortal starts an ingress and a portal that verify tokens.
func openPortal(t *testing.T, i *portaltest.Issuer) *testIngress {
	t.Helper()
	entrance := openFor(t, i)
	require.NoError(t, portal.Register(entrance.Bus.Connect("portal", i.Trust()), longTimeouts()...))
	return entrance
}

// TestDocument_ForEach reads what is on the bus for each caller.
func TestDocument_ForEach(t *testing.T) {
	t.Parallel()
	i := portaltest.NewIssuer(t)
	entrance := openPortal(t, i)
	entrance.Keep("vault.example", i.Trust())
	err := bus.Serve(entrance.Bus.Connect("canary.example", i.Trust()), calculator{},
		bus.RequireClaims(`"keeper" in roles && "canary" in roles`))
	require.NoError(t, err)
	const open = "/vault.example:443/stones /vault.example:443/who"
	for header, want := range map[string]string{
		"X: anonymous":               open,
		i.In("cook"):                 open,
		i.In("keeper"):               "/vault.example:443/gold " + open,
		i.In("keeper", "canary"):     "/canary.example:443/distance /vault.example:443/gold " + open,
		"Authorization: Basic YTpi=": open,
	} {
		document := entrance.document(header)
		got := paths(document)
		assert.Equal(t, want, got, "%.40s", header)
		assert.Equal(t, "The endpoints that the caller may call.", document.Info.Description, "%.40s", header)
		asked := document.Components != nil && document.Components.SecuritySchemes["bearer"] != nil
		if asked != strings.Contains(want, "gold") {
			t.Errorf("%.40s: the scheme is there: %v", header, asked)
		}
		if text := entrance.Get("/portal/openapi.json", header).Text; !strings.Contains(want, "canary") &&
			strings.Contains(text, "canary.") {
			t.Errorf("%.40s reads of the canary: %s", header, text)
		}
	}
	if got := entrance.Get("/portal/openapi.json", "Authorization: Bearer x"); got.StatusCode != 401 {
		t.Errorf("a bad token: status %d", got.StatusCode)
	}
}

// TestCatalog_HidesWhatClaimsForbid looks for the names of what a caller may not call.
func TestCatalog_HidesWhatClaimsForbid(t *testing.T) {
	t.Parallel()
	i := portaltest.NewIssuer(t)
	entrance := openPortal(t, i)
	entrance.Keep("vault.example", i.Trust())
	for header, seen := range map[string]bool{"X: anonymous": false, i.In("cook"): false, i.In("keeper"): true} {
		text := entrance.Get("/portal/openapi.json", header).Text
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
	i := portaltest.NewIssuer(t)
	entrance := openPortal(t, i)
	entrance.Keep("vault.example")
	if got := paths(entrance.document()); got != "/vault.example:443/stones /vault.example:443/who" {
		t.Errorf("no caller sees %s", got)
	}
	document := entrance.document(i.In("keeper"))
	assert.Empty(t, paths(document))
	assert.Equal(t, "vault.example:443 is left out: it answers the request for its document with status 401.",
		document.Info.Description)
}

// TestCatalog_OfConcurrentCallers sends requests of two callers at once, while what they are shown grows old.
func TestCatalog_OfConcurrentCallers(t *testing.T) {
	t.Parallel()
	i := portaltest.NewIssuer(t)
	entrance := openFor(t, i)
	var mu sync.Mutex // protects now
	now := time.Now()
	clock := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(10 * time.Millisecond)
		return now
	}
	require.NoError(t, portal.Register(entrance.Bus.Connect("portal", i.Trust()),
		append(longTimeouts(), portal.WithClock(clock))...))
	entrance.Keep("vault.example", i.Trust())
	var readers sync.WaitGroup
	for range 4 {
		for header, want := range map[string]bool{"X: anonymous": false, i.In("keeper"): true, i.In("cook"): false} {
			readers.Go(func() {
				for range 250 {
					got := entrance.Get("/portal/openapi.json", header)
					if got.StatusCode != 200 || strings.Contains(got.Text, "/gold") != want || got.Header.Get("ETag") == "" {
						t.Errorf("%.40s: gold is shown: want %v: %d %s", header, want, got.StatusCode, got.Text)
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
	d.T.Helper()
	got := d.Get("/portal/instances.json", headers...)
	kept := got.Header.Get("Cache-Control")
	require.Equal(d.T, http.StatusOK, got.StatusCode, got.Text)
	require.Equal(d.T, "private, no-cache", kept, got.Text)
	var list struct {
		Plane string
		Hosts map[string][]struct {
			ID, Version string
			Ports       []int
		}
	}
	got.Decode(d.T, &list)
	return list.Plane, list.Hosts
}

func TestInstances(t *testing.T) {
	t.Parallel()
	i := portaltest.NewIssuer(t)
	entrance := openFor(t, i)
	require.NoError(t, portal.Register(entrance.Bus.Connect("portal", i.Trust()), longTimeouts()...))
	entrance.calculate("calculator.example")
	entrance.calculate("calculator.example")
	entrance.calculate("internal.example", bus.Port(444))
	entrance.calculate("hidden.example", bus.Undocumented())
	both := entrance.Bus.Connect("both.example", bus.WithVersion("7"))
	require.NoError(t, bus.Serve(both, calculator{}))
	require.NoError(t, both.Handle("GET", "/x", http.HandlerFunc(portaltest.Echo), bus.Port(444)))
	secret := entrance.Bus.Connect("secret.example", i.Trust())
	require.NoError(t, bus.Serve(secret, calculator{}, bus.RequireClaims(`"keeper" in roles`)))
	plane, hosts := entrance.instances()
	assert.Equal(t, entrance.Bus.Plane(), plane)
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
	if _, hosts := entrance.instances(i.In("keeper")); len(hosts["secret.example"]) != 1 {
		t.Errorf("a keeper sees %v", hosts)
	}
	if got := entrance.Get("/portal/instances.json", i.Bearer(claims.Claims{"exp": 1})); got.StatusCode != 401 {
		t.Errorf("a token that has expired: status %d", got.StatusCode)
	}
}

// TestDocument_PublicPaths says at which public paths a caller reaches what it may call, as the ingress has it.
func TestDocument_PublicPaths(t *testing.T) {
	t.Parallel()
	i := portaltest.NewIssuer(t)
	entrance := portaltest.OpenFor(t, i, ingress.WithPath("/vault", "https://vault.example"),
		ingress.WithPath("/canary/", "https://canary.example/distance"), ingress.WithPath("/", "https://web.example"),
		ingress.WithPath("/old", "https://vault.example:80"))
	require.NoError(t, portal.Register(entrance.Bus.Connect("portal", i.Trust()), longTimeouts()...))
	entrance.Keep("vault.example", i.Trust())
	require.NoError(t, bus.Serve(entrance.Bus.Connect("canary.example", i.Trust()), calculator{},
		bus.RequireClaims(`"canary" in roles`)))
	const vault, canary = `"/vault":"https://vault.example:443"`, `"/canary":"https://canary.example:443/distance"`
	for header, want := range map[string]string{
		"X: anonymous":               "{" + vault + "}",
		"X-Forwarded-Public-Paths: ": "{" + vault + "}",
		`X-Forwarded-Public-Paths: {"/evil":"https://vault.example:443"}`: "{" + vault + "}",
		i.In("canary"): "{" + canary + "," + vault + "}",
	} {
		for _, query := range []string{"", "?version=3.1"} {
			got := entrance.Get("/portal/openapi.json"+query, header)
			require.Equal(t, http.StatusOK, got.StatusCode, got.Text)
			document, err := openapi3.NewLoader().LoadFromData([]byte(got.Text))
			require.NoError(t, err)
			require.NoError(t, document.Validate(t.Context()))
			text, err := json.Marshal(document.Extensions["x-public-paths"])
			require.NoError(t, err)
			assert.JSONEq(t, want, string(text), header)
			assert.Equal(t, "http://door.example", document.Servers[0].URL)
			assert.Equal(t, http.StatusNotModified, entrance.Get("/portal/openapi.json"+query, header,
				"If-None-Match: "+got.Header.Get("Etag")).StatusCode)
		}
	}
	_, err := openapi.Parse([]byte(entrance.Get("/portal/openapi.json").Text))
	require.NoError(t, err)

	conn := entrance.Bus.Connect("other.example", i.Trust())
	for said, want := range map[string]bool{
		"": false, "[]": false, "{": false, `{"/a":1}`: false, `{"/a":"%"}`: false, `{"/a":"https://web.example:443"}`: false,
		`{"/a":"https://vault.example:443/<b>"}`: true,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://portal/openapi.json", http.NoBody)
		require.NoError(t, err)
		if said != "" {
			request.Header.Set("X-Forwarded-Public-Paths", said)
		}
		response, err := conn.Do(request)
		require.NoError(t, err)
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		assert.True(t, json.Valid(text), said)
		assert.Equal(t, want, strings.Contains(string(text), "x-public-paths"), said)
	}
}

// TestDocument_PublicPlaces says where public paths have what is in the document, and names no place that something
// else has.
func TestDocument_PublicPlaces(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t, ingress.WithPath("/", "https://site.example"),
		ingress.WithPath("/Shop", "https://site.example/"), ingress.WithPath("/Shop/admin", "https://hidden.example"),
		ingress.WithPath("/sec", "https://secret.example/pub"),
		ingress.WithPath("/one", "https://one.example/pub"), ingress.WithPath("/rest", "https://rest.example/pub"),
		ingress.WithPath("/deep", "https://deep.example/a/b"),
		ingress.WithHandler("/own", http.NotFoundHandler()), ingress.WithAuthorizationServers("https://login.example"))
	require.NoError(t, portal.Register(entrance.Bus.Connect("portal"), longTimeouts()...))
	for host, paths := range map[string][]string{
		"site.example": {"/", "/x", "/portal/x", "/Portal", "/-", "/v.example/x", "/v.example", "/v:1/x", "/v:x", "/shop/x",
			"/admin/x", "/own", "/own/x", "/.well-known/oauth-protected-resource", "/{any}/y", "/files/{rest+}"},
		"secret.example": {"/", "/x", "/pub", "/pub/x", "/pub/{a}/z", "/{a}", "/{a}/x", "/{a}/{b}/z"},
		"one.example":    {"/{a}", "/{a}/y", "/{a}/{b}/z"},
		"rest.example":   {"/{all+}", "/x"},
		"deep.example":   {"/a", "/a/b/{c}", "/a/{b}/c", "/{a}/b", "/{a}", "/a/{b+}"},
	} {
		conn := entrance.Bus.Connect(host)
		for _, path := range paths {
			require.NoError(t, conn.Handle("GET", path, http.NotFoundHandler()))
		}
	}
	var document struct {
		Places map[string][]string `json:"x-public-places"`
	}
	entrance.Get("/portal/openapi.json").Decode(t, &document)
	assert.Equal(t, map[string][]string{
		"/site.example:443/":                                     {"/Shop/", "/"},
		"/site.example:443/x":                                    {"/Shop/x", "/x"},
		"/site.example:443/portal/x":                             {"/Shop/portal/x"},
		"/site.example:443/Portal":                               {"/Shop/Portal"},
		"/site.example:443/-":                                    {"/Shop/-"},
		"/site.example:443/v.example/x":                          {"/Shop/v.example/x"},
		"/site.example:443/v.example":                            {"/Shop/v.example", "/v.example"},
		"/site.example:443/v:1/x":                                {"/Shop/v:1/x"},
		"/site.example:443/v:x":                                  {"/Shop/v:x", "/v:x"},
		"/site.example:443/shop/x":                               {"/Shop/shop/x"},
		"/site.example:443/admin/x":                              {"/admin/x"},
		"/site.example:443/own":                                  {"/Shop/own"},
		"/site.example:443/own/x":                                {"/Shop/own/x", "/own/x"},
		"/site.example:443/{any}/y":                              {"/Shop/{any}/y", "/{any}/y"},
		"/site.example:443/files/{rest}":                         {"/Shop/files/{rest}", "/files/{rest}"},
		"/site.example:443/.well-known/oauth-protected-resource": {"/Shop/.well-known/oauth-protected-resource"},
		"/secret.example:443/pub":                                {"/sec"},
		"/secret.example:443/pub/x":                              {"/sec/x"},
		"/secret.example:443/pub/{a}/z":                          {"/sec/{a}/z"},
		"/one.example:443/{a}":                                   {"/one"},
		"/one.example:443/{a}/y":                                 {"/one/y"},
		"/one.example:443/{a}/{b}/z":                             {"/one/{b}/z"},
		"/rest.example:443/{all}":                                {"/rest/{all}"},
		"/deep.example:443/a/b/{c}":                              {"/deep/{c}"},
	}, document.Places)
}

package ingress_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/portal/ingress"
	"github.com/busline/busline/portal/internal/outside"
	"github.com/busline/busline/portal/internal/portaltest"
)

// mapped are public paths of all kinds.
func mapped() []ingress.Option {
	return []ingress.Option{
		ingress.WithPorts(443, 80),
		ingress.WithPath("/shop", "https://shop.example"),
		ingress.WithPath("/shop/admin/", "https://Admin.example:80/"),
		ingress.WithPath("/v1/api", "https://shop.example:443/api/v1/"),
		ingress.WithPath("/.well-known/shop", "https://shop.example/.well-known/shop"),
		ingress.WithPath("/icon.svg", "https://web.example/static/icon.svg"),
	}
}

// mappedRoot are these, and what takes the rest.
func mappedRoot() []ingress.Option {
	return append(mapped(), ingress.WithPath("/", "https://web.example"),
		ingress.WithHandler("/own", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "the handler")
		})))
}

func TestPath(t *testing.T) {
	t.Parallel()
	tap, entrance := newTap(t, mapped()...)
	rootTap, root := newTap(t, mappedRoot()...)
	const none = ""
	for _, test := range []struct{ path, want, withRoot string }{
		{"/shop", "shop.example /", ""},
		{"/shop/", "shop.example /", ""},
		{"/shop/a/b?x=1", "shop.example /a/b?x=1", ""},
		{"/shop//a/", "shop.example //a/", ""},
		{"/shop/a%2Fb%20c", "shop.example /a%2Fb%20c", ""},
		{"/shop/admin", "admin.example /", ""},
		{"/shop/admin/users", "admin.example /users", ""},
		{"/shop/administration", "shop.example /administration", ""},
		{"/shop/Admin", "shop.example /Admin", ""},
		{"/shop/%61dmin", "shop.example /%61dmin", ""},
		{"/v1/api", "shop.example /api/v1", ""},
		{"/v1/api/", "shop.example /api/v1/", ""},
		{"/v1/api/books?x", "shop.example /api/v1/books?x", ""},
		{"/.well-known/shop/x", "shop.example /.well-known/shop/x", ""},
		{"/icon.svg", "web.example /static/icon.svg", ""},

		// hosts stay
		{"/shop:443/a", "shop /a", ""},
		{"/shop:80/admin", "shop /admin", ""},
		{"/shop.example/a", "shop.example /a", ""},
		{"/shop.example:80/a", "shop.example /a", ""},
		{"/admin.example:80/", "admin.example /", ""},
		{"/portal/", "portal /", ""},
		{"/Portal/x", "portal /x", ""},
		{"/k3f9x2m7qp.shop.example/a", "k3f9x2m7qp.shop.example /a", ""},
		{"/shopping/a", "shopping /a", "web.example /shopping/a"},
		{"/Shop/a", "shop.example /a", ""}, // a host ignores case
		{"/SHOP/admin/x", "admin.example /x", ""},
		{"/v1/x", "v1 /x", "web.example /v1/x"},
		{"/icon.svg/x", "web.example /static/icon.svg/x", ""},
		{"/web.example", "web.example /", "web.example /web.example"},

		// what no host has
		{"/robots.txt", "robots.txt /", "web.example /robots.txt"},
		{"/assets/app.js", "assets /app.js", "web.example /assets/app.js"},
		{"/", none, "web.example /"},
		{"/favicon.ico", none, "web.example /favicon.ico"},
		{"/.well-known/other", none, "web.example /.well-known/other"},
		{"/shop%2Fadmin", none, "web.example /shop%2Fadmin"},
		{"//shop/admin", none, "web.example //shop/admin"},
		{"/%73hop/admin", none, "web.example /%73hop/admin"},
		{"/_next/x.y/z", none, "web.example /_next/x.y/z"},
		{"/-x.example/", none, "web.example /-x.example/"},

		// and what stays inside
		{"/-/healthy", none, none},
		{"/-/x", none, none},
		{"/-", none, none},
		{"/portal", none, none},
		{"/PORTAL:443", none, none},
		{"/shop:888/ping", none, none},
		{"/shop.example:888/ping", none, none},
		{"/shop.example:417/on-x", none, none},
		{"/shop:", none, "web.example /shop:"},
		{"/Talk:Main", none, "web.example /Talk:Main"},
		{"/a:b/c", none, "web.example /a:b/c"},
		{"/a:b:443/x", none, "web.example /a:b:443/x"},
		{"/:443/x", none, "web.example /:443/x"},
		{"/all:443/ping", none, none},
	} {
		for entrance, want := range map[*ingress.Handler]string{entrance: test.want, root: test.withRoot} {
			of := tap
			if entrance == root {
				of = rootTap
				if want == "" && test.want != "" {
					want = test.want
				}
			}
			w := httptest.NewRecorder()
			entrance.ServeHTTP(w, httptest.NewRequest(http.MethodGet, test.path, http.NoBody))
			messages := of.take(t)
			of.check(t, messages)
			if want != none {
				want = "GET " + want
			}
			assert.Equal(t, want, lines(messages), "%s, / mapped: %t", test.path, entrance == root)
		}
	}
	w := httptest.NewRecorder()
	root.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/own", http.NoBody))
	assert.Equal(t, "the handler", w.Body.String())
}

// TestPath_LeadsNowhereElse holds that no spelling of a path gets out of the public path, nor to a port that is closed.
func TestPath_LeadsNowhereElse(t *testing.T) {
	t.Parallel()
	tap, entrance := newTap(t, mappedRoot()...)
	address := serve(t, entrance)
	for _, target := range []string{
		"/v1/api/../../secret", "/v1/api/..", "/v1/api/.", "/v1/api/./x", "/v1/api/%2e%2e/secret", "/v1/api/.%2E/secret",
		"/v1/api/..%2fsecret", "/v1/api/x%2f..%2f..%2fsecret", "/v1/api/..%5csecret", "/v1/api/..;/secret", "/v1/api/.%2e;x=y/z", "/v1/api/..\\secret",
		"/v1/api/x/..%2F../secret", "/shop/../admin", "/shop/x/../../portal/", "/shop/%2e%2e/-/metrics", "/../-/metrics",
		"/./shop", "/%2e%2e/shop.example:888/ping",
	} {
		statuses := exchange(t, address, "GET "+target+" HTTP/1.1\r\nHost: door.example\r\nConnection: close\r\n\r\n")
		assert.Equal(t, "400", statuses, target)
	}
	for _, target := range []string{
		"/shop:888/ping", "/web.example:888/ping", "/web.example:417/x", "/all:443/ping", "/shop:0443/x", "http://web.example:888/shop.example:888/ping",
	} {
		statuses := exchange(t, address, "GET "+target+" HTTP/1.1\r\nHost: shop:888\r\nConnection: close\r\n\r\n")
		assert.Equal(t, "404", statuses, target)
	}
	assert.Empty(t, lines(tap.take(t)))
	got := portaltest.Open(t, mapped()...).Get("/v1/api/..%2fx").Problem(t)
	assert.Equal(t, "the path has a segment of dots, which may lead out of /v1/api; send the path that is meant", got.Detail)
	assert.Equal(t, "no", got.Executed)
	assert.Equal(t, "/v1/api/..%2fx", got.Instance)
}

func TestPath_Errors(t *testing.T) {
	t.Parallel()
	conn := bustest.New(t).Connect("ingress")
	const shop = "https://shop.example"
	long := make([]ingress.Option, 200)
	for at := range long {
		long[at] = ingress.WithPath(fmt.Sprintf("/%d%s", at, strings.Repeat("x", 60)), shop)
	}
	path := func(path, address string) []ingress.Option { return []ingress.Option{ingress.WithPath(path, address)} }
	const noPath = "is not a path such as /shop or /shop/new: leave out queries, fragments, percent signs, semicolons, " +
		"and segments that are empty or dots"
	const noAddress = "which is not the address of a service on an open port, such as https://shop.example:443/api: "
	for _, test := range []struct {
		name    string
		options []ingress.Option
		want    string
	}{
		{"twice", append(path("/shop", shop), path("/shop", shop)...),
			`ingress.WithPath: "/shop" is there twice: name it once`},
		{"twice, in capitals", append(path("/shop", shop), path("/Shop", "https://a.example")...),
			`ingress.WithPath: "/Shop" leads to two services: name it once`},
		{"twice, with a slash", append(path("/shop", shop), path("/shop/", "https://a.example")...),
			`ingress.WithPath: "/shop/" leads to two services`},
		{"root twice", append(path("/", shop), path("/", "https://a.example")...), `"/" leads to two services`},
		{"no slash", path("shop", shop), `ingress.WithPath: "shop" ` + noPath},
		{"empty", path("", shop), `"" ` + noPath},
		{"two slashes", path("//", shop), `"//" ` + noPath},
		{"an empty segment", path("/a//b", shop), `"/a//b" ` + noPath},
		{"slashes at the end", path("/a//", shop), `"/a//" ` + noPath},
		{"dots", path("/a/../b", shop), `"/a/../b" ` + noPath},
		{"a dot", path("/./a", shop), `"/./a" ` + noPath},
		{"escapes", path("/a%20b", shop), `"/a%20b" ` + noPath},
		{"a query", path("/a?b", shop), `"/a?b" ` + noPath},
		{"a fragment", path("/a#b", shop), `"/a#b" ` + noPath},
		{"a backslash", path(`/a\b`, shop), noPath},
		{"a blank", path("/a b", shop), noPath},
		{"an end of a cookie's path", path("/a;b", shop), noPath},
		{"letters that are no ASCII", path("/é", shop), noPath},
		{"a URL", path("https://door.example/shop", shop), noPath},
		{"a host and a port", path("/shop.example:443", shop), `ingress.WithPath: "/shop.example:443" begins with a host ` +
			`and a port, whose path always leads to that host: leave out the colon`},
		{"a host in capitals and a port", path("/Shop:1", shop), "begins with a host and a port"},
		{"a host and a port, and more", path("/shop.example:80/a", shop), "begins with a host and a port"},
		{"the portal's", path("/portal", shop), `ingress.WithPath: the ingress serves "/portal" itself: choose another path`},
		{"below the portal's", path("/Portal/x", shop), `the ingress serves "/Portal/x" itself`},
		{"operators'", path("/-", shop), `the ingress serves "/-" itself`},
		{"below the operators'", path("/-/healthy", shop), `the ingress serves "/-/healthy" itself`},
		{"a handler's", append(path("/own/", shop), ingress.WithHandler("/own", http.NotFoundHandler())),
			`the ingress serves "/own/" itself`},
		{"of metadata", append(path("/.well-known/oauth-protected-resource/shop", shop),
			ingress.WithAuthorizationServers("https://login.example")),
			`the ingress serves "/.well-known/oauth-protected-resource/shop" itself`},
		{"too many", long, "ingress.WithPath: 200 paths take "},

		{"plain HTTP", path("/shop", "http://shop.example"), `ingress.WithPath: "/shop" leads to "http://shop.example", ` +
			noAddress + "addresses on the bus begin with https://"},
		{"no scheme", path("/shop", "shop.example"), noAddress + "addresses on the bus begin with https://"},
		{"no address", path("/shop", ""), noAddress + "addresses on the bus begin with https://"},
		{"no host", path("/shop", "https:///x"), noAddress + `"" is not a hostname`},
		{"all hosts", path("/shop", "https://all"), noAddress + "the host all is not open to the outside"},
		{"a login", path("/shop", "https://me:secret@shop.example"), `leads to "https://…@shop.example", ` + noAddress},
		{"another port is open", append(path("/shop", shop), ingress.WithPorts(8443)),
			"such as https://shop.example:8443/api: port \"443\" is not open"},
		{"no port is open", append(path("/shop", shop), ingress.WithPorts()), "no port is open"},
		{"a name that is none", path("/shop", "https://shop_1.example"), `"shop_1.example" is not a hostname`},
		{"requests of the framework", path("/shop", shop+":888"), noAddress + `port "888" is not open to the outside`},
		{"events", path("/shop", shop+":417"), `port "417" is not open to the outside`},
		{"a closed port", path("/shop", shop+":8443"), `port "8443" is not open to the outside`},
		{"a port that is none", path("/shop", shop+":https"), `port "https" is not open to the outside`},
		{"an address with a query", path("/shop", shop+"/a?b"), noAddress + "leave out queries"},
		{"a query without a path", path("/shop", shop+"?b"), noAddress},
		{"an address with a fragment", path("/shop", shop+"/#b"), noAddress + "leave out queries"},
		{"an address with dots", path("/shop", shop+"/a/../b"), noAddress + "leave out queries"},
		{"an address with two slashes", path("/shop", shop+"//a"), noAddress + "leave out queries"},
		{"an address with escapes", path("/shop", shop+"/%61"), noAddress + "leave out queries"},
		{"an address with half an escape", path("/shop", shop+"/%6"), noAddress + "the path has a percent sign"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := ingress.New(conn, test.options...)
			assert.ErrorContains(t, err, test.want)
		})
	}
	_, err := ingress.New(conn, ingress.WithPath("/a%", shop), ingress.WithPath("/b", "x"))
	require.ErrorContains(t, err, `"/a%"`)
	require.ErrorContains(t, err, `"/b"`)
	for _, fine := range [][]ingress.Option{
		append(path("/.well-known", shop), ingress.WithAuthorizationServers("https://login.example")),
		path("/.well-known/oauth-protected-resource", shop),
		append(path("/own/below", shop), ingress.WithHandler("/own", http.NotFoundHandler())),
		append(path("/shop", shop+":8443"), ingress.WithPorts(8443)),
		path("/docs", "https://portal"),
		path("/Talk:Main", shop),
	} {
		_, err := ingress.New(conn, fine...)
		require.NoError(t, err)
	}
}

// TestPath_Metadata keeps what the ingress itself says below /.well-known, and asks for a token with it.
func TestPath_Metadata(t *testing.T) {
	t.Parallel()
	i := portaltest.NewIssuer(t)
	entrance := portaltest.OpenFor(t, i, ingress.WithPath("/.well-known", "https://vault.example/.well-known"),
		ingress.WithPath("/vault", "https://vault.example"), ingress.WithPath("/books", "https://library.example"),
		ingress.WithOwnTokens("library.example"), ingress.WithAuthorizationServers("https://login.example"))
	entrance.Keep("vault.example", i.Trust())
	refused := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.Header().Set("X-Token", r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusUnauthorized)
	}
	entrance.Serve("library.example", 443, refused)
	assert.Contains(t, entrance.Get("/.well-known/oauth-protected-resource").Text, `"https://login.example"`)
	assert.Equal(t, "vault.example", entrance.Get("/.well-known/other").Problem(t).Host)
	assert.JSONEq(t, `{"canaryGold":7}`, entrance.Get("/vault/gold", i.In("keeper")).Text)
	challenge := entrance.Get("/vault/gold").Header.Get("WWW-Authenticate")
	assert.Contains(t, challenge, `resource_metadata="http://door.example/.well-known/oauth-protected-resource"`)
	own := entrance.Get("/books/1", "Authorization: Bearer own")
	assert.Equal(t, "Bearer", own.Header.Get("WWW-Authenticate"), "its tokens are its own")
	assert.Equal(t, "Bearer own", own.Header.Get("X-Token"))
}

// TestPath_Headers tells the service its public path, and the portal all of them, whatever a client says.
func TestPath_Headers(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t, append(mappedRoot(), ingress.WithTrustedProxies("127.0.0.0/8"))...)
	for _, host := range []string{"shop.example", "web.example"} {
		entrance.Serve(host, 443, portaltest.Echo)
	}
	plain := portaltest.Open(t)
	for _, each := range []*portaltest.Ingress{entrance, plain} {
		require.NoError(t, each.Bus.Connect("portal").Handle("GET", "/{rest+}", http.HandlerFunc(portaltest.Echo),
			bus.Undocumented()))
	}
	forged := []string{"X-Forwarded-Public-Path: /evil", "X-Forwarded-Public-Paths: {}", "X-Forwarded-Prefix: /outer"}
	const one, all = "X-Forwarded-Public-Path", "X-Forwarded-Public-Paths"
	for path, want := range map[string]string{
		"/shop/a": "/shop", "/shop": "/shop", "/": "/", "/assets/x": "/", "/v1/api/x": "", "/shop.example/a": "",
		"/shop.example:443/a": "", "/portal/": "",
	} {
		header := entrance.Get(path, forged...).Echoed(t).Header
		assert.Equal(t, want, header.Get(one), path)
		assert.Empty(t, header.Get(all), path)
		assert.Equal(t, "/outer", header.Get("X-Forwarded-Prefix"), path)
	}
	header := entrance.Get("/portal/openapi.json?version=3.1", forged...).Echoed(t).Header
	assert.Empty(t, header.Get(one))
	assert.JSONEq(t, `{
		"/": "https://web.example:443",
		"/.well-known/shop": "https://shop.example:443/.well-known/shop",
		"/icon.svg": "https://web.example:443/static/icon.svg",
		"/own": "",
		"/shop": "https://shop.example:443",
		"/shop/admin": "https://admin.example:80",
		"/v1/api": "https://shop.example:443/api/v1"
	}`, header.Get(all))
	assert.Empty(t, plain.Get("/portal/openapi.json", forged...).Echoed(t).Header.Get(all))
}

// TestPath_Locations holds that a redirect leads a client to the place that the service means, at a public path if one
// leads there.
func TestPath_Locations(t *testing.T) {
	t.Parallel()
	const dots = "/shop.example:443"
	entrance := portaltest.Open(t, append(mappedRoot(), ingress.WithPath("/only/part", "https://part.example"))...)
	for _, host := range []string{"shop.example", "web.example", "only"} {
		for _, port := range []int{443, 80} {
			entrance.Serve(host, port, leading)
		}
	}
	for _, test := range []struct{ called, to, want string }{
		{"/shop/a", "/x", "/shop/x"},
		{"/shop/a", "/", "/shop/"},
		{"/shop/a", "/x?q=/y#z", "/shop/x?q=/y#z"},
		{"/shop/a", "x", "x"},
		{"/shop/a", "../x", "/shop/x"}, // as /x is there on the bus
		{"/shop/d/a", "../x", "../x"},
		{"/shop/shop.example/d/a", "b", "b"},
		{"/shop.example/shop.example/a", "b?c", "b?c"},
		{"/shop/d/a", "../admin/q", dots + "/admin/q"},
		{"/shop/d/a", "%2E%2e/admin/q?r#s", dots + "/admin/q?r#s"},
		{"/shop/d/a", "../administration", "../administration"},
		{"/SHOP/d/a", "x", "/shop/d/x"},
		{"/v1/api/a", "../a", "/shop/api/a"},
		{"/v1/api/d/a", "../a", "../a"},
		{"/shop/w/a", "/w/../admin/q", dots + "/admin/q"},
		{"/shop/w/a", "/w/.%2E/admin/q?r=/../s", dots + "/admin/q?r=/../s"},
		{"/shop/w/a", `/w/..\admin/q`, dots + "/admin/q"},
		{"/shop/w/a", "/w/.\t./admin/q", dots + "/admin/q"},
		{"/shop/w/a", "https://shop.example/w/../admin/q", dots + "/admin/q"},
		{"/shop/w/a", "/../../w/.", "/shop/w/"},
		{"/shop/a", "/café", "/shop/caf%C3%A9"},
		{"/shop/a", `/my file|"a".txt?é`, "/shop/my%20file%7C%22a%22.txt?é"},
		{"/shop/a", `\x`, "/shop/x"},
		{"/shop/a", "mailto:x", "mailto:x"},
		{"/shop", "x", "/shop/x"},
		{"/shop", "?q", "?q"},
		{"/shop/a", "/shop/x", "/shop/shop/x"}, // a path is one on the bus
		{"/shop/a", "https://shop.example/x", "/shop/x"},
		{"/shop/a", "https://Shop.Example:443/x?y", "/shop/x?y"},
		{"/shop/a", "https://shop.example", "/shop/"},
		{"/shop/a", "https://shop.example:80/x", "/shop.example:80/x"},
		{"/shop/a", "//shop.example/x", "/shop/x"},
		{"/shop/a", "https://admin.example:80/x", "https://admin.example:80/x"}, // another service
		{"/shop/a", "https://elsewhere.example/x", "https://elsewhere.example/x"},
		{"/shop/a", "/shop.example:443/x", "/shop.example:443/x"}, // it knows where it is
		{"/shop/a", "/admin/x", dots + "/admin/x"},                // which another service has at /shop/admin
		{"/shop/a", "/administration", "/shop/administration"},
		{"/shop/a", `/\evil.example`, dots + `/\evil.example`},

		{"/v1/api/a", "/api/v1/x?q", "/v1/api/x?q"},
		{"/v1/api/a", "/api/v1", "/v1/api"},
		{"/v1/api/a", "/api/v10", "/shop/api/v10"},
		{"/v1/api/a", "/x", "/shop/x"},
		{"/v1/api/a", "/.well-known/shop/x", "/.well-known/shop/x"},
		{"/v1/api", "x", "/shop/api/x"}, // below /api/, as on the bus
		{"/v1/api", "v1/x", "/v1/api/x"},

		{"/", "/x", "/x"},
		{"/a", "/", "/"},
		{"/a", "https://web.example/x", "/x"},
		{"/a", "/shop/x", "/web.example:443/shop/x"}, // which are others' at /shop, and so on
		{"/a", "/portal/", "/web.example:443/portal/"},
		{"/a", "/own", "/web.example:443/own"},
		{"/a", "/shop.example/x", "/web.example:443/shop.example/x"},
		{"/a", "/b:443/x", "/web.example:443/b:443/x"},
		{"/a", "/Talk:Main", "/Talk:Main"},
		{"/x/a", "/x/../portal/", "/web.example:443/portal/"},
		{"/x/a", "../portal/", "/web.example:443/portal/"},
		{"/a", "https://web.example//evil.example", "/web.example:443//evil.example"},
		{"/a", `https://web.example/\evil.example`, `/web.example:443/\evil.example`},
		{"/a", "/\t/evil.example", "/web.example:443/\t/evil.example"},

		{"/shop.example/a", "/x", "/shop.example/x"}, // as it was called
		{"/shop.example/d/a", "../../x", "/shop.example/x"},
		{"/only:443/a", "/part/x", "/only:443/part/x"},
	} {
		got := entrance.Get(test.called + "?to=" + url.QueryEscape(test.to))
		assert.Equal(t, http.StatusCreated, got.StatusCode, "%s, %s: %s", test.called, test.to, got.Text)
		assert.Equal(t, test.want, got.Header.Get("Location"), "%s, %s", test.called, test.to)
		assert.Equal(t, test.want, got.Header.Get("Content-Location"), "%s, %s", test.called, test.to)
		if !strings.ContainsAny(test.to, `"`) {
			assert.Equal(t, "0;url="+test.want, got.Header.Get("Refresh"), "%s, %s", test.called, test.to)
		}
	}
	without := portaltest.Open(t, ingress.WithPath("/only/part", "https://part.example"))
	without.Serve("only", 443, leading)
	assert.Equal(t, "/only:443/part/x?y", without.Get("/only/a?to=/part/x%3fy").Header.Get("Location"))
	w := httptest.NewRecorder()
	http.StripPrefix("/bus", entrance.Handler).ServeHTTP(w,
		httptest.NewRequest(http.MethodGet, "/bus/shop/a?to=/x", http.NoBody))
	assert.Equal(t, "/bus/shop/x", w.Header().Get("Location"))
}

// TestPath_RedirectToHTTPS has a service at a public path redirect to https, which is no redirect to itself.
func TestPath_RedirectToHTTPS(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t, mapped()...)
	entrance.Serve("shop.example", 443, leading)
	got := entrance.Get("/shop/a?to=" + url.QueryEscape("https://shop.example/a?to="))
	assert.Equal(t, "/shop/a?to=", got.Header.Get("Location"))
	const same = "/shop/a"
	entrance = portaltest.Open(t, mapped()...)
	entrance.Serve("shop.example", 443, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "https://shop.example/a")
		w.WriteHeader(http.StatusMovedPermanently)
	})
	assert.Equal(t, "https://door.example"+same, entrance.Get(same).Header.Get("Location"))
}

func TestPath_Cookies(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t, append(mappedRoot(), ingress.WithPath("/only/part", "https://part.example"))...)
	without := portaltest.Open(t, ingress.WithPath("/only/part", "https://part.example"))
	without.Serve("only", 443, setting)
	for _, host := range []string{"shop.example", "web.example"} {
		entrance.Serve(host, 443, setting)
	}
	mounted := http.StripPrefix("/bus", entrance.Handler)
	for _, test := range []struct{ called, set, want string }{
		{"/shop/a", "a=1; Path=/; Domain=shop.example", "a=1; Path=/bus/shop"},
		{"/shop/a", "a=1; Path=/x/", "a=1; Path=/bus/shop/x/"},
		{"/shop/a", "a=1; Path=/shop", "a=1; Path=/bus/shop/shop"},
		{"/shop/a", "a=1", "a=1"}, // a browser takes /bus/shop
		{"/shop", "a=1", "a=1; Path=/bus/shop"},
		{"/shop", "a=1; Path=x", "a=1; Path=/bus/shop"},
		{"/shop/a", "a=1; Path=/admin", "a=1; Path=/bus/shop.example:443/admin"}, // not to the other service
		{"/shop/a", "__Host-a=1; Path=/; Secure", ""},
		{"/v1/api/a", "a=1; Path=/", "a=1; Path=/bus/v1/api"},
		{"/v1/api/a", "a=1; Path=/api", "a=1; Path=/bus/v1/api"},
		{"/v1/api/a", "a=1; Path=/api/v1/", "a=1; Path=/bus/v1/api"},
		{"/v1/api/a", "a=1; Path=/api/v1/x", "a=1; Path=/bus/v1/api/x"},
		{"/v1/api/a", "a=1; Path=/other", "a=1; Path=/bus/shop/other"},
		{"/a", "a=1; Path=/", "a=1; Path=/bus"},
		{"/a", "a=1; Path=/x", "a=1; Path=/bus/x"},
		{"/a", "a=1; Path=/shop/x", "a=1; Path=/bus/web.example:443/shop/x"},
		{"/a", "a=1; Path=/portal/", "a=1; Path=/bus/web.example:443/portal/"},
		{"/", "a=1", "a=1"},
		{"/shop/a", "a=1; Path=/x/../admin", "a=1; Path=/bus/shop.example:443/admin"},
		{"/shop/a", "a=1; Path=/café", "a=1; Path=/bus/shop/caf%C3%A9"},
	} {
		w := httptest.NewRecorder()
		mounted.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/bus"+test.called+"?set="+url.QueryEscape(test.set),
			http.NoBody))
		assert.Equal(t, http.StatusOK, w.Code, test.called)
		assert.Equal(t, test.want, strings.Join(w.Header().Values("Set-Cookie"), "|"), "%s, %s", test.called, test.set)
	}
	assert.Equal(t, "a=1; Path=/", entrance.Get("/a?set=a%3d1%3bPath%3d/").Header.Get("Set-Cookie"))
	for set, want := range map[string]string{
		"/": "/only", "/x": "/only/x", "/parts": "/only/parts", "/only/parts": "/only/parts",
		"/part/x": "/only:443/part/x", "/only/part": "/only/only/part", // where the host's path is of another service
	} {
		got := without.Get("/only/a?set=a%3d1%3bPath%3d" + set)
		assert.Equal(t, "a=1; Path="+want, got.Header.Get("Set-Cookie"), set)
	}
}

// TestPath_References has the service find its own address where a client names its public path.
func TestPath_References(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t, mappedRoot()...)
	for _, host := range []string{"shop.example", "web.example"} {
		entrance.Serve(host, 443, portaltest.Echo)
	}
	const own = "http://door.example"
	for _, test := range []struct{ called, header, sent, want string }{
		{"/shop/a", "Origin", own, "http://shop.example"},
		{"/shop/a", "Referer", own + "/shop/b%2Fc?q", "http://shop.example/b%2Fc?q"},
		{"/shop/a", "Referer", own + "/shop", "http://shop.example/"},
		{"/shop/a", "Referer", own + "/v1/api/b", "http://shop.example/api/v1/b"},
		{"/shop/a", "Referer", own + "/shop.example/b", "http://shop.example/b"},
		{"/shop/a", "Referer", own + "/shop/admin/b", own + "/shop/admin/b"},
		{"/shop/a", "Referer", own + "/b", own + "/b"},
		{"/shop/a", "Destination", "/shop/b.txt", "/b.txt"},
		{"/shop/a", "Destination", "/shop/../b.txt", "/shop/../b.txt"},
		{"/a", "Referer", own + "/", "http://web.example/"},
		{"/a", "Referer", own + "/shop/b", own + "/shop/b"},
	} {
		got := entrance.Get(test.called, test.header+": "+test.sent).Echoed(t)
		assert.Equal(t, test.want, got.Header.Get(test.header), "%s, %s: %s", test.called, test.header, test.sent)
	}
}

func TestPath_Origins(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t, append(mapped(), ingress.WithOrigins("https://app.example.com"))...)
	entrance.Serve("shop.example", 443, portaltest.Echo)
	got := entrance.Get("/shop/a", "Origin: https://app.example.com")
	assert.Equal(t, "https://app.example.com", got.Header.Get("Access-Control-Allow-Origin"))
	preflight := entrance.Send("OPTIONS /shop/a HTTP/1.1\r\nHost: a\r\nConnection: close\r\nOrigin: https://app.example.com"+
		"\r\nAccess-Control-Request-Method: PUT\r\n\r\n", http.MethodOptions)
	assert.Equal(t, "https://app.example.com", preflight.Header.Get("Access-Control-Allow-Origin"))
	other := entrance.Send("POST /shop/a HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 0\r\nOrigin: "+
		"https://evil.example\r\n\r\n", http.MethodPost)
	assert.Equal(t, http.StatusForbidden, other.Problem(t).Status)
}

// TestPath_Workers refuses what would control pages of other services.
func TestPath_Workers(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t, append(mappedRoot(), ingress.WithPath("/only/part", "https://part.example"),
		ingress.WithPath("/news", "https://news.example"), ingress.WithPath("/news/old", "https://news.example/old"),
		ingress.WithPath("/deep.example/q", "https://part.example"))...)
	for _, host := range []string{"shop.example", "web.example", "only", "news.example", "part.example"} {
		entrance.Serve(host, 443, portaltest.Echo)
	}
	for path, want := range map[string]string{
		"/shop/a/sw.js": "", "/v1/api/sw.js": "", "/assets/sw.js": "", "/shop.example/sw.js": "", "/news/sw.js": "",
		"/only/part/sw.js": "", "/only:443/sw.js": "",
		"/":                   "a service worker at / would control the pages of all services",
		"/sw.js":              "a service worker at /sw.js would control the pages of all services; give it a path in any folder below /",
		"/shop":               "a service worker at /shop would control the pages of all services; give it a path below /shop/",
		"/shop/sw.js":         "a service worker at /shop/sw.js would control pages of other services; put it into a folder",
		"/shop/":              "would control pages of other services",
		"/only/sw.js":         "would control pages of other services", // those of /only/part
		"/deep.example/sw.js": "would control pages of other services", // those of /deep.example/q
		"/DEEP.EXAMPLE/sw.js": "would control pages of other services",
		"/ONLY/sw.js":         "would control pages of other services",
		"/SHOP/sw.js":         "would control pages of other services",
		"/SHOP/a/sw.js":       "",
		"/v1/sw.js":           "would control pages of other services",
		"/v1/api":             "would control the pages of all services; give it a path below /v1/api/",
		"/.well-known/x":      "would control pages of other services",
	} {
		got := entrance.Get(path, "Service-Worker: script")
		if want == "" {
			assert.Equal(t, http.StatusOK, got.StatusCode, "%s: %s", path, got.Text)
			continue
		}
		assert.Contains(t, got.Problem(t).Detail, want, path)
		assert.Equal(t, http.StatusForbidden, got.StatusCode, path)
	}
}

// TestPath_Upgrades holds that a public path has what a host has, and no more: no other protocol, and streams as they
// come.
func TestPath_Upgrades(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t, append(mapped(), ingress.WithPath("/live", "https://live.example/feed"))...)
	entrance.Serve("shop.example", 443, portaltest.Echo)
	problem := entrance.Get("/shop/a", "Connection: Upgrade", "Upgrade: websocket").Problem(t)
	assert.Equal(t, http.StatusNotImplemented, problem.Status)

	ended := make(chan struct{})
	entrance.Serve("live.example", 443, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: one\n")
		_ = http.NewResponseController(w).Flush()
		<-ended
		fmt.Fprint(w, "data: "+r.URL.Path+"\n")
	})
	rest := readLine(t, entrance.Server.URL+"/live/x")
	close(ended)
	text, err := io.ReadAll(rest)
	require.NoError(t, err)
	assert.Equal(t, "data: /feed/x\n", string(text))
}

// TestPath_TimeBudget ends a call at a public path in time, and names the path in the problem.
func TestPath_TimeBudget(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t, append(mapped(), ingress.WithTimeBudget(50*time.Millisecond))...)
	entrance.Serve("shop.example", 443, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	problem := entrance.Get("/shop/a").Problem(t)
	assert.Equal(t, http.StatusGatewayTimeout, problem.Status)
	assert.Equal(t, "/shop/a", problem.Instance)
}

// described is a service with a document.
type described struct{}

// Add adds.
func (described) Add(x, y int) (sum int) { return x + y }

// TestPath_Documents has a document say where its reader can call: at the public path through which it was asked for,
// or at the ingress.
func TestPath_Documents(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t, append(mappedRoot(),
		ingress.WithPath("/docs.json", "https://shop.example/openapi.json"))...)
	for _, host := range []string{"shop.example", "web.example"} {
		require.NoError(t, bus.Serve(entrance.Bus.Connect(host), described{}))
	}
	var document struct {
		Servers []struct{ URL string }
		Paths   map[string]any
	}
	for path, want := range map[string][2]string{
		"/shop/openapi.json":             {"http://door.example/shop", "/add"},
		"/shop/openapi.json?version=3.1": {"http://door.example/shop", "/add"},
		"/openapi.json":                  {"http://door.example", "/add"},
		"/docs.json":                     {"http://door.example", "/shop.example:443/add"},
		"/shop.example/openapi.json":     {"http://door.example", "/shop.example:443/add"},
	} {
		document.Paths = nil
		entrance.Get(path, "X-Forwarded-Public-Path: /evil").Decode(t, &document)
		assert.Equal(t, want[0], document.Servers[0].URL, path)
		assert.Contains(t, document.Paths, want[1], path)
		assert.Len(t, document.Paths, 1, path)
		sum := entrance.Get(strings.TrimPrefix(document.Servers[0].URL, "http://door.example") + want[1] + "?x=5&y=6")
		assert.JSONEq(t, `{"sum":11}`, sum.Text, path)
	}
}

// TestPath_DocumentsOfTheirOwn leaves out of a document at a public path what is not there.
func TestPath_DocumentsOfTheirOwn(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t, append(mappedRoot(), ingress.WithAuthorizationServers("https://login.example"))...)
	for _, host := range []string{"shop.example", "web.example"} {
		conn := entrance.Bus.Connect(host)
		require.NoError(t, bus.Serve(conn, described{}))
		for _, path := range []string{"/admin/x", "/shop/x", "/portal/x", "/PORTAL", "/own", "/own/x", "/v.example/x", "/v.example",
			"/{any}/x", "/{rest+}", "/.well-known/oauth-protected-resource"} {
			require.NoError(t, conn.Handle("GET", path, http.HandlerFunc(portaltest.Echo)))
		}
	}
	all := []string{"/.well-known/oauth-protected-resource", "/PORTAL", "/add", "/admin/x", "/own", "/own/x", "/portal/x",
		"/shop/x", "/v.example", "/v.example/x", "/{any}/x", "/{rest}"}
	without := func(left ...string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(path string) bool { return slices.Contains(left, path) })
	}
	for _, version := range []string{"3.0", "3.1"} {
		for path, want := range map[string][]string{
			"/shop": without("/admin/x"),
			"":      without("/shop/x", "/portal/x", "/PORTAL", "/own", "/v.example/x", "/.well-known/oauth-protected-resource"),
		} {
			got := entrance.Get(path + "/openapi.json?version=" + version)
			document, err := openapi3.NewLoader().LoadFromData([]byte(got.Text))
			require.NoError(t, err)
			require.NoError(t, document.Validate(t.Context()))
			assert.ElementsMatch(t, want, slices.Collect(maps.Keys(document.Paths.Map())), path)
		}
		assert.Contains(t, entrance.Get("/shop.example/openapi.json?version="+version).Text, `"/shop.example:443/admin/x"`)
	}
}

// TestPath_DocumentsByHand adapts a document that a service has written itself, and passes on what is none.
func TestPath_DocumentsByHand(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t, ingress.WithPath("/hand", "https://hand.example"),
		ingress.WithPath("/hand/x", "https://other.example"))
	status, flush := http.StatusOK, false
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if flush {
			_ = http.NewResponseController(w).Flush()
		}
		_, _ = io.WriteString(w, r.URL.Query().Get("body")+strings.Repeat(" ", len(r.URL.Query().Get("large"))<<19))
	})
	require.NoError(t, entrance.Bus.Connect("hand.example").Handle("*", "/{rest+}", handler, bus.Undocumented()))
	const document, rest = `{"a":1,"paths":{"/x/y":{},"/z":{},"/x":{}},"b":2}`, `{"a":1,"paths":{"/z":{}},"b":2}`
	get := func(body string) string { return entrance.Get("/hand/openapi.json?body=" + url.QueryEscape(body)).Text }
	for _, none := range []string{"", "text", "[]", "{}", `{"paths":[]}`, `{"paths":{"/z":1}}`} {
		assert.Equal(t, none, get(none))
	}
	assert.Equal(t, rest, get(document))
	assert.Equal(t, document, entrance.Get("/hand/other.json?body="+url.QueryEscape(document)).Text)
	flush = true
	assert.Equal(t, rest, get(document), "a stream")
	large := entrance.Get("/hand/openapi.json?large=aaa&body=" + url.QueryEscape(document)).Text
	assert.Equal(t, document, strings.TrimSpace(large), "a large stream")
	status, flush = http.StatusNotFound, false
	assert.Equal(t, document, get(document))
	status = http.StatusOK
	head := entrance.Send("HEAD /hand/openapi.json?body=x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
		http.MethodHead)
	assert.Empty(t, head.Header.Get("Content-Length"))
}

// FuzzPath holds that a path leads to one place: to the longest public path that holds it, and never out of its
// address; what begins with a host and a port leads there.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{
		"/shop/a?x=1", "/shop", "/shop/admin/%2e%2e/x", "/shop%2fadmin", "/v1/api/..%2f..%5cx", "/v1/api//x/", "//shop",
		"/SHOP/x", "/a:b/c", "/shop:443/x", "/shop.example:888/x", "/web.example/x", "/-/x", "/portal/", "/.well-known/shop/é", "/a.b", "/", "*",
	} {
		f.Add(seed)
	}
	conn := bustest.New(f).Connect("ingress")
	entrance, err := ingress.New(conn, mappedRoot()...)
	require.NoError(f, err)
	leads := map[string]string{
		"/": "https://web.example:443", "/shop": "https://shop.example:443", "/shop/admin": "https://admin.example:80",
		"/v1/api": "https://shop.example:443/api/v1", "/icon.svg": "https://web.example:443/static/icon.svg",
		"/.well-known/shop": "https://shop.example:443/.well-known/shop",
	}
	f.Fuzz(func(t *testing.T, target string) {
		parsed, err := url.ParseRequestURI(target)
		if err != nil || !strings.HasPrefix(parsed.Path, "/") {
			return
		}
		sent := outside.SentPath(parsed)
		to, public, err := ingress.AddressOf(entrance, sent)
		if err != nil {
			return
		}
		if public == "" {
			as, err := outside.AddressOf(sent, outside.DefaultPorts())
			require.NoError(t, err, target)
			require.Equal(t, as, to, target)
			return
		}
		within := func(path, prefix string) bool {
			return strings.HasPrefix(outside.LowerHostOf(path)+"/", strings.TrimSuffix(prefix, "/")+"/")
		}
		for other := range leads {
			assert.False(t, len(other) > len(public) && within(sent, other), "%q: %s, and not %s", target, public, other)
		}
		assert.False(t, outside.HasPort(sent), target)
		rest := sent[len(strings.TrimSuffix(public, "/")):]
		called := to.String()
		if leads[public]+rest != called && !(rest == "" && called == leads[public]+"/") {
			t.Errorf("%q leads to %q", target, called)
		}
		address, err := url.Parse(leads[public])
		require.NoError(t, err)
		cleaned := path.Clean(strings.ReplaceAll(to.Path, `\`, "/"))
		assert.True(t, within(cleaned, address.Path), "%q leads out of %s: %s", target, public, to.Path)
		assert.Equal(t, address.Host, to.Host, target)
	})
}

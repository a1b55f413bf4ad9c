package ingress

import (
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/portal/internal/outside"
)

// Option configures an ingress, in [New].
type Option interface{ apply(*config) }

// ServerOption configures a server, in [Listen].
type ServerOption interface{ applyToServer(*serverConfig) }

// WithPorts sets the ports of the bus that are open to the outside. Give the page the same ones, in portal.WithPorts.
// Default: 443 and 80.
func WithPorts(ports ...int) Option {
	return option(func(c *config) { c.ports = slices.Clone(ports) })
}

type option func(*config)

func (o option) apply(c *config) { o(c) }

// WithTrustedProxies names the networks, such as "10.0.0.0/8", of the proxies in front of the ingress. Their
// X-Forwarded headers are kept and added to: -For, and with one value each -Host, -Proto and -Prefix, which is the part
// of the path that the proxy has removed. Those of other clients are replaced. Default: none.
func WithTrustedProxies(networks ...string) Option {
	return option(func(c *config) { c.proxies = slices.Clone(networks) })
}

// WithOrigins names the origins, such as "https://app.example.com", whose pages may call through the ingress (CORS) and
// read all of a response; "*" stands for any. They are compared exactly, and credentials such as cookies are never
// allowed. Pages of other origins can read nothing, and get 403 for all methods but GET, HEAD and OPTIONS. Default:
// none.
func WithOrigins(origins ...string) Option {
	return option(func(c *config) { c.origins = slices.Clone(origins) })
}

// WithSandbox makes browsers run each page of a service, HTML or XML, in an opaque origin of its own, apart from the
// portal's page. Such pages neither have nor set cookies, have no storage, and what they send counts as sent by another
// site. A response of any media type counts as a page unless that is known to run no scripts, such as application/json,
// text/plain and image/png. Default: they run on the origin of the ingress.
func WithSandbox() Option {
	return option(func(c *config) { c.sandbox = true })
}

// WithOwnTokens names the hosts, such as "library.example", whose services verify bearer tokens of their own. The
// ingress passes Authorization on to them like any other header: it does not verify a token in it, and takes it as no
// actor. So such a service cannot require claims of the bus, and sees every token that a client sends it by mistake.
// That is why the ingress names it, and no service can ask for it. Only the exact host counts, as an instance that is
// addressed by its id has the address of another host, such as "evil.library.example". To all others a bearer token is
// the actor, and no header. Default: none.
func WithOwnTokens(hosts ...string) Option {
	return option(func(c *config) { c.ownTokens = append(slices.Clip(c.ownTokens), hosts...) })
}

// WithTimeBudget sets how long a call may take once the request has arrived. A client can ask for less with the
// header Request-Timeout. Default: 20 s.
func WithTimeBudget(longest time.Duration) Option {
	return option(func(c *config) { c.timeBudget = longest })
}

// WithBodyLimit sets the largest request body in bytes; a larger one is answered 413; 0 allows no body at all. A body
// of more than 1 MiB, or of unknown length, is sent as it arrives. Default: only the limits of the endpoints, see
// [bus.MaxBodyBytes].
func WithBodyLimit(bytes int64) Option {
	return option(func(c *config) { c.bodyLimit = bytes })
}

// WithInFlightLimit sets how many bytes of request and response bodies the ingress holds at a time. A head beyond 4 KiB
// counts three times, for its copies; while it is read, in a server of [Listen], a connection without room for it is
// closed. If there is no room, a request is answered 503 with Retry-After: 1. A response without room is dropped: the
// answer to a GET or HEAD is the same 503, and that to any other method is a 503 without Retry-After that says that the
// call was executed. The next call of that method and address finds its room before it is made, or is answered 503 as
// not executed. A request that takes at most an 8192nd of the limit always has room, so that large ones that arrive
// slowly keep no others out, and so has one that is alone. What comes as a stream, in either direction, is not held.
// Default: 24 MiB.
func WithInFlightLimit(bytes int64) Option {
	return option(func(c *config) { c.inFlight = bytes })
}

// WithEvents offers events of services as server-sent events, at GET /<host>:417/<event>. The field data is the
// arguments as JSON, and id the place in the log or, if the event is not stored, the message id. There is no type, so
// that browsers call onmessage.
//
// Each event is named with its publisher, as in "orders.example/on-ordered"; "orders.example/*" stands for all of a
// publisher, and "*" for all. Anything else is an error of [New].
//
// Those may listen whom the publisher lets see the event, with [bus.RequireClaims] in NewPublisher of bus/events;
// without it everyone who reaches the ingress. That is why the ingress has to allow it. The publisher is asked when a
// stream begins, which ends with the token.
//
// A client that names its last event in Last-Event-ID, or ?lastEventId=, gets what was stored since; 0 stands for the
// beginning of the log. An event of type gap says that some may be missing. A client that falls 64 events behind has to
// come again.
//
// Default: port 417 is not open.
func WithEvents(events ...string) Option {
	return option(func(c *config) { c.events = append(outside.Chosen{}, events...) })
}

// WithEventStreamLimit sets how many streams of events are open at a time; a further one is answered 503. One client
// has at most a quarter of them: the subject of a token, else an address. Behind a proxy name it in
// [WithTrustedProxies], or all are one client. A server of [Listen] has no more than [WithMaxConnections] either.
// Default: 10 000.
func WithEventStreamLimit(streams int) Option {
	return option(func(c *config) { c.eventStreams = streams })
}

// WithHandler serves a path such as "/mcp", of one segment, with a handler of the program instead of a service. What
// holds for calls holds for the handler: the origins, the limits, which count the body of a request whole, and the
// verification of the token, which is refused or passed on as that of the context, see [bus.ActorOf]. Calls with that
// context have the time budget. The header has no token and no header of the bus, and the X-Forwarded headers are those
// that services get. The context ends when the client leaves, and by [Handler.Close]. A path that is taken is an error
// of [New]. Default: none.
func WithHandler(path string, handler http.Handler) Option {
	return option(func(c *config) { c.handlers = append(c.handlers, ownHandler{path, handler}) })
}

// WithPath gives a service a public path, such as "/shop" for "https://shop.example": /shop/cart calls
// https://shop.example:443/cart. The address may have a port, one of [WithPorts], and a path. Of several public paths
// the longest counts. "/" stands for what is left by hosts, the portal, handlers and operators' paths.
//
// A host keeps its path with a port, such as /shop:443/cart. One without a port is hidden by a public path of that
// name, and by "/" unless the name has a dot and the path goes on behind it, as in /shop.example/cart. The first
// segment ignores case, as hosts do. Segments of dots, also encoded once, are refused behind a public path.
//
// Cookies, redirects and documents follow: the paths that a service writes are paths on the bus. The service finds the
// public path that leads to its root in X-Forwarded-Public-Path, and the portal shows all of them. Cookies of a service
// at "/" go to all services, as they share an origin. A path that is taken or has two spellings, an address that is not
// open to the outside, and paths that take more than 16384 bytes in all, are errors of [New]. Default: none.
func WithPath(path, address string) Option {
	return option(func(c *config) { c.mappings = append(c.mappings, [2]string{path, address}) })
}

// WithAuthorizationServers names the issuers, such as "https://login.example.com", from which clients can get tokens
// for the ingress. Each 401 names where that is said, below /.well-known/oauth-protected-resource (RFC 9728), for the
// ingress as a whole and for each path of [WithHandler]. Default: none, and 401 only asks for a token.
func WithAuthorizationServers(issuers ...string) Option {
	return option(func(c *config) { c.issuers = slices.Clone(issuers) })
}

type serverOption func(*serverConfig)

func (o serverOption) applyToServer(c *serverConfig) { o(c) }

// WithAddress sets the address to listen on, host:port; port 0 is any that is free. Default: BUS_HTTP_ADDR, else
// 127.0.0.1:8080.
func WithAddress(address string) ServerOption {
	return serverOption(func(c *serverConfig) { c.address = address })
}

// WithBaseURL sets the address that people use, such as "https://api.example.com". Default: BUS_BASE_URL, else the
// address listened on. It does not change documents: see [bus.WithBaseURL] for these.
func WithBaseURL(url string) ServerOption {
	return serverOption(func(c *serverConfig) { c.baseURL = strings.TrimSuffix(url, "/") })
}

// WithGracePeriod sets how long requests in flight may take once the server is stopping. Default: 25 s, more than the
// time budget of a call.
func WithGracePeriod(longest time.Duration) ServerOption {
	return serverOption(func(c *serverConfig) { c.grace = longest })
}

// WithUnencryptedHTTP2 serves HTTP/2 without TLS (h2c) beside HTTP/1.1. It is for clients that begin with it, such as a
// proxy in front; an Upgrade to it is ignored. Default: HTTP/1.1 alone.
func WithUnencryptedHTTP2() ServerOption {
	return serverOption(func(c *serverConfig) { c.http2 = true })
}

// WithMaxConnections sets how many connections the server has at a time, at least 1. For a further one it closes the
// one that has waited for its client for longest, first of the client with the most; if none has waited for a second,
// the oldest of that client, or the new one if it is that client's. A client is an IP address, by IPv6 a network of 64
// bits; so all behind a proxy are one. An [Handler] that another server serves has no such bound: that server has to
// set one. Default: 1024.
func WithMaxConnections(connections int) ServerOption {
	return serverOption(func(c *serverConfig) { c.most = connections })
}

// WithLogger sets the logger for errors of HTTP connections, which have no level. Default: none are logged.
func WithLogger(logger zerolog.Logger) ServerOption {
	return serverOption(func(c *serverConfig) { c.errorLog = log.New(logger, "", 0) })
}

// WithSlog sets a logger of log/slog, in place of one of [WithLogger]; errors have its level error. Default: none.
func WithSlog(logger *slog.Logger) ServerOption {
	return serverOption(func(c *serverConfig) {
		c.errorLog = nil
		if logger != nil {
			c.errorLog = slog.NewLogLogger(logger.Handler(), slog.LevelError)
		}
	})
}

// config is the configuration of an ingress: defaults, then options.
type config struct {
	ports      []int
	proxies    []string       // as given
	trusted    []netip.Prefix // parsed
	origins    []string
	sites      *http.CrossOriginProtection // with the origins
	sandbox    bool
	ownTokens  []string // hosts
	timeBudget time.Duration
	bodyLimit  int64
	inFlight   int64 // 0: the default

	handlers []ownHandler
	issuers  []string    // of tokens, as URLs
	mappings [][2]string // public paths, and addresses on the bus
	paths    publicPaths // the same, parsed

	events       outside.Chosen // nil if port 417 is not open
	eventStreams int            // at most
}

func newConfig(options []Option) (*config, error) {
	config := &config{
		ports: outside.DefaultPorts(), timeBudget: defaultTimeBudget, bodyLimit: noLimit, eventStreams: defaultEventStreams,
		sites: http.NewCrossOriginProtection(),
	}
	for i, option := range options {
		if option == nil {
			return nil, outside.ErrNilOption(i)
		}
		option.apply(config)
	}
	return config, errors.Join(
		outside.CheckPorts("ingress.WithPorts", config.ports), config.parseProxies(), config.parseOrigins(),
		config.validOwnTokens(), config.checkHandlers(), config.checkIssuers(), config.parsePaths(),
		config.events.Check("ingress.WithEvents", "events", "orders.example/on-ordered"), config.validLimits())
}

func (c *config) parseProxies() error {
	for _, network := range c.proxies {
		parsed, err := netip.ParsePrefix(network)
		if err != nil {
			return fmt.Errorf("ingress.WithTrustedProxies: %q is not a network such as 10.0.0.0/8, "+
				"or 10.0.0.1/32 for one address", network)
		}
		c.trusted = append(c.trusted, parsed.Masked())
	}
	return nil
}

// parseOrigins returns an error for an origin that no browser sends, because it would allow no origin.
func (c *config) parseOrigins() error {
	for _, origin := range c.origins {
		if origin == anyOrigin {
			continue
		}
		parsed, err := url.Parse(origin)
		if err != nil || parsed.Scheme+"://"+strings.ToLower(parsed.Host) != origin ||
			c.sites.AddTrustedOrigin(origin) != nil {
			return fmt.Errorf("ingress.WithOrigins: %q is not an origin such as https://app.example.com, nor *", origin)
		}
	}
	return nil
}

// validOwnTokens returns an error for a host that no service has, or that cannot do without actors.
func (c *config) validOwnTokens() error {
	for _, host := range c.ownTokens {
		switch err := subject.CheckHost(host); {
		case err != nil:
			return fmt.Errorf("ingress.WithOwnTokens: %w", err)
		case host == outside.HostAll, host == outside.HostPortal:
			return fmt.Errorf("ingress.WithOwnTokens: the host %s is part of the bus, and takes its tokens: "+
				"name hosts of services", host)
		}
	}
	return nil
}

func (c *config) validLimits() error {
	if c.timeBudget <= 0 {
		return fmt.Errorf("ingress.WithTimeBudget: %s leaves no time for a call", c.timeBudget)
	}
	if c.bodyLimit < 0 {
		return fmt.Errorf("ingress.WithBodyLimit: %d bytes is below zero", c.bodyLimit)
	}
	if c.eventStreams < 1 {
		return fmt.Errorf("ingress.WithEventStreamLimit: %d streams are too few: leave out ingress.WithEvents for none",
			c.eventStreams)
	}
	if c.inFlight == 0 {
		c.inFlight = defaultInFlight
	}
	if c.inFlight < c.mostHeld() {
		return fmt.Errorf("ingress.WithInFlightLimit: %d bytes leave no room for one body of %d; "+
			"lower ingress.WithBodyLimit too", c.inFlight, c.mostHeld())
	}
	return nil
}

// ownHandler serves a path of the ingress itself.
type ownHandler struct {
	path    string
	handler http.Handler
}

// handlerOf returns the handler of a path, nil if it has none.
func (c *config) handlerOf(path string) http.Handler {
	for _, each := range c.handlers {
		if each.path == path {
			return each.handler
		}
	}
	return nil
}

// checkHandlers returns an error for a path that the ingress cannot serve with a handler.
func (c *config) checkHandlers() error {
	for at, each := range c.handlers {
		name, rooted := strings.CutPrefix(each.path, "/")
		switch {
		case each.handler == nil:
			return fmt.Errorf("ingress.WithHandler: the handler of %q is nil", each.path)
		case leadsToPortal(each.path), each.path == iconPath, name == "-":
			return fmt.Errorf("ingress.WithHandler: the ingress serves %q itself: choose another path", each.path)
		case !rooted || strings.Contains(name, "/") || strings.ContainsFunc(name, outside.IsStray) || name[0] == '.':
			return fmt.Errorf("ingress.WithHandler: %q is not a path of one segment, such as /mcp; longer ones are those "+
				"of services", each.path)
		case slices.ContainsFunc(c.handlers[:at], func(other ownHandler) bool { return other.path == each.path }):
			return fmt.Errorf("ingress.WithHandler: %q has two handlers", each.path)
		}
	}
	return nil
}

// checkIssuers returns an error for an authorization server that clients would refuse.
func (c *config) checkIssuers() error {
	for _, issuer := range c.issuers {
		parsed, err := url.Parse(issuer)
		isSecure := err == nil && (parsed.Scheme == "https" || parsed.Scheme == "http" && isLoopback(parsed))
		if !isSecure || parsed.Host == "" || parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "" {
			return fmt.Errorf("ingress.WithAuthorizationServers: %q is not an issuer such as https://login.example.com",
				issuer)
		}
	}
	return nil
}

// resourceOf returns the path of the protected resource to which a path belongs: that of a handler, or "" for the
// ingress as a whole.
func (c *config) resourceOf(path string) string {
	if c.handlerOf(path) != nil {
		return path
	}
	return ""
}

// hasOwnTokens reports whether a path is that of a service with tokens of its own.
func (c *config) hasOwnTokens(path string) bool {
	service, _, _ := outside.CutFirst(path)
	if public := c.paths.Of(path); public != nil {
		service = public.Host
	}
	host, _, _ := strings.Cut(service, ":")
	return slices.Contains(c.ownTokens, subject.LowerHost(host))
}

// parsePaths returns an error for each public path that cannot be one.
func (c *config) parsePaths() error {
	c.paths.open = c.ports
	for _, each := range c.handlers {
		c.paths.Reserved = append(c.paths.Reserved, each.path)
	}
	if len(c.issuers) > 0 {
		c.paths.Reserved = append(c.paths.Reserved, metadataPath+"*")
	}
	var errs []error
	for _, each := range c.mappings {
		errs = append(errs, c.paths.add(each[0], each[1]))
	}
	return errors.Join(append(errs, c.paths.finish())...)
}

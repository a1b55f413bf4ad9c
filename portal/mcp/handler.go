package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/portal/internal/outside"
	"github.com/busline/busline/portal/internal/plane"
	"github.com/busline/busline/reflectapi/similar"
)

// tools serves the tools of each caller.
type tools struct {
	conn    *bus.Conn
	config  *config
	callers plane.Callers[*caller]
	sdk     http.Handler
}

// New returns a handler of the Model Context Protocol (streamable HTTP without sessions) that calls with conn. Serve it
// with ingress.WithHandler, which verifies tokens and checks origins; nothing else does. It needs a portal on the bus.
// An error names the invalid option.
func New(conn *bus.Conn, options ...Option) (http.Handler, error) {
	if conn == nil {
		return nil, errors.New("mcp: tools cannot call without a connection")
	}
	config, err := newConfig(options)
	if err != nil {
		return nil, fmt.Errorf("mcp: %w", err)
	}
	t := &tools{conn: conn, config: config}
	t.callers = plane.Callers[*caller]{Now: time.Now, Make: t.newCaller}
	offered := &sdk.ServerCapabilities{Tools: new(sdk.ToolCapabilities)}
	if config.events != nil {
		offered.Resources = new(sdk.ResourceCapabilities)
	}
	server := sdk.NewServer(&sdk.Implementation{Name: "busline", Title: "Services on the bus", Version: conn.Version()},
		&sdk.ServerOptions{
			Capabilities: offered,
			SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { *c = private() },
		})
	server.AddReceivingMiddleware(t.dispatch)
	t.sdk = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server },
		&sdk.StreamableHTTPOptions{Stateless: true, DisableLocalhostProtection: true, PropagateRequestCancellation: true})
	return t, nil
}

// private is how long results may be kept: not at all, as each caller sees something else.
func private() sdk.Cacheable { return sdk.Cacheable{CacheScope: "private"} }

// requestKey is the key of the request in the context of what it asks for, which outlives it.
type requestKey struct{}

// ServeHTTP answers a request of the protocol.
func (t *tools) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	private := &privateWriter{ResponseWriter: w}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		bus.WriteError(private, r, bus.Errorf(http.StatusMethodNotAllowed,
			"the protocol comes with POST, without sessions and streams to listen to, not with %s", r.Method))
		return
	}
	if t.config.tokenRequired && bus.ActorOf(r.Context()) == "" {
		bus.WriteError(private, r, bus.Errorf(http.StatusUnauthorized,
			"the tools need a token: send Authorization: Bearer …"))
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		bus.WriteError(private, r, err)
		return
	}
	if !jsontext.Value(body).IsValid() { // the SDK ignores what follows a message
		private.Header().Set("Content-Type", jsonType)
		private.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(private, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%q}}`, jsonrpc.CodeParseError,
			"the body is not one JSON value, or too deep")
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	post := &postRequest{r.Context(), make(chan struct{}, callsAtOnce)}
	t.sdk.ServeHTTP(private, r.WithContext(context.WithValue(r.Context(), requestKey{}, post)))
}

// callsAtOnce is how many calls of one request run at a time: a batch of an old version may have thousands.
const callsAtOnce = 16

// postRequest is a request of the protocol.
type postRequest struct {
	context.Context // of the HTTP request

	calls chan struct{} // has one for each call that runs
}

// privateWriter keeps caches from storing a response.
type privateWriter struct {
	http.ResponseWriter

	begun bool
}

// WriteHeader sends the header.
func (p *privateWriter) WriteHeader(status int) {
	p.begun = true
	p.Header().Set("Cache-Control", "private, no-store")
	p.ResponseWriter.WriteHeader(status)
}

// Write sends a piece, and the header before the first.
func (p *privateWriter) Write(piece []byte) (int, error) {
	if !p.begun {
		p.WriteHeader(http.StatusOK)
	}
	return p.ResponseWriter.Write(piece)
}

// Unwrap returns the writer below, for [http.ResponseController].
func (p *privateWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// dispatch answers what is asked about tools and events. All else is the SDK's.
func (t *tools) dispatch(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, request sdk.Request) (sdk.Result, error) {
		if post, ok := ctx.Value(requestKey{}).(*postRequest); ok {
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(post, cancel)()
			select {
			case post.calls <- struct{}{}:
				defer func() { <-post.calls }()
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		if !t.offers(method) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("there is no method %.80q here",
				method)}
		}
		switch request := request.(type) {
		case *sdk.ListToolsRequest:
			return t.list(ctx)
		case *sdk.CallToolRequest:
			result, err := t.call(ctx, request)
			return complete(request.Session, result), err
		case *sdk.ListResourcesRequest:
			return t.listResources(ctx)
		case *sdk.ListResourceTemplatesRequest:
			return t.listTemplates(ctx)
		case *sdk.ReadResourceRequest:
			result, err := t.readResource(ctx, request.Params.URI)
			return complete(request.Session, result), err
		}
		return next(ctx, method, request)
	}
}

// offers reports whether a method is one of what the server has. The SDK answers others with empty lists.
func (t *tools) offers(method string) bool {
	switch area, _, _ := strings.Cut(method, "/"); area {
	case "prompts", "completion", "logging":
		return false
	case "resources":
		return t.config.events != nil
	default:
		return true
	}
}

// complete says that a result asks nothing of the client, as clients since 2026-07-28 expect. The SDK says it only of
// the results of its own handlers, in a field that nothing but JSON reaches.
func complete(session *sdk.ServerSession, result sdk.Result) sdk.Result {
	client := session.InitializeParams()
	if client != nil && client.ProtocolVersion < "2026-07-28" {
		return result
	}
	const complete = `{"resultType":"complete"}`
	switch result := result.(type) {
	case *sdk.CallToolResult:
		completed := new(sdk.CallToolResult)
		_ = completed.UnmarshalJSON([]byte(complete)) // is a constant
		completed.Content, completed.StructuredContent, completed.IsError = result.Content, result.StructuredContent,
			result.IsError
		return completed
	case *sdk.ReadResourceResult:
		completed := new(sdk.ReadResourceResult)
		_ = completed.UnmarshalJSON([]byte(complete)) // is a constant
		completed.Cacheable, completed.Contents = result.Cacheable, result.Contents
		return completed
	default:
		return result
	}
}

// list lists the tools of a caller, or the ones that find them.
func (t *tools) list(ctx context.Context) (sdk.Result, error) {
	known, err := t.of(ctx)
	if err != nil {
		return nil, err
	}
	result := &sdk.ListToolsResult{Cacheable: private(), Tools: []*sdk.Tool{}}
	if len(known.tools) > t.config.listLimit {
		result.Tools = known.finders()
		return result, nil
	}
	for _, each := range known.tools {
		definition, err := each.definition()
		if err != nil {
			return nil, internalError(err)
		}
		result.Tools = append(result.Tools, definition)
	}
	return result, nil
}

// call calls a tool, or one of those that find and call others.
func (t *tools) call(ctx context.Context, request *sdk.CallToolRequest) (sdk.Result, error) {
	known, err := t.of(ctx)
	if err != nil {
		return nil, err
	}
	name, arguments := request.Params.Name, request.Params.Arguments
	if len(known.tools) > t.config.listLimit {
		switch name {
		case findName:
			return known.find(arguments), nil
		case describeName:
			return known.describe(arguments), nil
		case callName:
			if name, arguments, err = calledBy(arguments); err != nil {
				return refusal("", err), nil
			}
		}
	}
	tool, err := known.named(name)
	if err != nil {
		return nil, invalid("%w", err)
	}
	return t.run(ctx, tool, arguments, request), nil
}

// of returns the tools of the caller.
func (t *tools) of(ctx context.Context) (*toolset, error) {
	known, err := t.callers.Of(bus.ActorOf(ctx)).tools.Read(ctx)
	if err != nil {
		t.log(err, "tools failed")
		return nil, internalError(outside.Visible(err))
	}
	return known, nil
}

func internalError(err error) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: outside.DetailOf(err)}
}

// named returns a tool by its name, or by a longer one that it would have if another one shared that.
func (s *toolset) named(name string) (*tool, error) {
	if known := s.byName[name]; known != nil {
		return known, nil
	}
	switch meant := s.aliases[name]; len(meant) {
	case 1:
		return meant[0], nil
	case 0:
		return nil, fmt.Errorf("there is no tool %.80q for this caller%s", name, similar.DidYouMean(name, s.names()))
	default:
		var names []string
		for _, each := range meant {
			names = append(names, each.name)
		}
		return nil, fmt.Errorf("%.80q may be each of %q: choose one", name, names)
	}
}

package bus

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/restmap"
	"github.com/busline/busline/restmap/openapi"
)

// webHandler is an http.Handler that may return an error.
type webHandler func(w http.ResponseWriter, r *http.Request) error

// checkWeb returns an error for what a web endpoint cannot say of itself, or another endpoint says already.
func (e *endpoint) checkWeb() error {
	if err := e.checkForm(); err != nil {
		return err
	}
	said := e.web
	if said == nil {
		return nil
	}
	if e.mapped.Style != restmap.Web {
		return errors.New("bus.ListedMethods, bus.QueryParam, bus.Consumes, bus.FormField and bus.Produces describe web " +
			"endpoints: leave them out, a function is described by its arguments and results")
	}
	if len(said.Methods) > 0 && e.mapped.Routes[0].Method != restmap.AnyMethod {
		return fmt.Errorf("bus.ListedMethods is for endpoints that take any method, and this one takes %s: leave it out",
			e.mapped.Routes[0].Method)
	}
	for i, method := range said.Methods {
		if method == restmap.AnyMethod || method == http.MethodHead || !openapi.Lists(method) ||
			slices.Contains(said.Methods[:i], method) {
			return fmt.Errorf("bus.ListedMethods: %q is not an HTTP method that OpenAPI lists, or is given twice", method)
		}
	}
	names := make(map[string]bool)
	for _, query := range said.Query {
		if query.Name == "" || names[query.Name] {
			return fmt.Errorf("bus.QueryParam(%q): the name is empty, or given twice", query.Name)
		}
		names[query.Name] = true
	}
	for _, mediaType := range slices.Concat(said.Consumes, said.Produces) {
		if parsed, _, err := mime.ParseMediaType(mediaType); err != nil || !strings.Contains(parsed, "/") {
			return fmt.Errorf("%q is not a media type such as text/plain; see bus.Consumes and bus.Produces", mediaType)
		}
	}
	return nil
}

// checkForm returns an error for a form that documents cannot describe.
func (e *endpoint) checkForm() error {
	described := openapi.EndpointDoc{Endpoint: e.mapped, Web: e.web}
	fields := described.Form()
	if len(fields) == 0 || e.mapped.Style != restmap.Web {
		return nil
	}
	if _, err := reflectapi.DescribeForm(fields); err != nil {
		return fmt.Errorf("%w; see bus.FormField", err)
	}
	methods := []string{e.mapped.Routes[0].Method}
	if e.web != nil && len(e.web.Methods) > 0 {
		methods = e.web.Methods
	}
	if !slices.ContainsFunc(methods, openapi.HasBody) {
		return fmt.Errorf("form field %q: requests of the method %s have no body: use POST, or bus.QueryParam",
			fields[0].Name, strings.Join(methods, ", "))
	}
	isForm := func(mediaType string) bool {
		parsed, _, _ := mime.ParseMediaType(mediaType)
		return parsed == openapi.MultipartForm || parsed == openapi.TextForm
	}
	if e.web != nil && slices.ContainsFunc(e.web.Consumes, isForm) {
		return fmt.Errorf("form field %q: fields say which form it is: leave the form out of bus.Consumes", fields[0].Name)
	}
	return nil
}

func plainHandler(handler http.Handler) webHandler {
	return func(w http.ResponseWriter, r *http.Request) error {
		handler.ServeHTTP(w, r)
		return nil
	}
}

// runWeb returns the run function of a web endpoint: it converts the message to an *http.Request, and what the handler
// writes to a response.
func runWeb(e *endpoint, handler webHandler) func(context.Context, *serverCall) (*wire.Response, error) {
	e.streamLimit = int64(e.bodyLimit)
	if e.bodyLimit == 0 {
		e.bodyLimit = webBodyLimit
	}
	marking := func(w http.ResponseWriter, r *http.Request) error {
		if err := handler(w, r); err != nil {
			return executed(err)
		}
		return nil
	}
	return func(ctx context.Context, in *serverCall) (*wire.Response, error) { return in.serveWeb(ctx, marking) }
}

// serveWeb has an HTTP handler answer a request.
func (in *serverCall) serveWeb(ctx context.Context, handler webHandler) (*wire.Response, error) {
	// httputil.ReverseProxy assumes a test if the context has no server, and then passes on a truncated answer as
	// complete.
	request, err := httpRequest(context.WithValue(ctx, http.ServerContextKey, &in.conn.shared.httpServer), in)
	if err != nil {
		return nil, err
	}
	defer removeUploads(request)
	w := &webResponse{in: in, ctx: request.Context(), isHead: request.Method == http.MethodHead, header: make(http.Header)}
	if err := handler(w, request); err != nil {
		return nil, err
	}
	return w.finish(ctx)
}

// httpRequest builds the request that an http.Handler expects of a server of net/http.
func httpRequest(ctx context.Context, in *serverCall) (*http.Request, error) {
	message := in.Request
	address, err := url.ParseRequestURI(message.Target)
	if err != nil {
		return nil, notRun(http.StatusBadRequest, err, "the request target is not a path")
	}
	host := in.Address.Host
	if in.Address.Port != subject.PublicPort {
		host += ":" + strconv.Itoa(in.Address.Port)
	}
	method := message.Method
	if message.IsHead {
		method = http.MethodHead
	}
	request := &http.Request{
		Method: method, URL: address, RequestURI: message.Target,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: message.Header.HTTP(), Host: host, RemoteAddr: remoteAddr(message), TLS: in.conn.shared.tlsOf(message),
		Body: io.NopCloser(bytes.NewReader(message.Body)), ContentLength: int64(len(message.Body)),
	}
	if message.Stream != nil {
		request.Body, request.ContentLength = message.Stream, cmp.Or(message.ContentLength, -1)
	}
	request.Pattern = in.Route.Pattern.String()
	for _, segment := range in.Route.Pattern.Segments() {
		if segment.Name != "" {
			request.SetPathValue(segment.Name, in.Value(segment.Name))
		}
	}
	return request.WithContext(ctx), nil
}

// removeUploads removes the temporary files of ParseMultipartForm, like a server of net/http.
func removeUploads(request *http.Request) {
	if request.MultipartForm != nil {
		_ = request.MultipartForm.RemoveAll() // an error is harmless: only files in the temporary directory remain
	}
}

// fromIngress returns a header field in which an ingress says where a request from outside came from, "" if the request
// does not come directly from one: calls that a service makes to serve it have the same fields.
func fromIngress(message *wire.Request, name string) string {
	if message.CallDepth > 1 {
		return ""
	}
	return message.Header.Get(name)
}

// remoteAddr returns the peer of a request, with port 0, because the bus has none: the address from which the ingress
// was called, which is the last one in X-Forwarded-For, else the calling instance.
func remoteAddr(message *wire.Request) string {
	if clients := fromIngress(message, "X-Forwarded-For"); clients != "" {
		last := clients[strings.LastIndexByte(clients, ',')+1:]
		if client, err := netip.ParseAddr(strings.TrimSpace(last)); err == nil {
			return netip.AddrPortFrom(client, 0).String()
		}
	}
	return message.FromID + "." + message.FromHost + ":0"
}

// tlsOf returns the state of TLS of a request: nil if it came to the ingress by plain HTTP. Addresses on the bus are
// https, so there is one for a call from there. As with net/http, requests share it.
func (s *shared) tlsOf(message *wire.Request) *tls.ConnectionState {
	if fromIngress(message, "X-Forwarded-Proto") == "http" {
		return nil
	}
	return &s.tlsState
}

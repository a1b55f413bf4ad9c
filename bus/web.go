package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/restmap"
	"github.com/busline/busline/restmap/openapi"
)

// webHandler is an http.Handler that may return an error.
type webHandler func(w http.ResponseWriter, r *http.Request) error

// checkWeb returns an error for what a web endpoint cannot say of itself, or another endpoint says already.
func (e *endpoint) checkWeb() error {
	said := e.web
	if said == nil {
		return nil
	}
	if e.mapped.Style != restmap.Web {
		return errors.New("bus.ListedMethods, bus.QueryParam, bus.Consumes and bus.Produces describe web endpoints: leave them out, a function is described by its arguments and results")
	}
	if len(said.Methods) > 0 && e.mapped.Routes[0].Method != restmap.AnyMethod {
		return fmt.Errorf("bus.ListedMethods is for endpoints that take any method, and this one takes %s: leave it out", e.mapped.Routes[0].Method)
	}
	for i, method := range said.Methods {
		if method == restmap.AnyMethod || method == http.MethodHead || !openapi.Lists(method) || slices.Contains(said.Methods[:i], method) {
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

func plainHandler(handler http.Handler) webHandler {
	return func(w http.ResponseWriter, r *http.Request) error {
		handler.ServeHTTP(w, r)
		return nil
	}
}

// runWeb returns the run function of a web endpoint: it converts the message to an *http.Request, and what the handler
// writes to a response.
func runWeb(e *endpoint, handler webHandler) func(context.Context, *serverCall) (*wire.Response, error) {
	if e.bodyLimit == 0 {
		e.bodyLimit = webBodyLimit
	}
	return func(ctx context.Context, in *serverCall) (*wire.Response, error) {
		// httputil.ReverseProxy assumes a test if the context has no server, and then passes on a truncated answer as
		// complete.
		request, err := httpRequest(context.WithValue(ctx, http.ServerContextKey, &in.conn.shared.httpServer), in)
		if err != nil {
			return nil, err
		}
		defer removeUploads(request)
		recorder := &recorder{header: make(http.Header)}
		if err := handler(recorder, request); err != nil {
			return nil, executed(err)
		}
		response, err := recorder.response(ctx, request.Method)
		if err == nil {
			if request.Method == http.MethodHead {
				announceLength(response, recorder.sent)
			}
			takeBackNotExecuted(response)
		}
		return response, err
	}
}

// cutOff returns the error for a handler that returned after its context had ended, because of cause. Most handlers
// have written only half of their answer then; a server of net/http would break the connection.
func cutOff(cause error) *Error {
	return newError(statusOfContext(cause), ExecutedYes, cause,
		"the handler returned after its context had ended (%s), so its answer may be cut off; an answer with a Content-Length is sent if it is that long", cause)
}

// httpRequest builds the request that an http.Handler expects of a server of net/http.
func httpRequest(ctx context.Context, in *serverCall) (*http.Request, error) {
	message := in.Request
	address, err := url.ParseRequestURI(message.Target)
	if err != nil {
		return nil, newError(http.StatusBadRequest, ExecutedNo, err, "the request target is not a path")
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

// recorder is the http.ResponseWriter of a web endpoint. It buffers the whole response until the handler returns, so
// that a handler that fails halfway answers only with its error.
type recorder struct {
	header http.Header
	sent   http.Header // the header as it was when the status was written
	wrote  bool
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header { return r.header }

// WriteHeader sets the status once. It ignores informational statuses, as no client sees them.
func (r *recorder) WriteHeader(status int) {
	if r.wrote || (status >= 100 && status < 200) {
		return
	}
	r.wrote, r.status, r.sent = true, status, r.header.Clone()
}

func (r *recorder) Write(data []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(data)
}

// response returns what was written, as the response to a request of that method; ctx is that of the handler.
func (r *recorder) response(ctx context.Context, method string) (*wire.Response, error) {
	r.WriteHeader(http.StatusOK)
	if r.status < 200 || r.status > 599 {
		return nil, fmt.Errorf("the handler wrote status %d; use 200 to 599", r.status)
	}
	if !restmap.HasContent(r.status) {
		r.body.Reset()
	} else if err := r.checkLength(ctx, method); err != nil {
		return nil, err
	}
	if r.body.Len() > 0 && r.untyped() {
		r.sent.Set("Content-Type", http.DetectContentType(r.body.Bytes()))
	}
	return &wire.Response{Status: r.status, Header: wire.FromHTTP(r.sent), Body: r.body.Bytes()}, nil
}

// untyped reports whether the type of the body is to be detected, as net/http does: not if the body is encoded, because
// the type is that of the decoded bytes, and not if the handler has set the type to nil.
func (r *recorder) untyped() bool {
	_, typed := r.sent["Content-Type"]
	return !typed && r.sent.Get("Content-Encoding") == ""
}

// checkLength returns an error for a body that may be truncated: one whose length differs from the announced
// Content-Length, for example because a copied stream ended early, or one without a Content-Length if ctx has ended. A
// server of net/http breaks the connection then. Like there, an invalid Content-Length announces nothing.
func (r *recorder) checkLength(ctx context.Context, method string) error {
	announced, err := strconv.ParseUint(r.sent.Get("Content-Length"), 10, 63)
	isWhole := err == nil && (announced == uint64(r.body.Len()) || method == http.MethodHead)
	switch {
	case ctx.Err() != nil && !isWhole:
		return cutOff(context.Cause(ctx))
	case err == nil && !isWhole:
		return fmt.Errorf("the handler announced %d bytes with Content-Length and wrote %d; write as many, or leave it out", announced, r.body.Len())
	default:
		return nil
	}
}

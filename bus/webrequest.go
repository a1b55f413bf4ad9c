package bus

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

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

// fromIngress returns a header field in which an ingress says where a request from outside came from, "" if the request does not come
// directly from one: calls that a service makes to serve it have the same fields.
func fromIngress(message *wire.Request, name string) string {
	if message.CallDepth > 1 {
		return ""
	}
	return message.Header.Get(name)
}

// remoteAddr returns the peer of a request, with port 0, because the bus has none: the address from which the ingress was called, which is
// the last one in X-Forwarded-For, else the calling instance.
func remoteAddr(message *wire.Request) string {
	if clients := fromIngress(message, "X-Forwarded-For"); clients != "" {
		last := clients[strings.LastIndexByte(clients, ',')+1:]
		if client, err := netip.ParseAddr(strings.TrimSpace(last)); err == nil {
			return netip.AddrPortFrom(client, 0).String()
		}
	}
	return message.FromID + "." + message.FromHost + ":0"
}

// tlsOf returns the state of TLS of a request: nil if it came to the ingress by plain HTTP. Addresses on the bus are https, so there is one
// for a call from there. As with net/http, requests share it.
func (s *shared) tlsOf(message *wire.Request) *tls.ConnectionState {
	if fromIngress(message, "X-Forwarded-Proto") == "http" {
		return nil
	}
	return &s.tlsState
}

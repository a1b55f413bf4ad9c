package guesttest_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"
)

// features are handlers that each use something of a server of net/http, by the path.
func features() http.Handler {
	mux := http.NewServeMux()
	step, left := make(stepwise), make(chan struct{}, 1)
	handle := func(path string, handler func(w http.ResponseWriter, r *http.Request)) { mux.HandleFunc(path, handler) }
	handle("/text", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "text") })
	handle("/nothing", func(http.ResponseWriter, *http.Request) {})
	handle("/status/{status}", func(w http.ResponseWriter, r *http.Request) {
		var status int
		_, _ = fmt.Sscan(r.PathValue("status"), &status)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "text")
	})
	handle("/kilobytes/{n}", func(w http.ResponseWriter, r *http.Request) {
		var n int
		_, _ = fmt.Sscan(r.PathValue("n"), &n)
		w.Header().Set("Content-Type", "text/plain")
		for range n {
			_, _ = w.Write(bytes.Repeat([]byte("text "), 1024/5))
		}
	})
	handle("/flushed", func(w http.ResponseWriter, r *http.Request) {
		for i := range 3 {
			_, _ = fmt.Fprintln(w, "line", i)
			_ = http.NewResponseController(w).Flush()
		}
	})
	handle("/trailers", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		_, _ = io.WriteString(w, "text")
		w.Header().Set("X-Sum", "4")
		w.Header().Set(http.TrailerPrefix+"X-Late", "yes")
	})
	handle("/trailers-only", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(http.TrailerPrefix+"X-Late", "yes")
	})
	handle("/undeclared", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "text")
		w.Header().Set("X-After", "lost")
	})
	handle("/hints", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		_, _ = io.WriteString(w, "text")
	})
	handle("/hijack", func(w http.ResponseWriter, r *http.Request) {
		connection, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			http.Error(w, "no hijacking", http.StatusNotImplemented)
			return
		}
		_, _ = io.WriteString(connection, "HTTP/1.1 200 OK\r\nContent-Length: 8\r\nContent-Type: text/plain\r\n\r\nhijacked")
		_ = connection.Close()
	})
	handle("/panic", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	handle("/panic-late", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "half")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	handle("/short", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "10")
		_, _ = io.WriteString(w, "text")
	})
	handle("/long", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "2")
		_, err := io.WriteString(w, "text")
		w.Header().Set("X-Error", fmt.Sprint(err))
	})
	handle("/header", func(w http.ResponseWriter, r *http.Request) {
		for field := range strings.SplitSeq(r.URL.RawQuery, "&") {
			name, value, _ := strings.Cut(field, "=")
			w.Header().Add(name, value)
		}
	})
	handle("/untyped", func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = nil
		_, _ = io.WriteString(w, "<html>")
	})
	handle("/large-header", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Large", strings.Repeat("x", 100<<10))
	})
	handle("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s %s %s %d %q %v", r.Method, r.RequestURI, r.Proto, r.ContentLength, body, err)
	})
	handle("/request-header", func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "%q %q %q", r.Header["X-Own"], r.Header["User-Agent"], r.Header["Accept-Encoding"])
	})
	handle("/where", func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, r.Host != "", r.TLS != nil, r.RemoteAddr != "")
	})
	handle("/chunked", func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		_, _ = fmt.Fprint(w, r.ContentLength, r.TransferEncoding, n, err, r.Trailer)
	})
	handle("/limited", func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, 10)); err != nil {
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		}
	})
	handle("/form", func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseMultipartForm(1 << 10); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		file, header, err := r.FormFile("file")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		n, _ := io.Copy(io.Discard, file)
		_, _ = fmt.Fprint(w, header.Filename, n, r.FormValue("name"))
	})
	handle("/cookie", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b", Path: "/cookie", HttpOnly: true})
	})
	handle("/cookie-domain", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b", Path: "/", Domain: "guest.example"})
	})
	handle("/host-cookie", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "__Host-a", Value: "b", Path: "/", Secure: true})
	})
	handle("/duplex", func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			http.Error(w, "half duplex", http.StatusNotImplemented)
		}
	})
	handle("/deadlines", func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		later := time.Now().Add(time.Hour)
		_, _ = fmt.Fprint(w, control.SetReadDeadline(later), control.SetWriteDeadline(later))
	})
	handle("/timeout",
		http.TimeoutHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
			time.Millisecond, "too slow").ServeHTTP)
	handle("/slash/", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Path) })
	handle("/next", step.next)
	handle("/left", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-left:
			_, _ = io.WriteString(w, "left")
		case <-r.Context().Done():
		}
	})
	handle("/lines", func(w http.ResponseWriter, r *http.Request) {
		for i := range 2 {
			_, _ = fmt.Fprintln(w, "line", i)
			_ = http.NewResponseController(w).Flush()
			if i == 0 {
				step.wait(r.Context())
			}
		}
	})
	handle("/endless", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = fmt.Fprintln(w, "line")
			_ = http.NewResponseController(w).Flush()
		}
		left <- struct{}{}
	})
	handle("GET /get", func(http.ResponseWriter, *http.Request) {})
	return mux
}

// upload is a form with a file of 100 KB.
func upload() (body []byte, field string) {
	var form bytes.Buffer
	writer := multipart.NewWriter(&form)
	_ = writer.WriteField("name", "value")
	file, _ := writer.CreateFormFile("file", "a b.txt")
	_, _ = file.Write(make([]byte, 100<<10))
	_ = writer.Close()
	return form.Bytes(), "Content-Type: " + writer.FormDataContentType()
}

// chunked sends a body of unknown length, with a trailer.
func chunked(methodAndPath string, size int) func(*testing.T, *way) []string {
	return func(t *testing.T, w *way) []string {
		t.Helper()
		method, path, _ := strings.Cut(methodAndPath, " ")
		request, err := http.NewRequestWithContext(t.Context(), method, w.base+path,
			io.NopCloser(bytes.NewReader(make([]byte, size))))
		if err != nil {
			return []string{failure(err)}
		}
		request.Trailer = http.Header{"X-Sum": {"1"}}
		response, err := w.client.Do(request)
		if err != nil {
			return []string{failure(err)}
		}
		return w.describe(response)
	}
}

// transparently lets a client ask for gzip by itself.
func transparently(methodAndPath string) func(*testing.T, *way) []string {
	return func(t *testing.T, w *way) []string {
		t.Helper()
		own := *w
		if transport, ok := w.client.Transport.(*http.Transport); ok {
			transport = transport.Clone()
			transport.DisableCompression = false
			own.client = &http.Client{Transport: transport}
		}
		response, err := own.send(t.Context(), nil, methodAndPath)
		if err != nil {
			return []string{failure(err)}
		}
		lines := own.describe(response)
		return append(lines, fmt.Sprint("uncompressed ", response.Uncompressed))
	}
}

// leaving reads the first line of an endless response, leaves, and asks whether its handler has noticed.
func leaving(path string) func(*testing.T, *way) []string {
	return func(t *testing.T, w *way) []string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
		defer cancel()
		response, err := w.send(ctx, nil, "GET "+path)
		if err != nil {
			return []string{failure(err)}
		}
		_, err = bufio.NewReader(response.Body).ReadString('\n')
		_ = response.Body.Close()
		if err != nil {
			return []string{failure(err)}
		}
		return request("GET /left")(t, w)
	}
}

// TestServer has what handlers do with a server of net/http.
func TestServer(t *testing.T) {
	t.Parallel()
	form, formType := upload()
	compare(t, features, []comparison{
		{"text", request("GET /text"), "200", "", ""},
		{"text, HEAD", request("HEAD /text"), "200", "", ""},
		{"nothing", request("GET /nothing"), "200", "", ""},
		{"nothing, HEAD", request("HEAD /nothing"), "200", "", ""},
		{"CONNECT", request("CONNECT /text"), "200", "", "501 problem instead of 200"},
		{"TRACE", request("TRACE /text"), "200", "", "501 problem instead of 200"},
		{"status 201", request("GET /status/201"), "201", "", ""},
		{"status 204", request("GET /status/204"), "204", "", ""},
		{"status 304", request("GET /status/304"), "304", "", ""},
		{"status 418", request("GET /status/418"), "418", "", ""},
		{"status 599", request("GET /status/599"), "599", "", ""},
		{"status 600", request("GET /status/600"), "600", "500 problem instead of 600", "500 problem instead of 600"},
		{"status 999", request("GET /status/999"), "999", "500 problem instead of 999", "500 problem instead of 999"},
		{"1 KB", request("GET /kilobytes/1"), "200", "", ""},
		{"10 KB, unflushed", request("GET /kilobytes/10"), "200", "+Content-Length: 10200",
			"+Content-Length: 10200; +Vary: Accept-Encoding"},
		{"10 KB, HEAD", request("HEAD /kilobytes/10"), "200", "+Content-Length: 10200", "+Vary: Accept-Encoding"},
		{"10 KB, gzip accepted", request("GET /kilobytes/10", "Accept-Encoding: gzip"), "200", "+Content-Length: 10200",
			"+Content-Encoding: gzip; +Content-Length: less; +Vary: Accept-Encoding"},
		{"10 KB, gzip by the client's transport", transparently("GET /kilobytes/10"), "200", "+Content-Length: 10200",
			"-uncompressed false; +Vary: Accept-Encoding; +uncompressed true"},
		{"5 MB", request("GET /kilobytes/5000"), "200", "", ""},
		{"flushed", request("GET /flushed"), "200", "", ""},
		{"flushed, HEAD", request("HEAD /flushed"), "200", "+Content-Length: 21", "+Content-Length: 21"},
		{"flushed, gzip accepted", request("GET /flushed", "Accept-Encoding: gzip"), "200", "", ""},
		{"trailers", request("GET /trailers"), "200", "", ""},
		{"trailers, HEAD", request("HEAD /trailers"), "200", "-Trailer: X-Sum; +Content-Length: 4",
			"-Trailer: X-Sum; +Content-Length: 4"},
		{"trailers without a body", request("GET /trailers-only"), "200", "", ""},
		{"header after the body", request("GET /undeclared"), "200", "", ""},
		{"103 before the response", request("GET /hints"), "200", "-before it 103", "-before it 103"},
		{"hijacked", request("GET /hijack"), "200", "501 instead of 200", "501 instead of 200"},
		{"panic", request("GET /panic"), "broken", "500 problem instead of broken", "500 problem instead of broken"},
		{"panic after a flush", request("GET /panic-late"), "200", "", ""},
		{"less than Content-Length", request("GET /short"), "200", "500 problem instead of 200",
			"500 problem instead of 200"},
		{"more than Content-Length", request("GET /long"), "200", "500 problem instead of 200", "500 problem instead of 200"},
		{"a header twice", request("GET /header?X-A=1&X-A=2"), "200", "", ""},
		{"X-Accel-Redirect", request("GET /header?X-Accel-Redirect=/a"), "200", "", "-X-Accel-Redirect: /a"},
		{"Strict-Transport-Security", request("GET /header?Strict-Transport-Security=max-age=1"), "200", "",
			"-Strict-Transport-Security: max-age=1"},
		{"Access-Control-Allow-Origin", request("GET /header?Access-Control-Allow-Origin=*"), "200", "",
			"-Access-Control-Allow-Origin: *"},
		{"Date of its own", request("GET /header?Date=Tue,%2025%20Jun%202024%2017:12:18%20GMT"), "200", "", ""},
		{"Server", request("GET /header?Server=own"), "200", "", ""},
		{"Connection: close", request("GET /header?Connection=close"), "200", "", ""},
		{"Bus- header of its own", request("GET /header?Bus-Own=1"), "200", "-Bus-Own: 1", "-Bus-Own: 1"},
		{"no type", request("GET /untyped"), "200", "", ""},
		{"header of 100 KB", request("GET /large-header"), "200", "500 problem instead of 200", "500 problem instead of 200"},
		{"body", requestWith([]byte("text"), "POST /echo?a=b%20c", "Content-Type: text/plain"), "200", "", ""},
		{"body with GET", requestWith([]byte("text"), "GET /echo"), "200", "", ""},
		{"body of no bytes", requestWith([]byte{}, "PUT /echo"), "200", "", ""},
		{"target as it was sent", request("GET /echo?a=1;b=2&c=%zz"), "200", "", ""},
		{"request header", request("GET /request-header", "X-Own: 1", "X-Own: 2", "User-Agent: mine"), "200", "", ""},
		{"request header by default", request("GET /request-header"), "200",
			"-Content-Length: 28; -body \"[] [\\\"Go-http-client/1.1\\\"] []\"; +Content-Length: 8; +body \"[] [] []\"", ""},
		{"host, TLS and address", request("GET /where"), "200", "", ""},
		{"100-continue", requestWith([]byte("text"), "POST /echo", "Expect: 100-continue"), "200", "-before it 100", ""},
		{"chunked, small", chunked("POST /chunked", 10), "200", "-Content-Length: 36; -body \"-1 [chunked] 10 <nil> " +
			"map[X-Sum:[1]]\"; +Content-Length: 20; +body \"10 [] 10 <nil> map[]\"",
			"-Content-Length: 36; -body \"-1 [chunked] 10 <nil> map[X-Sum:[1]]\"; +Content-Length: 20; " +
				"+body \"10 [] 10 <nil> map[]\""},
		{"chunked, 5 MB", chunked("POST /chunked", 5<<20), "200", "-Content-Length: 41; -body \"-1 [chunked] 5242880 <nil> " +
			"map[X-Sum:[1]]\"; +Content-Length: 25; +body \"-1 [] 5242880 <nil> map[]\"",
			"-Content-Length: 41; -body \"-1 [chunked] 5242880 <nil> map[X-Sum:[1]]\"; +Content-Length: 25; " +
				"+body \"-1 [] 5242880 <nil> map[]\""},
		{"too large for its handler", requestWith(make([]byte, 5<<20), "POST /limited"), "413", "", ""},
		{"5 MB that is not read", requestWith(make([]byte, 5<<20), "POST /text"), "200", "", ""},
		{"file of a form", requestWith(form, "POST /form", formType), "200", "", ""},
		{"cookie", request("GET /cookie"), "200", "",
			"-Set-Cookie: a=b; Path=/cookie; HttpOnly; +Set-Cookie: a=b; HttpOnly; Path=/cookie"},
		{"cookie of a domain", request("GET /cookie-domain"), "200", "",
			"-Set-Cookie: a=b; Path=/; Domain=guest.example; +Set-Cookie: a=b; Path=/guest.example"},
		{"cookie of the host", request("GET /host-cookie"), "200", "", "-Set-Cookie: __Host-a=b; Path=/; Secure"},
		{"full duplex", request("GET /duplex"), "200", "501 instead of 200", "501 instead of 200"},
		{"deadlines", request("GET /deadlines"), "200", "", ""},
		{"TimeoutHandler", request("GET /timeout"), "503", "", ""},
		{"to the path with a slash", request("GET /slash?a=b"), "307", "", ""},
		{"to the cleaned path", request("GET /slash/a/../b//c"), "307", "", ""},
		{"method that the mux refuses", request("POST /get"), "405", "", ""},
		{"path that the mux does not have", request("GET /none"), "404", "", ""},
		{"first lines before the end", piecewise("/lines", "line 0"), "line 0", "", ""},
		{"client that leaves", leaving("/endless"), "200", "", ""},
	})
}

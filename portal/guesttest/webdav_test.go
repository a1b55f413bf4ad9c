package guesttest_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/webdav"
)

// webDAV is a server with no files yet.
func webDAV() http.Handler {
	return &webdav.Handler{FileSystem: webdav.NewMemFS(), LockSystem: webdav.NewMemLS()}
}

// timeless takes what depends on the time out of what do sees.
func timeless(do func(*testing.T, *way) []string) func(*testing.T, *way) []string {
	return func(t *testing.T, w *way) []string {
		t.Helper()
		lines := do(t, w)
		for i, line := range lines {
			for _, name := range []string{"Etag", "Last-Modified"} {
				if strings.HasPrefix(line, name+": ") {
					lines[i] = name + ": one"
				}
			}
		}
		return lines
	}
}

// propfind asks for a property, and reports whether paths are listed as the client has to call them.
func propfind(path, property, depth string) func(*testing.T, *way) []string {
	body := `<?xml version="1.0"?><propfind xmlns="DAV:"><prop><` + property + `/></prop></propfind>`
	return func(t *testing.T, w *way) []string {
		t.Helper()
		response, err := w.send(t.Context(), strings.NewReader(body), "PROPFIND "+path, "Depth: "+depth)
		if err != nil {
			return []string{failure(err)}
		}
		var kept bytes.Buffer
		response.Body = io.NopCloser(io.TeeReader(response.Body, &kept))
		lines := w.describe(response)
		return append(lines, fmt.Sprint("path as called ",
			strings.Contains(kept.String(), "<D:href>"+w.prefix+path+"</D:href>")))
	}
}

// locked locks a file, and writes it without and with the token of the lock.
func locked(t *testing.T, w *way) []string {
	t.Helper()
	const lock = `<?xml version="1.0"?><lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype><owner>me</owner></lockinfo>`
	response, err := w.send(t.Context(), strings.NewReader(lock), "LOCK /locked", "Timeout: Second-60", "Depth: 0")
	if err != nil {
		return []string{failure(err)}
	}
	token := response.Header.Get("Lock-Token")
	lines := w.describe(response)[:1]
	for _, step := range []struct {
		request string
		field   string
	}{
		{"PUT /locked", "X-None: none"},
		{"PUT /locked", "If: (" + token + ")"},
		{"UNLOCK /locked", "Lock-Token: " + token},
		{"PUT /locked", "X-None: none"},
	} {
		response, err := w.send(t.Context(), bytes.NewReader([]byte("text")), step.request, step.field)
		if err != nil {
			return append(lines, failure(err))
		}
		lines[0] += " " + w.describe(response)[0]
	}
	return lines
}

// TestWebDAV_Litmus has the sequences basic and copymove of litmus, and a lock.
func TestWebDAV_Litmus(t *testing.T) {
	t.Parallel()
	const (
		patch = `<?xml version="1.0"?><propertyupdate xmlns="DAV:"><set><prop><x xmlns="urn:x">1</x></prop></set></propertyupdate>`
	)
	text, other := []byte("text"), []byte("another text")
	cases := []comparison{
		{"OPTIONS", request("OPTIONS /"), "200", "", ""},
		{"PUT", requestWith(text, "PUT /res"), "201", "", ""},
		{"GET", request("GET /res"), "200", "", ""},
		{"HEAD", request("HEAD /res"), "200", "", ""},
		{"PUT again", requestWith(other, "PUT /res"), "201", "", ""},
		{"GET again", request("GET /res"), "200", "", ""},
		{"OPTIONS of a file", request("OPTIONS /res"), "200", "", ""},
		{"PUT in UTF-8", requestWith(text, "PUT /res-%e2%82%ac"), "201", "", ""},
		{"GET in UTF-8", request("GET /res-%e2%82%ac"), "200", "", ""},
		{"PUT without a parent", requestWith(text, "PUT /none/res"), "409", "", ""},
		{"PUT on a collection", requestWith(text, "PUT /"), "404", "", ""},
		{"MKCOL over a file", request("MKCOL /res"), "405", "", ""},
		{"DELETE", request("DELETE /res-%e2%82%ac"), "204", "", ""},
		{"DELETE of nothing", request("DELETE /res-%e2%82%ac"), "404", "", ""},
		{"MKCOL", request("MKCOL /coll/"), "201", "", ""},
		{"MKCOL percent-encoded", request("MKCOL /coll%3Cx%3E/"), "201", "", ""},
		{"MKCOL again", request("MKCOL /coll/"), "405", "", ""},
		{"DELETE of a collection", request("DELETE /coll%3Cx%3E/"), "204", "", ""},
		{"MKCOL without a parent", request("MKCOL /none/coll/"), "409", "", ""},
		{"MKCOL with a body", requestWith([]byte("<x/>"), "MKCOL /body/", "Content-Type: text/xml"), "415", "", ""},
		{"PROPFIND of a file", propfind("/res", "getcontentlength", "0"), "207", "",
			"-path as called true; +path as called false"},
		{"PROPFIND of a collection", propfind("/coll/", "resourcetype", "0"), "207", "",
			"-path as called true; +path as called false"},
		{"PROPFIND of nothing", propfind("/none", "resourcetype", "0"), "404", "", ""},
		{"PROPFIND malformed", requestWith([]byte("<propfind"), "PROPFIND /res", "Depth: 0"), "400", "", ""},
		{"PROPPATCH", requestWith([]byte(patch), "PROPPATCH /res"), "207", "", ""},

		{"COPY", request("COPY /res", "Destination: /copy", "Overwrite: F"), "201", "", ""},
		{"COPY over it", request("COPY /res", "Destination: /copy", "Overwrite: F"), "412", "", ""},
		{"COPY with Overwrite", request("COPY /res", "Destination: /copy", "Overwrite: T"), "204", "", ""},
		{"COPY without Overwrite", request("COPY /res", "Destination: /copy"), "204", "", ""},
		{"COPY without Destination", request("COPY /res"), "400", "", ""},
		{"COPY to itself", request("COPY /res", "Destination: /res"), "403", "", ""},
		{"COPY to no collection", request("COPY /res", "Destination: /none/copy"), "409", "", ""},
		{"COPY to a name with a space", request("COPY /res", "Destination: /a%20copy"), "201", "", ""},
		{"COPY to a name in UTF-8", request("COPY /res", "Destination: /%e2%82%ac"), "201", "", ""},
		{"content of the copy", request("GET /copy"), "200", "", ""},
		{"PUT into the collection", requestWith(text, "PUT /coll/one"), "201", "", ""},
		{"PROPFIND with members", propfind("/coll/", "resourcetype", "1"), "207", "",
			"-path as called true; +path as called false"},
		{"COPY of a collection", request("COPY /coll/", "Destination: /coll2/"), "201", "", ""},
		{"member of the copy", request("GET /coll2/one"), "200", "", ""},
		{"COPY with Depth 0", request("COPY /coll/", "Destination: /coll3/", "Depth: 0"), "201", "", ""},
		{"no member of the copy", request("GET /coll3/one"), "404", "", ""},
		{"COPY with Depth 1", request("COPY /coll/", "Destination: /coll4/", "Depth: 1"), "400", "", ""},
		{"COPY of a collection over it", request("COPY /coll/", "Destination: /coll2/", "Overwrite: F"), "412", "", ""},
		{"MOVE", request("MOVE /copy", "Destination: /moved"), "201", "", ""},
		{"moved away", request("GET /copy"), "404", "", ""},
		{"moved there", request("GET /moved"), "200", "", ""},
		{"MOVE over it", request("MOVE /moved", "Destination: /res", "Overwrite: F"), "412", "", ""},
		{"MOVE with Overwrite", request("MOVE /moved", "Destination: /res", "Overwrite: T"), "204", "", ""},
		{"MOVE of a collection", request("MOVE /coll2/", "Destination: /coll5/"), "201", "", ""},
		{"member of what was moved", request("GET /coll5/one"), "200", "", ""},
		{"MOVE of a collection over a file", request("MOVE /coll5/", "Destination: /res", "Overwrite: T"), "204", "", ""},
		{"MOVE with Depth 0", request("MOVE /res", "Destination: /coll6/", "Depth: 0"), "400", "", ""},
		{"LOCK", locked, "201 423 201 204 201", "", ""},
		{"5 MB", requestWith(make([]byte, 5<<20), "PUT /large"), "201", "", ""},
		{"GET of 5 MB", request("GET /large"), "200", "", ""},
		{"DELETE of a collection with members", request("DELETE /coll/"), "204", "", ""},
		{"GET of its member", request("GET /coll/one"), "404", "", ""},
	}
	for i := range cases {
		cases[i].do = timeless(cases[i].do)
	}
	compare(t, webDAV, cases)
}

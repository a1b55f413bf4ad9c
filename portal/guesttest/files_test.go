package guesttest_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// written is when all files were last changed, but for those of /epoch.
var written = time.Date(2024, time.June, 25, 17, 12, 18, 123, time.UTC)

// files are those that the server of TestFiles has.
var files = fstest.MapFS{
	"file":                {Data: []byte("0123456789\n"), ModTime: written},
	"empty.txt":           {ModTime: written},
	"style.css":           {Data: []byte("body {}\n"), ModTime: written},
	"large.css":           {Data: []byte(strings.Repeat("body {}\n", 1000)), ModTime: written},
	"large.bin":           {Data: bytes.Repeat([]byte{0, 1, 2, 3}, 1<<20), ModTime: written},
	"page.html":           {Data: []byte("<html>page"), ModTime: written},
	"site/index.html":     {Data: []byte("<html>index"), ModTime: written},
	"list/a name":         {ModTime: written},
	"list/b\"'<>&":        {ModTime: written},
	"list/c?foo=bar&baz":  {ModTime: written},
	"list/d:e%20f":        {Data: []byte("percent"), ModTime: written},
	"list/sub/index.html": {Data: []byte("<html>sub"), ModTime: written},
	"epoch":               {Data: []byte("<html>foo"), ModTime: time.Unix(0, 0)},
	"picture.png":         {Data: []byte("\x89PNG\x0d\x0a\x1a\x0a"), ModTime: written},
}

// broken cannot open files.
type broken struct{ err error }

func (b broken) Open(string) (fs.File, error) { return nil, b.err }

// zipping is a ResponseWriter that compresses.
type zipping struct {
	http.ResponseWriter

	to io.Writer
}

func (z zipping) Write(data []byte) (int, error) { return z.to.Write(data) }

func fileServer() http.Handler {
	content := func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		for name, field := range map[string]string{"etag": "ETag", "type": "Content-Type", "encoding": "Content-Encoding",
			"length": "Content-Length"} {
			if value := query.Get(name); value != "" {
				w.Header().Set(field, value)
			}
		}
		modified := written
		if query.Has("unchanged") {
			modified = time.Time{}
		}
		name := strings.TrimPrefix(r.URL.Path, "/content/")
		http.ServeContent(w, r, name, modified, bytes.NewReader(files[name].Data))
	}
	handlers := []struct {
		prefix  string
		handler http.Handler
	}{
		{"/files", http.StripPrefix("/files", http.FileServerFS(files))},
		{"/content/", http.HandlerFunc(content)},
		{"/one", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, files, "file") })},
		{"/index", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.ServeFileFS(w, r, files, "site/index.html")
		})},
		{"/directory", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.ServeFileFS(w, r, files, "list")
		})},
		{"/dots/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, files, "file") })},
		{"/denied", http.FileServerFS(broken{fs.ErrPermission})},
		{"/missing", http.FileServerFS(broken{fs.ErrNotExist})},
		{"/failing", http.FileServerFS(broken{errors.New("the disk is broken")})},
		{"/zipping", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			to := gzip.NewWriter(w)
			http.ServeFileFS(zipping{w, to}, r, files, "large.css")
			_ = to.Close()
		})},
		{"/headers", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for name, value := range map[string]string{"Cache-Control": "max-age=1", "Content-Encoding": "gzip", "Etag": `"x"`,
				"Last-Modified": "Wed, 25 Jun 2014 17:12:18 GMT", "Other": "kept"} {
				w.Header().Set(name, value)
			}
			http.ServeFileFS(w, r, files, "none")
		})},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, one := range handlers {
			if strings.HasPrefix(r.URL.Path, one.prefix) {
				one.handler.ServeHTTP(w, r)
				return
			}
		}
		http.NotFound(w, r)
	})
}

// TestFiles has the cases in which net/http tests its own file server.
func TestFiles(t *testing.T) {
	t.Parallel()
	compare(t, fileServer, []comparison{
		{"whole", request("GET /one"), "200", "", ""},
		{"HEAD", request("HEAD /one"), "200", "", ""},
		{"POST", request("POST /one"), "200", "", ""},
		{"DELETE", request("DELETE /files/file"), "200", "", ""},
		{"OPTIONS", request("OPTIONS /files/file"), "200", "", ""},
		{"another method", request("FOO /files/file"), "200", "", ""},
		{"HEAD with a range", request("HEAD /one", "Range: bytes=2-5"), "206", "", ""},
		{"HEAD of what is not there", request("HEAD /files/none"), "404", "", ""},

		{"range 0-4", request("GET /one", "Range: bytes=0-4"), "206", "", ""},
		{"range 2-", request("GET /one", "Range: bytes=2-"), "206", "", ""},
		{"range -5", request("GET /one", "Range: bytes=-5"), "206", "", ""},
		{"range 3-7", request("GET /one", "Range: bytes=3-7"), "206", "", ""},
		{"range 5-1000", request("GET /one", "Range: bytes=5-1000"), "206", "", ""},
		{"range 0-9", request("GET /one", "Range: bytes=0-9"), "206", "", ""},
		{"range 0-10", request("GET /one", "Range: bytes=0-10"), "206", "", ""},
		{"range 0-11", request("GET /one", "Range: bytes=0-11"), "206", "", ""},
		{"range 10-11", request("GET /one", "Range: bytes=10-11"), "206", "", ""},
		{"range 10-", request("GET /one", "Range: bytes=10-"), "206", "", ""},
		{"range 11-", request("GET /one", "Range: bytes=11-"), "416", "", ""},
		{"range 11-12", request("GET /one", "Range: bytes=11-12"), "416", "", ""},
		{"range 12-100", request("GET /one", "Range: bytes=12-100"), "416", "", ""},
		{"range 100-1000", request("GET /one", "Range: bytes=100-1000"), "416", "", ""},
		{"range -0", request("GET /one", "Range: bytes=-0"), "206", "", ""},
		{"range --6", request("GET /one", "Range: bytes=--6"), "416", "", ""},
		{"range 4-2", request("GET /one", "Range: bytes=4-2"), "416", "", ""},
		{"range of words", request("GET /one", "Range: words=0-2"), "416", "", ""},
		{"two ranges", request("GET /one", "Range: bytes=0-0,-2"), "206", "", ""},
		{"two ranges 0-1,5-8", request("GET /one", "Range: bytes=0-1,5-8"), "206", "", ""},
		{"two ranges 0-1,5-", request("GET /one", "Range: bytes=0-1,5-"), "206", "", ""},
		{"wasteful ranges", request("GET /one", "Range: bytes=0-,1-,2-,3-,4-"), "200", "", ""},
		{"range of an empty file", request("GET /content/empty.txt", "Range: bytes=0-10"), "200", "", ""},
		{"range of a large file", request("GET /files/large.bin", "Range: bytes=1000-3000000"), "206", "", ""},
		{"two ranges of a large file", request("GET /files/large.bin", "Range: bytes=0-1999999,2500000-3999999"),
			"206", "", ""},

		{"no time", request("GET /content/style.css?unchanged"), "200", "", ""},
		{"If-Modified-Since its time", request("GET /content/style.css", "If-Modified-Since: Tue, 25 Jun 2024 17:12:18 GMT"),
			"304", "", ""},
		{"If-Modified-Since before", request("GET /content/style.css", "If-Modified-Since: Tue, 25 Jun 2024 17:12:17 GMT"),
			"200", "", ""},
		{"If-Modified-Since with a type and a tag",
			request("GET /content/style.css?type=text/css&etag=%22a%22", "If-Modified-Since: Tue, 25 Jun 2024 17:12:18 GMT"),
			"304", "", ""},
		{"If-Modified-Since of a directory", request("GET /files/list/", "If-Modified-Since: Fri, 01 Jan 2038 00:00:00 GMT"),
			"200", "", ""},
		{"If-Modified-Since of an index", request("GET /files/site/", "If-Modified-Since: Tue, 25 Jun 2024 17:12:18 GMT"),
			"304", "", ""},
		{"If-Modified-Since with HEAD", request("HEAD /files/file", "If-Modified-Since: Tue, 25 Jun 2024 17:12:18 GMT"),
			"304", "", ""},
		{"If-None-Match", request("GET /content/style.css?etag=%22a%22", `If-None-Match: "a"`), "304", "", ""},
		{"If-None-Match weak", request("GET /content/style.css?etag=W/%22a%22", `If-None-Match: "b", W/"a"`), "304", "", ""},
		{"If-None-Match any", request("GET /content/style.css?etag=%22a%22", "If-None-Match: *"), "304", "", ""},
		{"If-None-Match another", request("GET /content/style.css?etag=%22a%22", `If-None-Match: "A"`), "200", "", ""},
		{"If-None-Match malformed", request("GET /content/style.css?etag=%22a%22", "If-None-Match: ,"), "200", "", ""},
		{"If-None-Match with POST", request("POST /content/style.css?etag=%22a%22", `If-None-Match: "a"`), "412", "", ""},
		{"If-Match", request("GET /content/style.css?etag=%22a%22", `If-Match: "z", "a"`), "200", "", ""},
		{"If-Match any", request("GET /content/style.css?etag=%22a%22", "If-Match: *"), "200", "", ""},
		{"If-Match another", request("GET /content/style.css?etag=%22a%22", `If-Match: "b"`), "412", "", ""},
		{"If-Match weak", request("GET /content/style.css?etag=W/%22a%22", `If-Match: W/"a"`), "412", "", ""},
		{"If-Unmodified-Since its time", request("GET /content/style.css",
			"If-Unmodified-Since: Tue, 25 Jun 2024 17:12:18 GMT"), "200", "", ""},
		{"If-Unmodified-Since before", request("GET /content/style.css",
			"If-Unmodified-Since: Tue, 25 Jun 2024 17:12:16 GMT"), "412", "", ""},
		{"range of a tag", request("GET /content/style.css?etag=%22a%22", "Range: bytes=0-4"), "206", "", ""},
		{"If-Range the tag", request("GET /content/style.css?etag=%22a%22", "Range: bytes=0-4", `If-Range: "a"`),
			"206", "", ""},
		{"If-Range a weak tag", request("GET /content/style.css?etag=W/%22a%22", "Range: bytes=0-4", `If-Range: W/"a"`),
			"200", "", ""},
		{"If-Range another tag", request("GET /content/style.css?etag=%22a%22", "Range: bytes=0-4", `If-Range: "b"`),
			"200", "", ""},
		{"If-Range its time", request("GET /content/style.css", "Range: bytes=0-4",
			"If-Range: Tue, 25 Jun 2024 17:12:18 GMT"), "206", "", ""},
		{"If-Range another time", request("GET /content/style.css", "Range: bytes=0-4",
			"If-Range: Tue, 25 Jun 2024 17:12:19 GMT"), "200", "", ""},
		{"range beyond, with a tag", request("GET /content/style.css?etag=%22a%22", "Range: bytes=10-20"), "416", "", ""},

		{"type from the name", request("GET /files/style.css"), "200", "", ""},
		{"type from the content", request("GET /files/epoch"), "200", "", ""},
		{"type of a picture", request("GET /files/picture.png"), "200", "", ""},
		{"type of its own", request("GET /content/style.css?type=text/plain"), "200", "", ""},
		{"no bytes", request("GET /files/empty.txt"), "200", "", ""},
		{"large", request("GET /files/large.bin"), "200", "", ""},
		{"large, HEAD", request("HEAD /files/large.bin"), "200", "", ""},
		{"already encoded", request("GET /content/style.css?encoding=gzip", "Accept-Encoding: gzip"), "200", "", ""},
		{"already encoded, with its length", request("GET /content/style.css?encoding=gzip&length=8",
			"Accept-Encoding: gzip"), "200", "", ""},
		{"already encoded, range", request("GET /content/style.css?encoding=gzip", "Accept-Encoding: gzip",
			"Range: bytes=0-4"), "206", "", ""},
		{"compressed by the handler", request("GET /zipping", "Accept-Encoding: gzip"), "200", "", ""},
		{"range, compressed by the handler", request("GET /zipping", "Accept-Encoding: gzip", "Range: bytes=0-4"), "206",
			"500 problem instead of 206", "500 problem instead of 206"},
		{"text that gzip makes smaller", request("GET /files/large.css", "Accept-Encoding: gzip"), "200", "", ""},

		{"list", request("GET /files/list/"), "200", "", ""},
		{"list, HEAD", request("HEAD /files/list/"), "200", "", ""},
		{"index", request("GET /files/site/"), "200", "", ""},
		{"to the directory of an index", request("GET /files/site/index.html"), "301", "", ""},
		{"to the directory of an index, with a query", request("GET /files/site/index.html?a=b"), "301", "", ""},
		{"to a directory", request("GET /files/site"), "301", "", ""},
		{"to a directory, with a query", request("GET /files/site?a=b%20c"), "301", "", ""},
		{"from a file with a slash", request("GET /files/file/"), "301", "", ""},
		{"ServeFile of an index", request("GET /index/index.html"), "301", "", ""},
		{"ServeFile of a directory", request("GET /directory"), "301", "", ""},
		{"root", request("GET /files/"), "200", "", ""},
		{"root without a slash", request("GET /files"), "200", "", ""},
		{"name with a space", request("GET /files/list/a%20name"), "200", "", ""},
		{"name with a question mark", request("GET /files/list/c%3Ffoo=bar&baz"), "200", "", ""},
		{"name with a percent sign", request("GET /files/list/d:e%2520f"), "200", "", ""},
		{"name with a zero byte", request("GET /files/fi%00le"), "404", "", ""},
		{"not there", request("GET /files/none"), "404", "", ""},
		{"below a file", request("GET /files/file/below"), "404", "", ""},
		{"two slashes", request("GET /files//file"), "200", "", ""},
		{"dots", request("GET /files/site/../file"), "200", "", ""},
		{"dots above the root", request("GET /files/../../file"), "200", "", ""},
		{"encoded dots", request("GET /files/%2e%2e/file"), "200", "", ""},
		{"ServeFile of dots", request("GET /dots/../file"), "400", "", ""},
		{"ServeFile of a name with dots", request("GET /dots/a..b"), "200", "", ""},
		{"denied", request("GET /denied"), "403", "", ""},
		{"missing", request("GET /missing"), "404", "", ""},
		{"failing", request("GET /failing"), "500", "", ""},
		{"header of a failure", request("GET /headers"), "404", "", ""},
	})
}

package portal

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"path"
)

// pageFiles holds the files of the page.
//
//go:embed page
var pageFiles embed.FS

// pageFile is one file of the page.
type pageFile struct {
	content     []byte
	contentType string
	tag         string // entity tag of the content, so that a browser loads it only once; weak, so that it is compressed
}

// pageHandlers returns a handler for each file of the page, by its path.
func pageHandlers() (map[string]http.Handler, error) {
	handlers := make(map[string]http.Handler)
	entries, err := fs.ReadDir(pageFiles, "page")
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		file, err := readPageFile(entry.Name())
		if err != nil {
			return nil, err
		}
		if entry.Name() == "index.html" {
			handlers["/"] = file
		} else {
			handlers["/"+entry.Name()] = file
		}
	}
	return handlers, nil
}

func readPageFile(name string) (*pageFile, error) {
	content, err := pageFiles.ReadFile("page/" + name)
	if err != nil {
		return nil, err
	}
	contentType, err := contentTypeOf(name)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	return &pageFile{content, contentType, `W/"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`}, nil
}

// contentTypeOf returns the media type by file extension, without asking the operating system, whose table may differ.
func contentTypeOf(name string) (string, error) {
	switch extension := path.Ext(name); extension {
	case ".html":
		return "text/html; charset=utf-8", nil
	case ".css":
		return "text/css; charset=utf-8", nil
	case ".js":
		return "text/javascript; charset=utf-8", nil
	case ".svg":
		return "image/svg+xml", nil
	default:
		return "", fmt.Errorf("page/%s: no content type is known for %s", name, extension)
	}
}

// ServeHTTP serves the file. A browser asks each time whether it has changed.
func (f *pageFile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Type", f.contentType)
	header.Set("Cache-Control", "no-cache")
	header.Set("ETag", f.tag)
	if r.Header.Get("If-None-Match") == f.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(f.content) // the ResponseWriter of a bus handler does not fail here
}

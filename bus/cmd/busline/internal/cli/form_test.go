package cli_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
)

// upload responds with the form that it was given.
func upload(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseMultipartForm(1 << 20); err != nil && r.PostForm == nil {
		bus.WriteError(w, r, err)
		return
	}
	fmt.Fprintf(w, "%q", r.PostForm)
	if r.MultipartForm != nil {
		for _, name := range []string{"photo", "more"} {
			for _, file := range r.MultipartForm.File[name] {
				fmt.Fprintf(w, " %s=%s:%s:%d", name, file.Filename, file.Header.Get("Content-Type"), file.Size)
			}
		}
	}
}

func (e *terminal) serveForms() {
	e.serve("pages.example", func(conn *bus.Conn) error {
		err := conn.Handle("POST", "/upload/{shelf}", http.HandlerFunc(upload),
			bus.FormField("title", "string", "required maxLength=80 title of the page"), bus.FormField("tags", "[]string", ""),
			bus.FormField("pages", "integer", ""),
			bus.FormField("photo", "image/png,image/jpeg", "required what the page shows"), bus.FormField("more", "[]file", ""))
		if err != nil {
			return err
		}
		return conn.Handle("*", "/text", http.HandlerFunc(upload), bus.FormField("title", "string", ""))
	})
}

func TestCall_Form(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serveForms()
	directory := t.TempDir()
	photo, other := filepath.Join(directory, "photo.png"), filepath.Join(directory, "a;b.x")
	require.NoError(t, os.WriteFile(photo, []byte("\x89PNG"), 0o600))
	require.NoError(t, os.WriteFile(other, []byte("text"), 0o600))

	const address = "pages.example/upload/1"
	e.says(`map["pages":["3"] "tags":["a" "b"] "title":["Tea"]] photo=photo.png:image/png:4 more=a;b.x:text/plain; charset=utf-8:4 more=photo.png:image/png:4`,
		"call", address, "title=Tea", "photo=@"+photo, "tags=a", "tags=b", "pages=3", "more=@"+other, "more=@"+photo)
	e.says(`map["title":["a & b"]]`, "call", "pages.example/text", "title=a & b")

	missing := filepath.Join(directory, "missing.png")
	e.refuses(2, "argument photo: open "+missing+": no such file or directory", "call", address, "title=Tea",
		"photo=@"+missing)
	e.refuses(2, "there is no argument titel", "call", address, "titel=Tea")
	e.refuses(2, "did you mean title?", "call", address, "titel=Tea")
	e.refuses(2, "argument title is a string, not a file; files of this form are more, photo", "call", address,
		"title=@"+other)
	e.refuses(2, "argument tags is an array of string, not a file; files of this form are more, photo", "call", address,
		"tags=@"+other)
	e.refuses(2, "argument title is a string, not a file: this form has none", "call", "pages.example/text",
		"title=@"+other)
	e.refuses(2, "argument photo is a file: write photo=@photo.png", "call", address, "photo=photo.png")
	e.refuses(2, "argument photo is given more than once", "call", address, "photo=@"+photo, "photo=@"+photo)
	e.refuses(2, "argument pages is an integer", "call", address, "pages=many")
	e.refuses(2, "takes a form: write its fields as name=value and its files as name=@file", "call", address,
		`{"title":"Tea"}`)
	golden(t, "describe-form.txt", e.busline(0, "describe", "pages.example").stdout)
}

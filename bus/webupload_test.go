package bus_test

import (
	"bytes"
	"errors"
	"io/fs"
	"mime/multipart"
	"net/http"
	"os"
	"testing"
)

// TestUploadsLeaveNoFiles has handlers put an upload into a temporary file, and return or panic: it is gone then, as in a server of
// net/http.
func TestUploadsLeaveNoFiles(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		conn := w.connect("web.example")
		var stored string
		upload := func(_ http.ResponseWriter, r *http.Request) {
			if err := r.ParseMultipartForm(1); err != nil {
				t.Error(err)
			}
			uploaded, _, err := r.FormFile("report")
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = uploaded.Close() }()
			if file, ok := uploaded.(*os.File); ok {
				stored = file.Name()
			}
			if r.URL.Path == "/panic" {
				panic("disk on fire")
			}
		}
		if err := conn.Handle(http.MethodPost, "/{how}", http.HandlerFunc(upload)); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/return", "/panic"} {
			form := new(bytes.Buffer)
			parts := multipart.NewWriter(form)
			part, err := parts.CreateFormFile("report", "report.txt")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := part.Write(make([]byte, 1<<10)); err != nil {
				t.Fatal(err)
			}
			if err := parts.Close(); err != nil {
				t.Fatal(err)
			}
			stored = ""
			do(t, conn, http.MethodPost, "https://web.example"+path, parts.FormDataContentType(), form.String())
			if _, err := os.Stat(stored); stored == "" || !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: the upload is still in %q: %v", path, stored, err)
			}
		}
	})
}

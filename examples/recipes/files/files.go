// Package files takes files and hands them out. docs/recipes/files.md explains it.
package files

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/busline/busline/bus"
)

// Files are those in a directory.
type Files struct{ dir *os.Root }

// Upload keeps a file under its name. Half of one is never seen.
func (f Files) Upload(_ http.ResponseWriter, r *http.Request) error {
	form, err := r.MultipartReader() // reads as the file comes; r.FormFile would hold all of it
	for err == nil {
		part, failed := form.NextPart()
		if failed == nil && part.FormName() == "file" {
			return f.keep(part.FileName(), part)
		}
		err = failed
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("the form has no file")
	}
	return bus.Errorf(http.StatusBadRequest, "%w", err)
}

func (f Files) keep(name string, content io.Reader) error {
	if strings.HasPrefix(name, ".") || name != filepath.Base(name) {
		return bus.Errorf(http.StatusUnprocessableEntity, "%q is no name of a file here", name)
	}
	partial := "." + name + ".part"
	file, err := f.dir.Create(partial)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content) // fails if the caller leaves before the end
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, f.dir.Remove(partial))
	}
	return f.dir.Rename(partial, name)
}

// Serve puts a directory on the bus.
func Serve(conn *bus.Conn, dir *os.Root) error {
	upload := bus.Method("Upload", bus.FormField("file", "file", "required kept under its name"), bus.MaxBodyBytes(1<<30))
	if err := bus.Serve(conn, Files{dir}, upload); err != nil {
		return err
	}
	return conn.Handle(http.MethodGet, "/files/{name}", http.StripPrefix("/files/", http.FileServerFS(dir.FS())))
}

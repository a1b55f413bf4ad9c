// Package contexts keeps how the terminal command reaches several buses, and chooses among flags, contexts and the
// environment.
//
// file.go reads and writes the file of the contexts, settings.go finds what is in force, command.go has the subcommand
// context.
package contexts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi/similar"
)

// values are those of environment variables, by their names.
type values map[string]string

// file is the content of the file of the contexts.
type file struct {
	InUse    string            `json:"inUse,omitempty"`
	Contexts map[string]values `json:"contexts"`

	path string
}

// pathOf returns where the contexts are: BUSLINE_CONFIG, else a file in the folder for configurations of the user.
func pathOf(getenv func(string) string) (string, error) {
	if path := getenv("BUSLINE_CONFIG"); path != "" {
		return path, nil
	}
	folder, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("there is no folder for contexts: %w; name a file in BUSLINE_CONFIG", err)
	}
	return filepath.Join(folder, "busline", "contexts.json"), nil
}

// read reads the contexts. Without a file there are none.
func read(path string) (*file, error) {
	contexts := &file{path: path, Contexts: make(map[string]values)}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return contexts, nil
	}
	if err != nil {
		return nil, fmt.Errorf("contexts: %w; BUSLINE_CONFIG names another file", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err = decoder.Decode(contexts); err == nil && decoder.More() {
		err = errors.New("something follows the object")
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("it is empty")
	}
	if err == nil {
		err = contexts.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%s has no contexts that can be read: %w; correct it, or remove it", path, err)
	}
	return contexts, nil
}

// check returns an error for a context with an invalid name, or with a variable that contexts do not keep.
func (f *file) check() error {
	if f.Contexts == nil {
		f.Contexts = make(map[string]values)
	}
	for _, name := range f.names() {
		if err := checkName(name); err != nil {
			return err
		}
		for variable := range f.Contexts[name] {
			if !slices.Contains(variables(), variable) {
				return fmt.Errorf("context %s has %q, which is none of %s", name, variable, strings.Join(variables(), ", "))
			}
		}
	}
	return nil
}

// write replaces the file, all at once, by one that only its owner may read.
func (f *file) write() error {
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	path := f.path
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	folder := filepath.Dir(path)
	const ownerOnly = 0o700
	if err := os.MkdirAll(folder, ownerOnly); err != nil {
		return err
	}
	next, err := os.CreateTemp(folder, ".contexts-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = next.Write(append(text, '\n'))
	if err = errors.Join(err, next.Sync(), next.Close()); err == nil {
		err = os.Rename(next.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(next.Name()))
	}
	return nil
}

// names returns the names of all contexts, sorted.
func (f *file) names() []string { return slices.Sorted(maps.Keys(f.Contexts)) }

// find returns a context.
func (f *file) find(name string) (values, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	if kept, known := f.Contexts[name]; known {
		return kept, nil
	}
	if len(f.Contexts) == 0 {
		return nil, misuse("there is no context %s, and no other: busline context save makes one", name)
	}
	return nil, misuse("there is no context %s; there are %s%s", name, strings.Join(f.names(), ", "),
		similar.DidYouMean(name, f.names()))
}

// inUse returns the context in use, none if there is none.
func (f *file) inUse() (values, error) {
	if f.InUse == "" {
		return nil, nil
	}
	if kept, known := f.Contexts[f.InUse]; known {
		return kept, nil
	}
	return nil, misuse("the context in use, %.80q, is not in %s: choose another one with busline context use, or --none",
		f.InUse, f.path)
}

var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// checkName returns an error for the name of a context that is hard to type, or to read.
func checkName(name string) error {
	if !validName.MatchString(name) {
		return misuse("%.80q is no name for a context: write letters, digits, dots, dashes and underscores, 64 at most, "+
			"a letter or a digit first", name)
	}
	return nil
}

// MisuseError is an error of the command line: nothing was done.
type MisuseError struct{ text string }

// Error implements error.
func (m *MisuseError) Error() string { return m.text }

func misuse(format string, values ...any) error { return &MisuseError{fmt.Sprintf(format, values...)} }

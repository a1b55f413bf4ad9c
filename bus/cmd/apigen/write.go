package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// firstLine is that of a file that apigen wrote, with the type that it is for.
var firstLine = regexp.MustCompile(`(?m)^` + generatedMark + `-type ([^\s;]+).*; DO NOT EDIT\.\r?$`)

// writtenFor returns the type for which apigen wrote the file, "" if there is no such file; one that was written by
// hand is an error. The file may be in any state, even with merge conflict markers before its first line.
func writtenFor(dir, output string) (typeName string, err error) {
	text, err := os.ReadFile(filepath.Join(dir, output))
	found := firstLine.FindSubmatch(text)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	case found != nil:
		return string(found[1]), nil
	case len(bytes.TrimSpace(text)) == 0:
		return "", nil
	}
	return "", fmt.Errorf("%s exists, but apigen did not write it: choose another file with -output", output)
}

// mayReplace returns an error if the file is that of another type, unless that is gone or has been renamed: two runs
// would take the file from each other.
func (s *sources) mayReplace(writtenFor, wanted string) error {
	other, isType := s.pkg.Scope().Lookup(writtenFor).(*types.TypeName)
	if writtenFor == wanted || !isType || !types.IsInterface(other.Type()) && s.enumType(writtenFor) == nil {
		return nil
	}
	return diagnostic{s.position(other.Pos()),
		fmt.Sprintf("%s is the file of %s: choose another for %s with -output, or delete it", s.output, writtenFor, wanted)}
}

// write replaces the file unless its contents are the same. It is atomic: a concurrent reader sees either the old file
// or the new one.
func write(dir, output string, text []byte) (err error) {
	name := filepath.Join(dir, output)
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, text) {
		return nil
	}
	file, err := os.CreateTemp(dir, "."+output+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	_, err = file.Write(text)
	err = errors.Join(err, file.Chmod(sourceMode), file.Close())
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), name)
}

// sourceMode makes the file readable for all users, like other source files.
const sourceMode = 0o644

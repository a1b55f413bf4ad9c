package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// mayWrite returns an error if the file was written by hand. A file that apigen wrote may be in any state, even with
// merge conflict markers before its first line.
func mayWrite(dir, output string) error {
	text, err := os.ReadFile(filepath.Join(dir, output))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(bytes.TrimSpace(text)) == 0 || bytes.Contains(text, []byte(generatedMark)):
		return nil
	}
	return fmt.Errorf("%s exists, but apigen did not write it: choose another file with -output", output)
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

// sourceMode makes the file readable for everybody, like other source files.
const sourceMode = 0o644

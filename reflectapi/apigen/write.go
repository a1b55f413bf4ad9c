package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// mayWrite refuses to write over what somebody wrote by hand. What apigen wrote may be in any
// state, with the marks of a merge in its first line too.
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
	return fmt.Errorf("%s is there already, and apigen did not write it: name another file with -output", output)
}

// write replaces the file, unless it is the same already. Whoever reads it meanwhile sees the
// old one or the new one, whole.
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

// sourceMode lets everybody read the file, like any other source.
const sourceMode = 0o644

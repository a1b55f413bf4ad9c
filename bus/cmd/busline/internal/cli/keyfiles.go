package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/busline/busline/bus/claims/claimstest"
)

// keyFiles are the files of a key: the private key, and the public key set.
type keyFiles struct{ private, public string }

// open reads the private key, or creates it and writes both files.
func (f keyFiles) open(note func(format string, values ...any)) (*claimstest.Key, error) {
	text, err := os.ReadFile(f.private)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f.make(note)
	case err != nil:
		return nil, err
	}
	key, err := claimstest.ParseKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.private, err)
	}
	return key, nil
}

// make writes the public half before the private key: if the private key exists, it can be used. It never overwrites a
// key set, which may belong to another key.
func (f keyFiles) make(note func(format string, values ...any)) (*claimstest.Key, error) {
	if _, err := os.Stat(f.public); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s exists, but its private key %s does not; remove it, or choose other files with --key and --jwks", f.public, f.private)
	}
	key, err := claimstest.NewKey()
	if err != nil {
		return nil, err
	}
	text, err := key.Private()
	if err != nil {
		return nil, err
	}
	if err := claimstest.WriteKeySet(f.public, key); err != nil {
		return nil, err
	}
	if err := writeSecret(f.private, text); err != nil {
		return nil, errors.Join(err, os.Remove(f.public))
	}
	note("wrote a new key to %s; services with BUS_JWKS=%s accept its tokens", f.private, f.public)
	return key, nil
}

// writeSecret writes a file that only its owner may read.
func writeSecret(path string, text []byte) error {
	const ownerOnly = 0o600
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, ownerOnly)
	if err != nil {
		return err
	}
	_, err = file.Write(append(text, '\n'))
	return errors.Join(err, file.Close())
}

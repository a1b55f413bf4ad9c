package signing

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/go-jose/go-jose/v4"
)

// KeySet returns the public halves of the keys as a JSON Web Key Set.
func KeySet(keys ...*Key) ([]byte, error) {
	set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{}}
	for _, key := range keys {
		set.Keys = append(set.Keys, key.private.Public())
	}
	return json.MarshalIndent(set, "", "  ")
}

// WriteKeySet writes what KeySet returns to a file, all at once: who reads it meanwhile sees the old set or the new.
func WriteKeySet(path string, keys ...*Key) error {
	text, err := KeySet(keys...)
	if err == nil {
		err = replace(path, text)
	}
	if err != nil {
		return fmt.Errorf("write a key set: %w", err)
	}
	return nil
}

// AddToKeySet adds the public half of a key to the set in a file, after those that are there, and makes the file if it
// is missing. It is an error if the set has a key of that ID.
func AddToKeySet(path string, key *Key) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return WriteKeySet(path, key)
	}
	if err == nil {
		text, err = added(text, key)
	}
	if err == nil {
		err = replace(path, text)
	}
	if err != nil {
		return fmt.Errorf("add to the key set %s: %w", path, err)
	}
	return nil
}

// added returns the text of a set with one more key. What it does not know of the set stays.
func added(text []byte, key *Key) ([]byte, error) {
	var set map[string]json.RawMessage
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("not a JSON Web Key Set: %w", err)
	}
	var keys []json.RawMessage
	if err := json.Unmarshal(set["keys"], &keys); err != nil {
		return nil, fmt.Errorf("not a JSON Web Key Set: %w", err)
	}
	for _, each := range keys {
		var known struct {
			KeyID string `json:"kid"`
		}
		if json.Unmarshal(each, &known) == nil && known.KeyID == key.ID() {
			return nil, fmt.Errorf("it has the key %q already: name the new one differently, such as %q",
				key.ID(), key.ID()+"/2")
		}
	}
	public, err := json.Marshal(key.private.Public())
	if err != nil {
		return nil, err
	}
	if set["keys"], err = json.Marshal(append(keys, public)); err != nil {
		return nil, err
	}
	return json.MarshalIndent(set, "", "  ")
}

// replace writes a file all at once.
func replace(path string, text []byte) error {
	const public = 0o644
	if err := os.WriteFile(path+".new", append(text, '\n'), public); err != nil { //nolint:gosec // an argument
		return err
	}
	return os.Rename(path+".new", path)
}

// WritePrivate writes keys as WriteSecret does: a private JSON Web Key, or a set of several.
func WritePrivate(path string, keys ...*Key) error {
	text, err := keys[0].Private()
	if len(keys) > 1 {
		set := jose.JSONWebKeySet{}
		for _, each := range keys {
			set.Keys = append(set.Keys, each.private)
		}
		text, err = json.MarshalIndent(set, "", "  ")
	}
	if err == nil {
		err = WriteSecret(path, text)
	}
	if err != nil {
		return fmt.Errorf("write a key: %w", err)
	}
	return nil
}

// WriteSecret writes a new file that only its owner may read. It is an error if the file exists.
func WriteSecret(path string, text []byte) error {
	const ownerOnly = 0o600
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, ownerOnly)
	if err != nil {
		return err
	}
	_, err = file.Write(append(text, '\n'))
	return errors.Join(err, file.Close())
}

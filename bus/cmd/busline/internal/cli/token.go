package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/claims/claimstest"
)

func (s *session) newToken() *cobra.Command {
	var (
		files   = keyFiles{private: "dev.key", public: "dev.jwks"}
		said    = "{}"
		subject = "you"
		life    = time.Hour
	)
	c := &cobra.Command{
		Use:   "token",
		Short: "A token to try out endpoints that require claims",
		Long: `Makes a token with the given claims, and prints it. If there is no key to sign it, a new one is made:
the private key, which only its owner may read, and the key set, to which BUS_JWKS of the services has
to point. Real tokens come from an identity provider.`,
		Example: examples(
			`export BUS_TOKEN=$(busline token --claims '{"roles":["hr"],"level":3}')`,
			"BUS_JWKS=dev.jwks go run ./examples/showcase",
			"busline token --key dev.key --jwks dev.jwks --expires 5m",
		),
		RunE: func(_ *cobra.Command, operands []string) error {
			if len(operands) > 0 {
				return misuse("%q is not expected here; claims are one JSON object: --claims '{\"roles\":[\"hr\"],\"level\":3}'",
					operands[0])
			}
			spoken, err := parseClaims(said, subject, life)
			if err != nil {
				return err
			}
			key, err := files.open(s.notef)
			if err != nil {
				return err
			}
			token, err := key.Sign(spoken)
			if err != nil {
				return err
			}
			return s.print("%s\n", token)
		},
	}
	set := c.Flags()
	set.StringVar(&said, "claims", said, "JSON `object` with the claims of the token")
	set.StringVar(&subject, "sub", subject, "`name` for the claim sub, unless the claims have one")
	set.DurationVar(&life, "expires", life, "`time` for which the token is good, unless the claims have exp")
	set.StringVar(&files.private, "key", files.private, "`file` of the private key; made when it is not there")
	set.StringVar(&files.public, "jwks", files.public, "`file` of the key set; made with the key")
	return c
}

// parseClaims parses the claims of a token, and adds the required ones. Each is signed as it is written: a large
// integer has all its digits.
func parseClaims(text, subject string, life time.Duration) (claims.Claims, error) {
	var said map[string]jsontext.Value
	err := json.Unmarshal([]byte(text), &said)
	if err == nil && said == nil {
		err = errors.New("it is null")
	}
	if err != nil {
		return nil, misuse("--claims: %.60q is not a JSON object such as '{\"roles\":[\"hr\"],\"level\":3}': %w", text, err)
	}
	if life <= 0 {
		return nil, misuse("--expires %s: choose a time such as 1h; for an expired token, give the claim exp", life)
	}
	spoken := claims.Claims{"sub": subject, "exp": time.Now().Add(life).Unix()}
	for name, value := range said {
		spoken[name] = value
	}
	return spoken, nil
}

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
		return nil, fmt.Errorf("%s exists, but its private key %s does not; remove it, or choose other files with --key "+
			"and --jwks", f.public, f.private)
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

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/claims/claimstest"
	"github.com/busline/busline/bus/internal/signing"
	"github.com/busline/busline/bus/subject"
)

func (s *session) newToken() *cobra.Command {
	var (
		files   = developmentKeys()
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

// MakeKeys makes the files that the subcommand token uses by default, unless they are in the current folder. note gets
// what to say.
func MakeKeys(note func(format string, values ...any)) (keySet string, err error) {
	files := developmentKeys()
	_, err = files.open(note)
	return files.public, err
}

func developmentKeys() keyFiles { return keyFiles{private: "dev.key", public: "dev.jwks"} }

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
	if err := signing.WriteSecret(f.private, text); err != nil {
		return nil, errors.Join(err, os.Remove(f.public))
	}
	note("wrote a new key to %s; services with BUS_JWKS=%s accept its tokens", f.private, f.public)
	return key, nil
}

func (s *session) newKey() *cobra.Command {
	var out string
	set := "services.jwks"
	c := &cobra.Command{
		Use:   "key HOST[/NAME]",
		Short: "A key with which a service proves its host",
		Long: `Makes a private key for the service of a host, which only its owner may read, and adds the public half
to a key set. BUS_SERVICE_KEY of the service has to point to the key, BUS_SERVICE_JWKS of the services
that it calls to the set. A second key of the host has a name after a slash: add it to the set, wait five
minutes, restart the service with it, and then take the first one out of the set.`,
		Example: examples(
			"busline key orders.example",
			"busline key orders.example/2026-11 --set services.jwks",
			"BUS_SERVICE_KEY=orders.example.key BUS_SERVICE_JWKS=services.jwks ./orders",
		),
		RunE: func(_ *cobra.Command, operands []string) error {
			if len(operands) != 1 {
				return misuse("say whose key it is: busline key orders.example")
			}
			id := operands[0]
			host, _, _ := strings.Cut(id, "/")
			switch err := cmp.Or(subject.CheckHost(host), signing.CheckName(id)); {
			case err != nil:
				return misuse("%w; the key of a service begins with its host, as orders.example or orders.example/2026-11", err)
			case host == subject.HostAll:
				return misuse("every service answers on the host all, and none calls from it: name the host of one")
			}
			return s.makeServiceKey(id, cmp.Or(out, strings.ReplaceAll(id, "/", "-")+".key"), set)
		},
	}
	flags := c.Flags()
	flags.StringVar(&out, "out", out, "new `file` of the private key (default HOST.key, or HOST-NAME.key)")
	flags.StringVar(&set, "set", set, "`file` of the key set; made when it is not there")
	return c
}

// makeServiceKey writes a new key to a file, and adds its public half to a set, or does neither.
func (s *session) makeServiceKey(id, out, set string) error {
	key, err := signing.New(id)
	if err != nil {
		return err
	}
	err = signing.WritePrivate(out, key)
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%w: choose another file with --out, or remove it", err)
	case err != nil:
		return err
	}
	if err := signing.AddToKeySet(set, key); err != nil {
		return errors.Join(err, os.Remove(out))
	}
	s.notef("wrote the key %s to %s, and its public half to %s", id, out, set)
	return nil
}

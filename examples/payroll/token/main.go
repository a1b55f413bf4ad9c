// Token makes a token to try out the payroll with, and prints it. The key that signs it is made where there is none: the
// private half in key.json, which its owner alone may read, the public one in keys.json, which BUS_JWKS is to name. Real
// tokens come from an identity provider.
//
//	go run ./examples/payroll/token -roles hr,boss -level 3
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/busline/busline/bus/claims"
)

func main() {
	err := run(os.Args[1:], os.Stdout, os.Stderr)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "token:", err)
		os.Exit(1)
	}
}

// run prints the token that the arguments ask for. What else there is to say it notes.
func run(arguments []string, stdout, notes io.Writer) error {
	flags := flag.NewFlagSet("token", flag.ContinueOnError)
	flags.SetOutput(notes)
	private := flags.String("key", "key.json", "file of the private key; made when it is not there")
	public := flags.String("keys", "keys.json", "file of the key set; made with the key")
	subject := flags.String("sub", "you", "the claim sub: whose token it is")
	roles := flags.String("roles", "", "the claim roles, separated by commas")
	level := flags.Int("level", 0, "the claim level")
	life := flags.Duration("for", time.Hour, "how long the token is good")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("what is %q? roles are separated by commas alone: -roles hr,boss", flags.Arg(0))
	}
	key, err := files{*private, *public}.openKey(notes)
	if err != nil {
		return err
	}
	token, err := key.Sign(claims.Claims{
		"sub": *subject, "roles": strings.FieldsFunc(*roles, func(c rune) bool { return c == ',' }), "level": *level,
		"exp": time.Now().Add(*life).Unix(),
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, token)
	return err
}

// Token makes a token to try out the payroll with, and prints it. The key that signs it is made when there is none: the
// private half in key.json, the public one in keys.json, which BUS_JWKS is to name. Real tokens come from an identity
// provider.
//
//	go run ./examples/payroll/token -roles hr,boss -level 3
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"strings"
	"time"

	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/claims/claimstest"
)

func main() {
	private := flag.String("key", "key.json", "file of the private key; made when it is not there")
	public := flag.String("keys", "keys.json", "file of the key set; made with the key")
	roles := flag.String("roles", "", "the claim roles, separated by commas")
	level := flag.Int("level", 0, "the claim level")
	life := flag.Duration("for", time.Hour, "how long the token is good")
	flag.Parse()
	key, err := openKey(*private, *public)
	if err != nil {
		log.Fatal(err)
	}
	token, err := key.Sign(claims.Claims{
		"sub": "you", "roles": strings.FieldsFunc(*roles, func(c rune) bool { return c == ',' }), "level": *level,
		"exp": time.Now().Add(*life).Unix(),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(token)
}

// openKey reads the private key, or makes it and writes both files.
func openKey(private, public string) (*claimstest.Key, error) {
	text, err := os.ReadFile(private)
	if err == nil {
		return claimstest.ParseKey(text)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	key, err := claimstest.NewKey()
	if err != nil {
		return nil, err
	}
	if text, err = key.Private(); err != nil {
		return nil, err
	}
	const mine = 0o600
	if err := os.WriteFile(private, text, mine); err != nil {
		return nil, err
	}
	return key, claimstest.WriteKeySet(public, key)
}

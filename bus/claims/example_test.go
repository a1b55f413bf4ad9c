package claims_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/claims/claimstest"
)

// A service that asks who calls. The key set is a file here; an identity provider has a URL.
func Example() {
	folder, err := os.MkdirTemp("", "claims")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(folder) }()
	keys := filepath.Join(folder, "keys.json")
	key, err := claimstest.NewKey()
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := claimstest.WriteKeySet(keys, key); err != nil {
		fmt.Println(err)
		return
	}
	verifier, err := claims.Open(context.Background(), claims.Config{KeySet: keys})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer verifier.Close()
	rule, err := claims.Compile(`"hr" in roles && level >= 3`)
	if err != nil {
		fmt.Println(err)
		return
	}

	for _, level := range []int{2, 3} {
		token, err := key.Sign(claims.Claims{"roles": []string{"hr"}, "level": level,
			"exp": time.Now().Add(time.Hour).Unix()})
		if err != nil {
			fmt.Println(err)
			return
		}
		who, err := verifier.Verify(context.Background(), token)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(level, rule.Allows(who))
	}
	_, err = verifier.Verify(context.Background(), "x.y")
	fmt.Println(err)
	// Output:
	// 2 false
	// 3 true
	// token: not a JWT, which is three parts of base64url joined by dots
}

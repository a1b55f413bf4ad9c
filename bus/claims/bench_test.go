package claims_test

import (
	"testing"

	"github.com/busline/busline/bus/claims"
)

func BenchmarkVerify(b *testing.B) {
	for _, key := range []keyPair{ed25519Key(b, "k1"), ecdsaKey(b, "k1"), rsaKey("k1", "RS256")} {
		verifier := openKeys(b, key)
		token := key.sign(b, payload(`"sub":"ada","roles":["admin","hr"],"level":5,"iss":"https://id.example"`), nil)
		b.Run(key.algorithm+"/cached", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				accepts(b, verifier, token)
			}
		})
		b.Run(key.algorithm+"/first", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				claims.Forget(verifier)
				accepts(b, verifier, token)
			}
		})
	}
}

func BenchmarkAllows(b *testing.B) {
	who := claims.Claims{"roles": []any{"hr", "admin"}, "level": 5.0, "org": map[string]any{"team": "x"}}
	for _, expression := range []string{
		`"admin" in roles && level > 3`, `org.team == "x"`, `any(roles, # startsWith "adm")`, `missing > 3 || level in 1..5`,
	} {
		rule, err := claims.Compile(expression)
		must(b, err)
		b.Run(expression, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !rule.Allows(who) {
					b.Fatal("not allowed")
				}
			}
		})
	}
}

// TestAllocations holds that what every call does costs next to nothing.
func TestAllocations(t *testing.T) { //nolint:paralleltest // counts the allocations of the process
	key := ed25519Key(t, "k1")
	verifier, token := openKeys(t, key), key.good(t)
	rule, err := claims.Compile(`"admin" in roles && level > 3`)
	must(t, err)
	who := claims.Claims{"roles": []any{"hr", "admin"}, "level": 5.0}
	accepts(t, verifier, token)
	for name, test := range map[string]struct {
		most float64
		call func()
	}{
		"Verify": {0, func() { accepts(t, verifier, token) }},
		"Allows": {1, func() { rule.Allows(who) }},
	} {
		if got := testing.AllocsPerRun(100, test.call); got > test.most {
			t.Errorf("%s allocates %v times, at most %v is right", name, got, test.most)
		}
	}
}

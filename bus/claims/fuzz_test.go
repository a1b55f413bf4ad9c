package claims_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/claims"
)

// FuzzToken holds that nothing which the key has not signed is accepted, and that no refused token is quoted.
func FuzzToken(f *testing.F) {
	key := ed25519Key(f, "k1")
	verifier := openKeys(f, key, ecdsaKey(f, "k2"), rsaKey("k3", "RS256"))
	good := key.good(f)
	f.Add(good[:len(good)-1])
	f.Add(good + ".x")
	f.Add(ed25519Key(f, "k1").good(f))
	f.Add(encode([]byte(`{"alg":"none"}`)) + "." + encode([]byte(`{"exp":4102444800}`)) + ".")
	f.Add(encode([]byte(`{"alg":"ES256","jwk":{"kty":"EC"},"x5c":["AA"]}`)) + "..AA")
	f.Fuzz(func(t *testing.T, token string) {
		if token != good {
			refuses(t, verifier, token, "token: ")
		}
	})
}

// FuzzPayload signs what comes: whatever is accepted expires, at a time that is one.
func FuzzPayload(f *testing.F) {
	key := ed25519Key(f, "k1")
	verifier := open(f, claims.Config{KeySet: file(f, keySet(f, key)), Issuer: "i", Audience: "a"})
	for _, seed := range []string{
		`{"exp":4102444800,"iss":"i","aud":"a"}`, `{"exp":4102444800.5,"nbf":0,"iat":0,"iss":"i","aud":["b","a"]}`,
		`{"exp":"4102444800"}`, `{"exp":1e300}`, `{"exp":NaN}`, `{"exp":-1}`, `{"exp":9007199254740993}`, `{"exp":1,"exp":2}`,
		`null`, `[]`, strings.Repeat("[", 5000), `{"exp":4102444800,"iss":"i","aud":"a","x":123456789012345678901234567890}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, payload string) {
		token := key.sign(t, payload, nil)
		got, err := verifier.Verify(t.Context(), token)
		if err != nil {
			refuses(t, verifier, token, "token: ")
			return
		}
		var plain map[string]any
		must(t, json.Unmarshal([]byte(payload), &plain))
		expiry, ok := got["exp"].(float64)
		require.True(t, ok, payload)
		assert.GreaterOrEqual(t, expiry, float64(time.Now().Unix()-30), payload)
		assert.LessOrEqual(t, expiry, float64(253402300799), payload)
		assert.Equal(t, "i", got["iss"], payload)
		assert.Len(t, plain, len(got), payload)
	})
}

// FuzzRule holds that no rule fails or takes long, whatever the claims, and that each gives one answer.
func FuzzRule(f *testing.F) {
	const who = `{"roles":["admin","hr"],"level":5,"org":{"team":"x"},"sub":"ada","id":9007199254740993,"n":null,"b":true}`
	for _, seed := range []string{
		`"admin" in roles && level > 3`, `not ("admin" in roles)`, `"admin" not in roles`, `org.team == "x"`,
		`org?.team != nil`,
		`any(roles, # contains "a" || any(roles, # == "hr"))`, `level in 1..5`, `id > 9007199254740992`,
		`sub matches "^a.*$"`,
		`count(roles) == len(split(sub, " ")) + 1`, `(level ?? 3) % 2 == 1 ? b : !b`,
		`$env["sub"][0] == lower(upper(trim(sub)))`,
		`1 < level < 9`, `level ** level ^ -1 >= 2e3`, "roles == [`admin`, 'hr']", `roles | one(# == "\u00e9")`,
		`let x = 1; x > 0x1F`,
		`if b { true } else { false }`, `sub == b"x"`, `{"a": 1}.a == 1`, `roles[1:2] == [#]`,
		`::len(roles) > 1 /* x */ // y`,
	} {
		f.Add(seed, who)
	}
	f.Fuzz(func(t *testing.T, expression, text string) {
		rule, err := claims.Compile(expression)
		if err != nil {
			assert.Nil(t, rule)
			assert.True(t, strings.HasPrefix(err.Error(), "claims expression \""), err.Error())
			return
		}
		var who claims.Claims
		if json.Unmarshal([]byte(text), &who) != nil || len(text) > 8<<10 {
			who = claims.Claims{}
		}
		first := rule.Allows(who)
		assert.Equal(t, first, rule.Allows(who), "%s, %s", expression, text)
		assert.False(t, rule.Allows(nil), "%s, %s", expression, text)
		rule.Allows(claims.Claims{})
		checkEffort(t, rule, who)
	})
}

// FuzzKeySet holds that no key set is too odd to be read or refused.
func FuzzKeySet(f *testing.F) {
	f.Add([]byte(keySet(f, ed25519Key(f, "k1"), ecdsaKey(f, "k2"), rsaKey("k3", "RS256"))))
	f.Add([]byte(`{"keys":[null,1,{},{"kty":"oct","k":"AA"},{"kty":"OKP","crv":"Ed25519","x":"AA","key_ops":["verify"]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		used, ignored, err := claims.ParseKeySet(text)
		if err == nil && used+ignored > 1000 || err != nil && used+ignored > 0 {
			t.Errorf("%d and %d keys, error %v", used, ignored, err)
		}
	})
}

// FuzzBearer holds that a header is a token, no identity or an error, and that a token is one word.
func FuzzBearer(f *testing.F) {
	for _, seed := range []string{"Bearer a.b.c", "bearer  x", "Bearer", "Basic YTpi", "Bearer a b", "", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		token, present, err := claims.Bearer(header)
		named := len(header) >= 6 && strings.EqualFold(strings.Trim(header, " \t")[:min(6, len(strings.Trim(header, " \t")))],
			"bearer")
		switch {
		case present && !named, err != nil && !present, (err == nil && present) != (token != ""):
			t.Errorf("%q: %q, %t, %v", header, token, present, err)
		case strings.ContainsAny(token, " \t\r\n,;\""):
			t.Errorf("%q: token %q", header, token)
		}
	})
}

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
	for _, test := range []struct {
		name string
		most float64
		call func()
	}{
		{"Verify", 0, func() { accepts(t, verifier, token) }},
		{"Allows", 1, func() { rule.Allows(who) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := testing.AllocsPerRun(100, test.call); got > test.most {
				t.Errorf("%s allocates %v times, at most %v is right", test.name, got, test.most)
			}
		})
	}
}

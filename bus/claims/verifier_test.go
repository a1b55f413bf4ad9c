package claims_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/claims"
)

func TestAccepted(t *testing.T) {
	t.Parallel()
	for _, key := range []keyPair{ed25519Key(t, "k1"), ecdsaKey(t, "k1"), rsaKey("k1", "RS256"), rsaKey("k1", "PS256")} {
		t.Run(key.algorithm, func(t *testing.T) {
			t.Parallel()
			verifier := openKeys(t, ed25519Key(t, "k0"), key)
			token := key.sign(t, payload(`"sub":"ada","roles":["admin"]`), nil)
			for range 2 { // the second time from the cache
				if got := accepts(t, verifier, token); got["sub"] != "ada" {
					t.Errorf("claims %v", got)
				}
			}
			accepts(t, verifier, key.sign(t, payload(`"sub":"ada"`), map[string]any{"kid": nil}))
			refuses(t, verifier, key.sign(t, payload(`"sub":"ada"`), map[string]any{"kid": "k0"}), "token: ")
		})
	}
}

// TestRefusedSignatures is B6.01.
func TestRefusedSignatures(t *testing.T) {
	t.Parallel()
	ed, ec, rs, ps := ed25519Key(t, "ed"), ecdsaKey(t, "ec"), rsaKey("rs", "RS256"), rsaKey("ps", "PS256")
	verifier := openKeys(t, ed, ec, rs, ps)
	good := ed.good(t)
	header, rest, _ := strings.Cut(good, ".")
	body, signature, _ := strings.Cut(rest, ".")
	unsigned := func(algorithm string) string {
		return encode(fmt.Appendf(nil, `{"alg":%q}`, algorithm)) + "." + body + "."
	}
	const notSigned, notJWT, notKey, noKey = "not a JWT that is signed with one of [EdDSA ES256 RS256 PS256]",
		"not a JWT, which is three parts of base64url joined by dots", "its signature does not match the key",
		"that is not in the key set"
	for _, test := range []struct {
		name          string
		token, reason string
	}{
		{"none", unsigned("none"), notSigned},
		{"None", unsigned("None"), notSigned},
		{"nOnE", unsigned("nOnE"), notSigned},
		{"no algorithm", encode([]byte(`{"kid":"ed"}`)) + "." + rest, notSigned},
		{"HMAC", keyPair{"rs", "HS256", rsaPrivate()}.good(t), notSigned},
		{"RS512", rs.sign(t, payload(`"a":1`), map[string]any{"alg": "RS512"}), notSigned},
		{"EdDSA with RSA", ed.sign(t, payload(`"a":1`), map[string]any{"kid": "rs"}), noKey},
		{"RS256 with EC", rs.sign(t, payload(`"a":1`), map[string]any{"kid": "ec"}), noKey},
		{"ES256 with Ed", ec.sign(t, payload(`"a":1`), map[string]any{"kid": "ed"}), noKey},
		{"PS256 said RS256", ps.sign(t, payload(`"a":1`), map[string]any{"alg": "RS256"}), notKey},
		{"another's", ed25519Key(t, "ed").good(t), notKey},
		{"another's, no ID", ed25519Key(t, "ed").sign(t, payload(`"a":1`), map[string]any{"kid": nil}), notKey},
		{"no signature", header + "." + body + ".", notKey},
		{"half a signature", good[:len(good)-42], notKey},
		{"another payload", header + "." + encode([]byte(payload(`"sub":"eve"`))) + "." + signature, notKey},
		{"nothing", "", "token: missing"},
		{"one part", header, notJWT},
		{"two parts", header + "." + body, notJWT},
		{"four parts", good + ".x", notJWT},
		{"a line break", header + "." + body + ".\n" + signature, notJWT},
		{"padded", good + "==", notJWT},
		{"JSON", `{"payload":"x"}`, notJWT},
		{"no JSON header", encode([]byte("x")) + "." + rest, notSigned},
		{"empty header", "." + rest, notSigned},
		{"algorithm twice", encode([]byte(`{"alg":"none","alg":"EdDSA","kid":"ed"}`)) + "." + rest, notSigned},
		{"key ID no string", ed.sign(t, payload(`"a":1`), map[string]any{"kid": 1}), notSigned},
		{"critical", ed.sign(t, payload(`"a":1`), map[string]any{"crit": []string{"x"}}), `its header asks for "crit"`},
		{"payload not coded", ed.sign(t, payload(`"a":1`), map[string]any{"b64": false}), `its header asks for "b64"`},
		{"no object", ed.sign(t, `["x"]`, nil), "its payload is not one strictly valid JSON object"},
		{"null", ed.sign(t, `null`, nil), "its payload is not one strictly valid JSON object"},
		{"no JSON", ed.sign(t, `admin`, nil), "its payload is not one strictly valid JSON object"},
		{"twice", ed.sign(t, payload(`"exp":4102444800`), nil), "its payload is not one strictly valid JSON object"},
		{"more after it", ed.sign(t, payload(`"a":1`)+"{}", nil), "its payload is not one strictly valid JSON object"},
		{"invalid UTF-8", ed.sign(t, payload("\"a\":\"\xff\""), nil), "its payload is not one strictly valid JSON object"},
		{"too large a float", ed.sign(t, payload(`"a":1.5e999`), nil), "its payload is not one strictly valid JSON object"},
		// B6.03: the key ID is a name and nothing else.
		{"a path", ed.sign(t, payload(`"a":1`), map[string]any{"kid": "../../dev/null"}), noKey},
		{"SQL", ed.sign(t, payload(`"a":1`), map[string]any{"kid": "x' OR '1'='1"}), noKey},
		{"other key", ed25519Key(t, "evil").good(t), noKey},
		// B6.04
		{"too long", strings.Repeat("x", 8193), "longer than 8192 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			refuses(t, verifier, test.token, test.reason)
		})
	}
}

// TestOneSpelling holds that the bits which the last letter of a part has to spare are none, so that no one can write a
// token, which may be blocked or counted by its text, in another way.
func TestOneSpelling(t *testing.T) {
	t.Parallel()
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	for _, key := range []keyPair{ed25519Key(t, "k1"), ecdsaKey(t, "k1"), rsaKey("k1", "RS256")} {
		verifier, good := openKeys(t, key), key.good(t)
		accepts(t, verifier, good)
		for _, last := range letters {
			token := good[:len(good)-1] + string(last)
			same, err := base64.RawURLEncoding.DecodeString(token[strings.LastIndex(token, ".")+1:])
			must(t, err)
			if token != good && strings.HasSuffix(good, "."+encode(same)) {
				refuses(t, verifier, token, "not a JWT, which is three parts of base64url joined by dots")
			}
		}
	}
}

// TestRefusedClaims is B6.02.
func TestRefusedClaims(t *testing.T) {
	t.Parallel()
	key := ed25519Key(t, "k1")
	config := claims.Config{KeySet: file(t, keySet(t, key)), Issuer: "https://id.example", Audience: "shop"}
	verifier := open(t, config)
	const at = `"iss":"https://id.example","aud":"shop"`
	const noTime, noIssuer, notMeant = "is not a number of seconds since 1970",
		`its issuer (iss) is not "https://id.example"`,
		`it is not meant for "shop" (aud)`
	for payload, reason := range map[string]string{
		`{` + at + `}`:                         "it has no expiry; have it issued with exp",
		`{` + at + `,"exp":null}`:              "its exp " + noTime,
		`{` + at + `,"exp":"4102444800"}`:      "its exp " + noTime,
		`{` + at + `,"exp":1e300}`:             "its exp " + noTime,
		`{` + at + `,"exp":1e999}`:             "its payload is not",
		`{` + at + `,"exp":NaN}`:               "its payload is not",
		`{` + at + `,"exp":-1}`:                "its exp " + noTime,
		`{` + at + `,"exp":99999999999999999}`: "its exp " + noTime,
		`{` + at + `,"exp":[4102444800]}`:      "its exp " + noTime,
		`{` + at + `,"EXP":4102444800}`:        "it has no expiry",
		`{` + at + `,"exp":0}`:                 "expired at 1970-01-01T00:00:00Z; get a new one",
		payload(at + `,"nbf":"0"`):             "its nbf " + noTime,
		payload(at + `,"nbf":1e300`):           "its nbf " + noTime,
		payload(at +
			`,"nbf":4102444800`): "not valid before 2100-01-01T00:00:00Z (nbf); compare the clocks",
		payload(at +
			`,"iat":4102444800`): "not valid before 2100-01-01T00:00:00Z (iat); compare the clocks",
		payload(at + `,"iat":{}`):                                   "its iat " + noTime,
		payload(`"aud":"shop"`):                                     noIssuer,
		payload(`"aud":"shop","iss":"https://id.example/"`):         noIssuer,
		payload(`"aud":"shop","iss":["https://id.example"]`):        noIssuer,
		payload(`"iss":"https://id.example"`):                       notMeant,
		payload(`"iss":"https://id.example","aud":"shopping"`):      notMeant,
		payload(`"iss":"https://id.example","aud":["a","b"]`):       notMeant,
		payload(`"iss":"https://id.example","aud":[]`):              notMeant,
		payload(`"iss":"https://id.example","aud":{"shop":true}`):   notMeant,
		payload(`"iss":"https://id.example","aud":[["shop"],{},1]`): notMeant,
	} {
		refuses(t, verifier, key.sign(t, payload, nil), reason)
	}
	accepts(t, verifier, key.sign(t, payload(at), nil))
	accepts(t, verifier, key.sign(t, payload(`"iss":"https://id.example","aud":["x","shop"]`), nil))
}

// TestLeeway holds that clocks may differ by 30 s, on either side.
func TestLeeway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		key := ed25519Key(t, "k1")
		verifier := openKeys(t, key)
		defer verifier.Close()
		now := time.Now().Unix()
		at := func(format string, offset int64) string {
			return key.sign(t, strings.ReplaceAll(format, "$", fmt.Sprint(now+offset)), nil)
		}
		accepts(t, verifier, at(`{"exp":$}`, -29))
		refuses(t, verifier, at(`{"exp":$}`, -30), "expired at 1999-12-31T23:59:30Z")
		refuses(t, verifier, at(`{"exp":$}`, -31), "expired at")
		accepts(t, verifier, at(`{"exp":$.75}`, -30))
		accepts(t, verifier, at(`{"exp":4102444800,"nbf":$}`, 30))
		refuses(t, verifier, at(`{"exp":4102444800,"nbf":$}`, 31), "not valid before 2000-01-01T00:00:31Z (nbf)")
		accepts(t, verifier, at(`{"exp":4102444800,"iat":$}`, 30))
		refuses(t, verifier, at(`{"exp":4102444800,"iat":$}`, 31), "not valid before 2000-01-01T00:00:31Z (iat)")

		remembered := at(`{"exp":$}`, 10)
		accepts(t, verifier, remembered)
		time.Sleep(39 * time.Second)
		accepts(t, verifier, remembered)
		time.Sleep(time.Second)
		refuses(t, verifier, remembered, "expired at 2000-01-01T00:00:10Z")
	})
}

// TestIgnoredHeaders holds that a token does not say where its keys are.
func TestIgnoredHeaders(t *testing.T) {
	t.Parallel()
	key, evil := ed25519Key(t, "k1"), ed25519Key(t, "k1")
	var set struct{ Keys []any }
	must(t, json.Unmarshal([]byte(keySet(t, evil)), &set))
	header := map[string]any{"jku": "https://evil.example/", "x5u": "https://evil.example/", "jwk": set.Keys[0]}
	server := &issuer{text: keySet(t, key)}
	verifier := open(t, claims.Config{KeySet: keySetURL, HTTPClient: server.client()})
	accepts(t, verifier, key.sign(t, payload(`"a":1`), header))
	refuses(t, verifier, evil.sign(t, payload(`"a":1`), header), "its signature does not match the key")
	if server.count() != 1 {
		t.Errorf("%d requests", server.count())
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	key := ed25519Key(t, "k1")
	got := accepts(t, openKeys(t, key), key.sign(t,
		`{"exp":4102444800,"a":[1,0,1.5,1e3,9007199254740992,9007199254740993,-9007199254740993],
		"b":{"c":123456789012345678901234567890},"d":100000000000000000000,"e":null,"f":true,"g":"é"}`, nil))
	want := claims.Claims{
		"exp": 4102444800.0, "e": nil, "f": true, "g": "é", "d": 1e20,
		"a": []any{1.0, 0.0, 1.5, 1000.0, 9007199254740992.0, json.Number("9007199254740993"),
			json.Number("-9007199254740993")},
		"b": map[string]any{"c": json.Number("123456789012345678901234567890")},
	}
	if !maps.EqualFunc(got, want, func(a, b any) bool {
		return fmt.Sprintf("%T %#v", a, a) == fmt.Sprintf("%T %#v", b, b)
	}) {
		t.Errorf("%#v\nwant %#v", got, want)
	}
}

func TestNoVerifier(t *testing.T) {
	t.Parallel()
	for _, verifier := range []*claims.Verifier{nil, new(claims.Verifier)} {
		refuses(t, verifier, ed25519Key(t, "k1").good(t), "no token is accepted here, since no key set is configured")
		verifier.Close()
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	key := ed25519Key(t, "k1")
	verifier := openKeys(t, key)
	token := key.good(t)
	accepts(t, verifier, token)
	verifier.Close()
	verifier.Close()
	refuses(t, verifier, token, "no token is accepted any more, since the verifier is closed")
}

// TestManyTokens fills the cache more than once: it forgets, and what it has forgotten is verified again.
func TestManyTokens(t *testing.T) {
	t.Parallel()
	key := ed25519Key(t, "k1")
	verifier := openKeys(t, key)
	padding := strings.Repeat("x", 5000)
	first := ""
	for i := range 2000 {
		token := key.sign(t, payload(fmt.Sprintf(`"i":%d,"x":%q`, i, padding)), nil)
		if i == 0 {
			first = token
		}
		if got := accepts(t, verifier, token); got["i"] != float64(i) {
			t.Fatalf("claims of token %v, want %d", got["i"], i)
		}
	}
	cached := claims.Cached(verifier)
	assert.NotZero(t, cached)
	assert.LessOrEqual(t, cached, 1300)
	accepts(t, verifier, first)
}

func TestBearer(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"Bearer a.b-c_d.e~+/==": "a.b-c_d.e~+/==",
		"bearer a.b.c":          "a.b.c",
		"BEARER   a.b.c ":       "a.b.c",
	} {
		token, present, err := claims.Bearer(header)
		assert.Equal(t, want, token, header)
		require.True(t, present, header)
		assert.NoError(t, err, header)
	}
	for _, header := range []string{"", " ", "Basic YTpi", "Basic Bearer x", "Bearerx a.b.c", "Bear er a", "Bearer-x a",
		"\xff", "ⓑearer x"} {
		token, present, err := claims.Bearer(header)
		assert.Empty(t, token, header)
		assert.False(t, present, header)
		assert.NoError(t, err, header)
	}
	for _, header := range []string{
		"Bearer", "Bearer ", "bearer\ta.b.c", "Bearer,a", "Bearer: a", "Bearer a b", "Bearer a,b", "Bearer a, Basic b",
		"Bearer a\nb", "Bearer \"a\"", "Bearer é", "Bearer a\xff", "Bearer \ta",
	} {
		token, present, err := claims.Bearer(header)
		var refused *claims.Error
		assert.Empty(t, token, header)
		require.True(t, present, header)
		require.ErrorAs(t, err, &refused, header)
		assert.Equal(t, 401, refused.StatusCode(), header)
		assert.EqualError(t, err, `Authorization: expected "Bearer", a space and one token`, header)
	}
}

func TestClone(t *testing.T) {
	t.Parallel()
	newClaims := func() claims.Claims {
		return claims.Claims{
			"sub": "ada", "level": 3.0, "id": json.Number("9007199254740993"), "active": true, "none": nil, "empty": []any{},
			"roles": []any{"hr", []any{"it"}}, "org": map[string]any{"team": "blue", "rooms": []any{1.0}},
		}
	}
	said := newClaims()
	copied := said.Clone()
	if !reflect.DeepEqual(copied, said) {
		t.Errorf("the copy is %v", copied)
	}
	copied["sub"] = "eve"
	copied["roles"].([]any)[0] = "admin"
	copied["roles"].([]any)[1].([]any)[0] = "admin"
	copied["org"].(map[string]any)["team"] = "red"
	copied["org"].(map[string]any)["rooms"].([]any)[0] = 2.0
	if !reflect.DeepEqual(said, newClaims()) {
		t.Errorf("a change of the copy made the claims %v", said)
	}
	if claims.Claims(nil).Clone() != nil {
		t.Error("the copy of no claims is some")
	}
}

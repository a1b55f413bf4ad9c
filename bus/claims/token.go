package claims

import (
	"encoding/base64"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// maxTokenBytes is the length of the longest token.
const maxTokenBytes = 8 << 10

// parseToken takes a token apart. Nothing is verified yet but that its algorithm is one of ours.
func parseToken(token string) (*jose.JSONWebSignature, error) {
	if !isCompact(token) {
		return nil, refuse("token: not a JWT, which is three parts of base64url joined by dots")
	}
	signed, err := jose.ParseSignedCompact(token, algorithms())
	if err != nil { // which quotes the header
		return nil, refuse("token: not a JWT that is signed with one of %v", algorithms())
	}
	header := signed.Signatures[0].Protected
	for _, name := range []jose.HeaderKey{"crit", "b64"} {
		if _, found := header.ExtraHeaders[name]; found {
			return nil, refuse("token: its header asks for %q, which is not supported", name)
		}
	}
	return signed, nil
}

// isCompact reports whether a token is three parts of base64url. The decoder of the library reads over line breaks, and
// over the bits that the last letter of a part has to spare, so that one token could be written in many ways.
func isCompact(token string) bool {
	if strings.Count(token, ".") != 2 || strings.ContainsFunc(token,
		func(c rune) bool { return !isBase64URL(c) && c != '.' }) {
		return false
	}
	for part := range strings.SplitSeq(token, ".") {
		if _, err := base64.RawURLEncoding.Strict().DecodeString(part); err != nil {
			return false
		}
	}
	return true
}

// checkSignature returns the payload of a token, and the one of the keys that has signed it.
func checkSignature(signed *jose.JSONWebSignature,
	keys []*jose.JSONWebKey) (payload []byte, by *jose.JSONWebKey, err error) {
	for _, key := range keys {
		// The bare key: of its set, and of what the token says of keys (jku, jwk, x5u), nothing is looked at.
		if payload, err := signed.Verify(key.Key); err == nil {
			return payload, key, nil
		}
	}
	return nil, nil, refuse("token: its signature does not match the key")
}

// isBase64URL reports whether c is one of the 64 letters of base64url.
func isBase64URL(c rune) bool {
	return isLetterOrDigit(c) || c == '-' || c == '_'
}

// Bearer returns the token in the value of an Authorization header. Without one, or with another scheme than Bearer,
// present is false: that is not an identity, but no error either. A Bearer that is not followed by exactly one token is
// an [*Error]. The scheme may be in any case. Whether the token is valid is for [Verifier.Verify] to say.
func Bearer(header string) (token string, present bool, err error) {
	const scheme = "bearer"
	header = strings.Trim(header, " \t")
	end := strings.IndexFunc(header, func(c rune) bool { return !isSchemeCharacter(c) })
	if end < 0 {
		end = len(header)
	}
	if !strings.EqualFold(header[:end], scheme) {
		return "", false, nil
	}
	rest := header[end:]
	token = strings.TrimLeft(rest, " ")
	if token == "" || token == rest || strings.ContainsFunc(token, func(c rune) bool { return !isTokenCharacter(c) }) {
		return "", true, refuse(`Authorization: expected "Bearer", a space and one token`)
	}
	return token, true, nil
}

// isSchemeCharacter reports whether an authentication scheme may hold c (RFC 9110, 11.1).
func isSchemeCharacter(c rune) bool {
	return isLetterOrDigit(c) || strings.ContainsRune("!#$%&'*+-.^_`|~", c)
}

// isTokenCharacter reports whether a bearer token may hold c (RFC 6750, 2.1).
func isTokenCharacter(c rune) bool {
	return isLetterOrDigit(c) || strings.ContainsRune("-._~+/=", c)
}

func isLetterOrDigit(c rune) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// leeway is by how much the clocks of issuer and verifier may differ.
const leeway = 30 * time.Second

// lastSecond is that of the year 9999. A time beyond it is not a time, and beyond what a time.Time counts.
const lastSecond = 253402300799

// Expiry returns when services no longer take the token of these claims: its exp, and 30 s of leeway. It is zero if
// there is no exp.
func (c Claims) Expiry() time.Time {
	expires, found, err := seconds(c, "exp")
	if err != nil || !found {
		return time.Time{}
	}
	return expires.Add(leeway)
}

// checkTimes checks exp, nbf and iat, and returns when the token expires, leeway included.
func checkTimes(claims Claims, now time.Time) (expiry time.Time, err error) {
	expires, found, err := seconds(claims, "exp")
	if err != nil {
		return time.Time{}, err
	}
	if !found {
		return time.Time{}, refuse("token: it has no expiry; have it issued with exp")
	}
	if expiry = expires.Add(leeway); !now.Before(expiry) {
		return time.Time{}, expired(expires)
	}
	for _, name := range []string{"nbf", "iat"} {
		begins, found, err := seconds(claims, name)
		if err != nil {
			return time.Time{}, err
		}
		if found && now.Add(leeway).Before(begins) {
			return time.Time{}, refuse("token: not valid before %s (%s); compare the clocks", begins.Format(time.RFC3339), name)
		}
	}
	return expiry, nil
}

func expired(at time.Time) error {
	return refuse("token: expired at %s; get a new one", at.Format(time.RFC3339))
}

// seconds reads a claim that is a time.
func seconds(claims Claims, name string) (at time.Time, found bool, err error) {
	claim, found := claims[name]
	if !found {
		return time.Time{}, false, nil
	}
	number, isNumber := claim.(float64)
	if !isNumber || number < 0 || number > lastSecond {
		return time.Time{}, false, refuse("token: its %s is not a number of seconds since 1970", name)
	}
	whole := int64(number)
	return time.Unix(whole, int64((number-float64(whole))*1e9)).UTC(), true, nil
}

// checkIssuer checks iss, when one is asked for.
func checkIssuer(claims Claims, issuer string) error {
	if issuer != "" && claims["iss"] != issuer {
		return refuse("token: its issuer (iss) is not %q", issuer)
	}
	return nil
}

// checkAudience checks aud, a string or a list of strings, when one is asked for.
func checkAudience(claims Claims, audience string) error {
	if audience == "" {
		return nil
	}
	switch claim := claims["aud"].(type) {
	case string:
		if claim == audience {
			return nil
		}
	case []any:
		for _, one := range claim {
			if one == audience {
				return nil
			}
		}
	}
	return refuse("token: it is not meant for %q (aud)", audience)
}

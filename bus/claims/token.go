package claims

import (
	"encoding/base64"
	"strings"

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

// isCompact reports whether a token is three parts of base64url. The decoder of the library reads over line breaks, and over
// the bits that the last letter of a part has to spare, so that one token could be written in many ways.
func isCompact(token string) bool {
	if strings.Count(token, ".") != 2 || strings.ContainsFunc(token, func(c rune) bool { return !isBase64URL(c) && c != '.' }) {
		return false
	}
	for part := range strings.SplitSeq(token, ".") {
		if _, err := base64.RawURLEncoding.Strict().DecodeString(part); err != nil {
			return false
		}
	}
	return true
}

// checkSignature returns the payload of a token that one of the keys has signed.
func checkSignature(signed *jose.JSONWebSignature, keys []*jose.JSONWebKey) ([]byte, error) {
	for _, key := range keys {
		// The bare key: of its set, and of what the token says of keys (jku, jwk, x5u), nothing is looked at.
		if payload, err := signed.Verify(key.Key); err == nil {
			return payload, nil
		}
	}
	return nil, refuse("token: its signature does not match the key")
}

// isBase64URL reports whether c is one of the 64 letters of base64url.
func isBase64URL(c rune) bool {
	return isLetterOrDigit(c) || c == '-' || c == '_'
}

package main

import (
	"cmp"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// jwk is a JSON Web Key of Ed25519.
type jwk struct {
	ID      string `json:"kid"`
	Public  string `json:"x"`
	Private string `json:"d"`
}

// serviceKeys prove who this service is, and say who its callers are. Either may be missing.
type serviceKeys struct {
	own    *jwk
	others map[string]ed25519.PublicKey // by key ID
}

// readServiceKeys reads the files in the variables that other services have, too.
func readServiceKeys() (keys serviceKeys, err error) {
	if err := readJSON(os.Getenv("BUS_SERVICE_KEY"), &keys.own); err != nil {
		return keys, err
	}
	var set struct{ Keys []jwk }
	err = readJSON(os.Getenv("BUS_SERVICE_JWKS"), &set)
	keys.others = make(map[string]ed25519.PublicKey)
	for _, key := range set.Keys {
		public, notBase64 := base64.RawURLEncoding.DecodeString(key.Public)
		if len(public) == ed25519.PublicKeySize {
			keys.others[key.ID] = public
		}
		err = cmp.Or(err, notBase64)
	}
	return keys, err
}

func readJSON(path string, into any) error {
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path) //nolint:gosec // the environment of the service has it
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// proofHeader and proofClaims are the first two parts of a proof.
type (
	proofHeader struct {
		Algorithm string `json:"alg"`
		KeyID     string `json:"kid"`
	}
	proofClaims struct {
		Sender   string `json:"sub"`
		Audience string `json:"aud"`
		Plane    string `json:"plane"`
		Issued   int64  `json:"iat"`
		Expires  int64  `json:"exp"`
	}
)

// proof is what proves this instance to a host. One that is made once a minute for each host would do as well.
func (i *instance) proof(toHost string) (string, error) {
	seed, err := base64.RawURLEncoding.DecodeString(i.keys.own.Private)
	if err != nil || len(seed) != ed25519.SeedSize {
		return "", errors.New("the service key is no private Ed25519 key")
	}
	now := time.Now().Unix()
	header, err := json.Marshal(proofHeader{"EdDSA", i.keys.own.ID})
	if err != nil {
		return "", err
	}
	claims, err := json.Marshal(proofClaims{i.id + "." + host, toHost, i.plane, now, now + 120})
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	text := encode(header) + "." + encode(claims)
	return text + "." + encode(ed25519.Sign(ed25519.NewKeyFromSeed(seed), []byte(text))), nil
}

// leeway is by how much two clocks may differ, longest how long a proof may be valid, in seconds.
const leeway, longest = 30, 300

// checkCaller returns an error unless a request proves that its sender is who it says.
func (i *instance) checkCaller(r *request) error {
	parts := strings.Split(r.fields["bus-caller-proof"], ".")
	if len(parts) != 3 {
		return errors.New("it has not three parts")
	}
	var header proofHeader
	var claims proofClaims
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	err = cmp.Or(err, decodePart(parts[0], &header), decodePart(parts[1], &claims))
	sender, now := r.fields["bus-from-id"]+"."+r.fields["bus-from-host"], time.Now().Unix()
	keyHost, _, _ := strings.Cut(header.KeyID, "/")
	public := i.keys.others[header.KeyID]
	switch {
	case err != nil:
		return err
	case header.Algorithm != "EdDSA" || public == nil:
		return fmt.Errorf("there is no key %q", header.KeyID)
	case !ed25519.Verify(public, []byte(parts[0]+"."+parts[1]), signature):
		return errors.New("the signature does not match")
	case claims.Sender != sender || keyHost != r.fields["bus-from-host"]:
		return errors.New("it is that of another sender")
	case claims.Audience != host && claims.Audience != i.id+"."+host || claims.Plane != i.plane:
		return errors.New("it is meant for another host")
	case claims.Expires+leeway <= now || claims.Issued-leeway > now || claims.Expires-claims.Issued > longest:
		return errors.New("it is not valid now")
	}
	return nil
}

func decodePart(part string, into any) error {
	text, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

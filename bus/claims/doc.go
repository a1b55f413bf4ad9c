// Package claims verifies tokens, and evaluates rules over their claims. It knows neither the bus nor the broker.
//
//	Authorization: Bearer eyJhbGciOi…      Bearer: the token in the header
//	        │
//	        ▼                     file or URL
//	     Verifier ◄──────────── JSON Web Key Set, read again every four minutes
//	        │    signature, exp, nbf, iat, iss, aud
//	        ▼
//	     Claims   {"sub": "ada", "roles": ["admin"], "level": 5}
//	        │
//	        ▼
//	      Rule    "admin" in roles && level > 3
//	        │
//	        ▼
//	    allowed, or not
//
// For example:
//
//	issuer := "https://id.example"
//	verifier, err := claims.Open(ctx, claims.Config{KeySet: issuer + "/jwks.json", Issuer: issuer})
//	…
//	rule, err := claims.Compile(`"admin" in roles && level > 3`)
//	…
//	who, err := verifier.Verify(ctx, token) // an error is a 401
//	if err == nil && !rule.Allows(who) { … } // a 403
//
// # Tokens
//
// A token is a JWT, signed with EdDSA, ES256, RS256 or PS256, never with a shared secret. It has to say when it
// expires. Everything fails closed: no token is accepted without a verifier, without keys, or if anything about it is
// invalid. If a key set cannot be read again, the known keys remain valid.
//
// # Rules
//
// A rule is written in the expr language (github.com/expr-lang/expr). Its names are those of claims. It may contain
//
//	"ada"  'ada'  42  1.5  true  ["a", "b"]                       literals
//	level  org.team  org["team"]  roles[0]  $env["https://x/y"]   claims; $env is all of them
//	==  !=  <  <=  >  >=  in  not in  level in 1..5               comparisons
//	contains  startsWith  endsWith  matches, and not before each  comparisons of strings
//	&&  ||  !  and  or  not  ?:  ??                               logic
//	+  -  *  /  %  **                                             arithmetic
//	any all none one count  len  split lower upper trim           functions: any(roles, # startsWith "team-")
//
// Everything else in expr is refused when the rule is compiled, and so is a comparison that can never hold, such as one
// of a number with a string.
//
// A claim that is absent or null, or of the wrong type, makes the comparison false, but not the whole expression.
// So if the only claim is {"level": 5}
//
//	"admin" in roles                 false
//	"admin" in roles || level > 3    true
//	roles != "admin"                 false, like every comparison with a claim that is absent
//	"admin" not in roles             false, for the same reason
//	not ("admin" in roles)           true: not negates the comparison
//	level > "3"                      false
//	level > limit                    false
//	none(roles, # == "admin")        false: roles is absent
//	admin                            false; a claim by itself is true only when it is true
//	not banned                       true
//	banned != true                   false
//	roles == nil                     true: nil asks whether the claim is there
//	(limit ?? 3) < level             true
//
// So the safe way to require that something is not so is a comparison, banned != true or "banned" not in roles; to
// let in callers without the claim, use not with brackets.
//
// A string is not a list, and neither is an object: "admin" in roles is false if roles is "administrator", or {"admin":
// false}; to ask for a name of an object write org.team != nil. "level" in $env asks whether there is a claim of that
// name. A list is not a string: title contains "admin" is false if title is a list. A number is not a string, and
// strings are compared byte for byte.
package claims

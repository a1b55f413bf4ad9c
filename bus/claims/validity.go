package claims

import (
	"time"
)

// leeway is by how much the clocks of issuer and verifier may differ.
const leeway = 30 * time.Second

// lastSecond is that of the year 9999. A time beyond it is no time, and beyond what a time.Time counts.
const lastSecond = 253402300799

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

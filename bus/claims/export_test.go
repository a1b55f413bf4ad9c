package claims

// Cached returns how many tokens are remembered.
func Cached(v *Verifier) int {
	accepted := &v.keys.Load().accepted
	accepted.mu.RLock()
	defer accepted.mu.RUnlock()
	return len(accepted.young) + len(accepted.older)
}

// Forget makes the verifier forget the tokens that it has accepted.
func Forget(v *Verifier) {
	accepted := &v.keys.Load().accepted
	accepted.mu.Lock()
	defer accepted.mu.Unlock()
	clear(accepted.young)
	clear(accepted.older)
	accepted.bytes = 0
}

// Effort returns what it takes to ask the rule, and what it may take.
func Effort(r *Rule, claims Claims) (steps, most int) {
	e := activation{claims: claims, budget: maxCost}
	r.condition.holds(&e)
	return maxCost - e.budget, maxCost
}

// ParseKeySet returns how many keys of a set are used, and how many are not.
func ParseKeySet(text []byte) (used, ignored int, err error) {
	set, err := parseKeySet(text)
	if err != nil {
		return 0, 0, err
	}
	return len(set.keys), len(set.ignored), nil
}

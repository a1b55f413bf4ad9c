package claims

import "slices"

// term is a part of an expression, ready to be worked out.
type term struct {
	kind     kind
	constant any                   // its value when it is always the same, otherwise nil
	value    func(*evaluation) any // nil when it has no value, such as an absent claim
}

// evaluation is the working out of one rule for one caller.
type evaluation struct {
	claims Claims
	item   any // what # stands for, in the innermost loop
	effort int // what is left of it; when there is none, loops end and the rule does not hold
}

// spend takes some effort, and reports whether there was as much.
func (e *evaluation) spend(effort int) bool {
	if e.effort > 0 {
		e.effort -= effort
	}
	return e.effort > 0
}

// spendOn takes the effort of reading a text.
func (e *evaluation) spendOn(text string) bool {
	const bytesAtATime = 16
	return e.spend(1 + len(text)/bytesAtATime)
}

// holds reports whether a condition is met. What is no truth value is not true.
func (t term) holds(e *evaluation) bool {
	holds, _ := t.value(e).(bool)
	return holds
}

// constantTerm is a literal.
func constantTerm(value any) term {
	return term{kind: kindOf(value), constant: value, value: func(*evaluation) any { return value }}
}

// kind is what sort of value a term has.
type kind int

const (
	kindAny kind = iota // known only when the claims are
	kindBool
	kindNumber
	kindText
	kindList
	kindObject
)

// String says the kind in words.
func (k kind) String() string {
	return [...]string{"any value", "true or false", "a number", "a string", "a list", "an object"}[k]
}

// is reports whether a term can be of a kind.
func (t term) is(kinds ...kind) bool {
	return t.kind == kindAny || slices.Contains(kinds, t.kind)
}

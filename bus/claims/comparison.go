package claims

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// comparison answers for two values, and reports whether they are alike enough to be compared. Where they are not,
// neither the comparison nor its opposite holds.
type comparison func(e *activation, left, right any) (holds, alike bool)

// comparison compiles an operator that compares, or its opposite.
func (c *compiler) comparison(node *ast.BinaryNode, negated bool) (term, error) {
	switch node.Operator {
	case "==", "!=":
		return c.equality(node)
	case "matches":
		return c.matching(node, negated)
	case "in":
		if bounds, ok := node.Right.(*ast.BinaryNode); ok && bounds.Operator == ".." {
			return c.between(node.Left, bounds, negated)
		}
	}
	left, right, err := c.operands(node)
	if err != nil {
		return term{}, err
	}
	compare, err := comparisonOf(node.Operator, left, right)
	if err != nil {
		return term{}, err
	}
	return compared(left, right, compare, negated), nil
}

// compared makes a term of a comparison. An absent value compares with nothing.
func compared(left, right term, compare comparison, negated bool) term {
	return term{kind: kindBool, value: func(e *activation) any {
		a, b := left.value(e), right.value(e)
		if a == nil || b == nil {
			return false
		}
		holds, alike := compare(e, a, b)
		return alike && holds != negated
	}}
}

// comparisonOf returns what an operator does, for operands of such kinds.
func comparisonOf(operator string, left, right term) (comparison, error) {
	switch operator {
	case "<", "<=", ">", ">=":
		if !left.is(kindNumber, kindText) || !right.is(kindNumber, kindText) || !alike(left, right) {
			return nil, never(operator, left, right, "two numbers or two strings")
		}
		return ordering(operator), nil
	case "contains", "startsWith", "endsWith":
		if !left.is(kindText) || !right.is(kindText) {
			return nil, never(operator, left, right, "two strings; for a list, write item in list")
		}
		return containment(operator), nil
	case "in":
		if !right.is(kindList, kindObject) {
			return nil, never(operator, left, right, "a list on its right; to search in a string, write text contains part")
		}
		if right.kind == kindObject { // $env, the only one that is known to be an object
			return named, nil
		}
		return membership, nil
	default:
		return nil, fmt.Errorf("a rule cannot contain the operator %s", operator)
	}
}

// never returns the error of a comparison that no claim can make true.
func never(operator string, left, right term, want string) error {
	return fmt.Errorf("%s %s %s is never true; %s needs %s", left.kind, operator, right.kind, operator, want)
}

// equality compiles == and !=. Beside nil they ask whether a claim is there.
func (c *compiler) equality(node *ast.BinaryNode) (term, error) {
	opposite := node.Operator == "!="
	_, leftNil := node.Left.(*ast.NilNode)
	_, rightNil := node.Right.(*ast.NilNode)
	switch {
	case leftNil && rightNil:
		return term{}, errors.New("nil is compared with nil; compare a claim with nil")
	case leftNil:
		return c.presence(node.Right, opposite)
	case rightNil:
		return c.presence(node.Left, opposite)
	}
	left, right, err := c.operands(node)
	if err != nil {
		return term{}, err
	}
	if !alike(left, right) {
		return term{}, never(node.Operator, left, right, "two values of the same type")
	}
	return compared(left, right, equal, opposite), nil
}

// presence compiles claim != nil and, when it is to be absent, claim == nil.
func (c *compiler) presence(node ast.Node, present bool) (term, error) {
	operand, err := c.term(node)
	if err != nil {
		return term{}, err
	}
	return term{kind: kindBool, value: func(e *activation) any { return (operand.value(e) != nil) == present }}, nil
}

// alike reports whether two terms can be of the same kind.
func alike(left, right term) bool {
	return left.kind == right.kind || left.kind == kindAny || right.kind == kindAny
}

func ordering(operator string) comparison {
	return func(_ *activation, left, right any) (holds, alike bool) {
		order, alike := order(left, right)
		switch operator {
		case "<":
			return order < 0, alike
		case "<=":
			return order <= 0, alike
		case ">":
			return order > 0, alike
		default:
			return order >= 0, alike
		}
	}
}

func containment(operator string) comparison {
	find := map[string]func(text, part string) bool{
		"contains": strings.Contains, "startsWith": strings.HasPrefix, "endsWith": strings.HasSuffix,
	}[operator]
	return func(e *activation, left, right any) (holds, alike bool) {
		whole, isText := left.(string)
		part, areTexts := right.(string)
		if !isText || !areTexts || !e.chargeText(whole) || !e.chargeText(part) {
			return false, false
		}
		return find(whole, part), true
	}
}

// membership is in: of an item in a list. A string has no members, and neither has an object: "hr" in roles must not
// hold for {"roles": {"hr": false}}.
func membership(e *activation, left, right any) (holds, alike bool) {
	items, isList := right.([]any)
	if !isList {
		return false, false
	}
	for _, item := range items {
		if !e.charge(1) {
			return false, false
		}
		if same, _ := equal(e, left, plain(item)); same {
			return true, true
		}
	}
	return false, true
}

// named is in with $env on its right: it asks whether there is a claim of a name.
func named(_ *activation, left, right any) (holds, alike bool) {
	name, isText := left.(string)
	claims, _ := right.(map[string]any)
	return plain(claims[name]) != nil, isText
}

// between compiles level in 1..5: whole numbers, both ends included.
func (c *compiler) between(node ast.Node, bounds *ast.BinaryNode, negated bool) (term, error) {
	operand, err := c.term(node)
	if err != nil {
		return term{}, err
	}
	from, to, err := c.operands(bounds)
	if err != nil {
		return term{}, err
	}
	if !operand.is(kindNumber) || !from.is(kindNumber) || !to.is(kindNumber) {
		return term{}, errors.New("in with a range needs a number on its left and at both ends: level in 1..5")
	}
	return term{kind: kindBool, value: func(e *activation) any {
		value, isNumber := operand.value(e).(float64)
		low, hasLow := from.value(e).(float64)
		high, hasHigh := to.value(e).(float64)
		if !isNumber || !hasLow || !hasHigh {
			return false
		}
		inside := low <= value && value <= high && math.Trunc(value) == value
		return inside != negated
	}}, nil
}

// matching compiles text matches "pattern", an RE2 regular expression that the rule holds itself.
func (c *compiler) matching(node *ast.BinaryNode, negated bool) (term, error) {
	left, right, err := c.operands(node)
	if err != nil {
		return term{}, err
	}
	source, isText := right.constant.(string)
	if !isText || !left.is(kindText) {
		return term{}, errors.New(`matches needs a string on its left and a quoted pattern on its right: email matches "@example[.]com$"`)
	}
	pattern, states, err := compilePattern(source)
	if err != nil {
		return term{}, err
	}
	return compared(left, right, func(e *activation, left, _ any) (holds, alike bool) {
		const statesAtATime = 4
		whole, isText := left.(string)
		if !isText || !e.charge(1+len(whole)*states/statesAtATime) {
			return false, false
		}
		return pattern.MatchString(whole), true
	}, negated), nil
}

// compilePattern also returns the number of states of a pattern: what it costs, at worst, for each byte.
func compilePattern(source string) (pattern *regexp.Regexp, states int, err error) {
	const maxStates = 1000
	parsed, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, 0, fmt.Errorf("pattern %s: %w", quote(source), err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, 0, fmt.Errorf("pattern %s: %w", quote(source), err)
	}
	if len(program.Inst) > maxStates {
		return nil, 0, fmt.Errorf("pattern %s: too large; use smaller repetition counts", quote(source))
	}
	pattern, err = regexp.Compile(source)
	return pattern, len(program.Inst), err
}

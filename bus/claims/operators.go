package claims

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
)

// unary compiles an operator before its operand, and the not of "x not in list", which the parser puts there too.
func (c *compiler) unary(node *ast.UnaryNode) (term, error) {
	if node.Operator == "-" || node.Operator == "+" {
		return c.sign(node)
	}
	if inner, ok := node.Node.(*ast.BinaryNode); ok && isInfixNot(node, inner) {
		return c.comparison(inner, true)
	}
	operand, err := c.condition(node.Node, "the operand of "+node.Operator)
	if err != nil {
		return term{}, err
	}
	return term{kind: kindBool, value: func(e *activation) any { return !operand.holds(e) }}, nil
}

// isInfixNot distinguishes "x not in list" from "not (x in list)": in the first the not comes after x.
func isInfixNot(not *ast.UnaryNode, inner *ast.BinaryNode) bool {
	negatable := []string{"in", "contains", "startsWith", "endsWith", "matches"}
	return slices.Contains(negatable, inner.Operator) && not.Location().From > inner.Left.Location().From
}

// sign compiles -x and +x.
func (c *compiler) sign(node *ast.UnaryNode) (term, error) {
	operand, err := c.term(node.Node)
	if err != nil {
		return term{}, err
	}
	if !operand.is(kindNumber) {
		return term{}, fmt.Errorf("%s needs a number, not %s", node.Operator, operand.kind)
	}
	if node.Operator == "+" {
		return operand, nil
	}
	if operand.constant != nil {
		return constantTerm(negative(operand.constant)), nil
	}
	return term{kind: kindNumber, value: func(e *activation) any { return negative(operand.value(e)) }}, nil
}

// binary compiles an operator between its operands.
func (c *compiler) binary(node *ast.BinaryNode) (term, error) {
	switch node.Operator {
	case "&&", "and", "||", "or":
		return c.junction(node)
	case "??":
		return c.alternative(node)
	case "+", "-", "*", "/", "%", "**", "^":
		return c.arithmetic(node)
	case "..":
		return term{}, errors.New("a range is allowed only after in: level in 1..5")
	default:
		return c.comparison(node, false)
	}
}

// junction compiles && and ||. A chain of the same operator is as deep as its deepest link, not as it is long.
func (c *compiler) junction(node *ast.BinaryNode) (term, error) {
	if left, ok := node.Left.(*ast.BinaryNode); ok && left.Operator == node.Operator {
		c.depth--
		defer func() { c.depth++ }()
	}
	left, err := c.condition(node.Left, "the operand before "+node.Operator)
	if err != nil {
		return term{}, err
	}
	right, err := c.condition(node.Right, "the operand after "+node.Operator)
	if err != nil {
		return term{}, err
	}
	if node.Operator == "&&" || node.Operator == "and" {
		return term{kind: kindBool, value: func(e *activation) any { return left.holds(e) && right.holds(e) }}, nil
	}
	return term{kind: kindBool, value: func(e *activation) any { return left.holds(e) || right.holds(e) }}, nil
}

// alternative compiles a ?? b: b when there is no a.
func (c *compiler) alternative(node *ast.BinaryNode) (term, error) {
	left, right, err := c.operands(node)
	if err != nil {
		return term{}, err
	}
	return term{kind: common(left, right), value: func(e *activation) any {
		if value := left.value(e); value != nil {
			return value
		}
		return right.value(e)
	}}, nil
}

// arithmetic compiles the operators that make a number of two, and + of two strings.
func (c *compiler) arithmetic(node *ast.BinaryNode) (term, error) {
	left, right, err := c.operands(node)
	if err != nil {
		return term{}, err
	}
	operator := node.Operator
	if operator == "+" && left.is(kindText) && right.is(kindText) && !(left.is(kindNumber) && right.is(kindNumber)) {
		return term{kind: kindText, value: func(e *activation) any { return join(e, left.value(e), right.value(e)) }}, nil
	}
	if !left.is(kindNumber) || !right.is(kindNumber) {
		needed := "two numbers"
		if operator == "+" {
			needed += " or two strings"
		}
		return term{}, fmt.Errorf("%s needs %s, not %s and %s", operator, needed, left.kind, right.kind)
	}
	if operator == "+" && left.kind == kindAny && right.kind == kindAny {
		return term{value: func(e *activation) any { return add(e, left.value(e), right.value(e)) }}, nil
	}
	return term{kind: kindNumber, value: func(e *activation) any {
		return calculate(operator, left.value(e), right.value(e))
	}}, nil
}

// add adds what may be numbers or strings.
func add(e *activation, left, right any) any {
	if sum := calculate("+", left, right); sum != nil {
		return sum
	}
	return join(e, left, right)
}

// join puts two strings together.
func join(e *activation, left, right any) any {
	a, isText := left.(string)
	b, areTexts := right.(string)
	if !isText || !areTexts || !e.chargeText(a) || !e.chargeText(b) {
		return nil
	}
	return a + b
}

// operands compiles both sides.
func (c *compiler) operands(node *ast.BinaryNode) (left, right term, err error) {
	if left, err = c.term(node.Left); err != nil {
		return term{}, term{}, err
	}
	right, err = c.term(node.Right)
	return left, right, err
}

// function compiles a call of a function of expr. A rule has those that say something about claims; the others
// make lists out of nothing, read the clock or hide what is compared.
func (c *compiler) function(name string, arguments []ast.Node) (term, error) {
	switch name {
	case "any", "all", "none", "one", "count":
		return c.quantifier(name, arguments)
	case "len":
		return c.simple(name, arguments, kindNumber, length, kindText, kindList, kindObject)
	case "lower":
		return c.simple(name, arguments, kindText, onText(strings.ToLower), kindText)
	case "upper":
		return c.simple(name, arguments, kindText, onText(strings.ToUpper), kindText)
	case "trim":
		return c.simple(name, arguments, kindText, onText(strings.TrimSpace), kindText)
	case "split":
		return c.split(arguments)
	default:
		const others = "all, any, count, len, lower, none, one, split, trim and upper"
		return term{}, fmt.Errorf("the function %s is not available in rules; use one of %s", quote(name), others)
	}
}

// call compiles what looks like a call of anything else.
func (c *compiler) call(node *ast.CallNode) (term, error) {
	if callee, ok := node.Callee.(*ast.IdentifierNode); ok {
		return c.function(callee.Value, node.Arguments)
	}
	return term{}, errors.New("a rule cannot call a method; write function(claim)")
}

// simple compiles a function of one argument, which has to be of certain kinds.
func (c *compiler) simple(
	name string, arguments []ast.Node, result kind, function func(*activation, any) any, kinds ...kind,
) (term, error) {
	if len(arguments) != 1 {
		return term{}, fmt.Errorf("%s takes one argument, not %d", name, len(arguments))
	}
	argument, err := c.term(arguments[0])
	if err != nil {
		return term{}, err
	}
	if !argument.is(kinds...) {
		needed := make([]string, len(kinds))
		for i, each := range kinds {
			needed[i] = each.String()
		}
		return term{}, fmt.Errorf("%s needs %s, not %s", name, strings.Join(needed, " or "), argument.kind)
	}
	return term{kind: result, value: func(e *activation) any { return function(e, argument.value(e)) }}, nil
}

// length counts characters, items or members.
func length(e *activation, value any) any {
	switch value := value.(type) {
	case string:
		if !e.chargeText(value) {
			return nil
		}
		return float64(utf8.RuneCountInString(value))
	case []any:
		return float64(len(value))
	case map[string]any:
		return float64(len(value))
	default:
		return nil
	}
}

// onText makes a function of strings one of values.
func onText(function func(string) string) func(*activation, any) any {
	return func(e *activation, value any) any {
		text, isText := value.(string)
		if !isText || !e.chargeText(text) {
			return nil
		}
		return function(text)
	}
}

// split compiles split(scope, " "): the list of the parts between blanks.
func (c *compiler) split(arguments []ast.Node) (term, error) {
	if len(arguments) != 2 {
		return term{}, fmt.Errorf(`split takes two arguments, as in split(scope, " "), not %d`, len(arguments))
	}
	whole, err := c.term(arguments[0])
	if err != nil {
		return term{}, err
	}
	separator, err := c.term(arguments[1])
	if err != nil {
		return term{}, err
	}
	between, isText := separator.constant.(string)
	if !isText || between == "" || !whole.is(kindText) {
		return term{}, errors.New(`split takes a string and a quoted separator: split(scope, " ")`)
	}
	return term{kind: kindList, value: func(e *activation) any { return parts(e, whole.value(e), between) }}, nil
}

func parts(e *activation, value any, between string) any {
	whole, isText := value.(string)
	if !isText || !e.chargeText(whole) {
		return nil
	}
	var items []any
	for part := range strings.SplitSeq(whole, between) {
		const asMuchAs = 4 // other parts of an expression
		if !e.charge(asMuchAs) {
			return nil
		}
		items = append(items, part)
	}
	return items
}

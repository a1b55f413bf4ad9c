package claims

import (
	"errors"
	"fmt"
	"slices"

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
	return term{kind: kindBool, value: func(e *evaluation) any { return !operand.holds(e) }}, nil
}

// isInfixNot tells "x not in list" from "not (x in list)": there the not comes after x.
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
	return term{kind: kindNumber, value: func(e *evaluation) any { return negative(operand.value(e)) }}, nil
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
		return term{kind: kindBool, value: func(e *evaluation) any { return left.holds(e) && right.holds(e) }}, nil
	}
	return term{kind: kindBool, value: func(e *evaluation) any { return left.holds(e) || right.holds(e) }}, nil
}

// alternative compiles a ?? b: b when there is no a.
func (c *compiler) alternative(node *ast.BinaryNode) (term, error) {
	left, right, err := c.operands(node)
	if err != nil {
		return term{}, err
	}
	return term{kind: common(left, right), value: func(e *evaluation) any {
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
		return term{kind: kindText, value: func(e *evaluation) any { return join(e, left.value(e), right.value(e)) }}, nil
	}
	if !left.is(kindNumber) || !right.is(kindNumber) {
		needed := "two numbers"
		if operator == "+" {
			needed += " or two strings"
		}
		return term{}, fmt.Errorf("%s needs %s, not %s and %s", operator, needed, left.kind, right.kind)
	}
	if operator == "+" && left.kind == kindAny && right.kind == kindAny {
		return term{value: func(e *evaluation) any { return add(e, left.value(e), right.value(e)) }}, nil
	}
	return term{kind: kindNumber, value: func(e *evaluation) any { return calculate(operator, left.value(e), right.value(e)) }}, nil
}

// add adds what may be numbers or strings.
func add(e *evaluation, left, right any) any {
	if sum := calculate("+", left, right); sum != nil {
		return sum
	}
	return join(e, left, right)
}

// join puts two strings together.
func join(e *evaluation, left, right any) any {
	a, isText := left.(string)
	b, areTexts := right.(string)
	if !isText || !areTexts || !e.spendOn(a) || !e.spendOn(b) {
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

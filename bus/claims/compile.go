package claims

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/expr-lang/expr/ast"
)

// compiler makes terms of the syntax tree of an expression. The language and its syntax are those of expr; its virtual
// machine is not used, for two reasons: an absent claim would end the whole expression where only the comparison is to
// be false, and nothing bounds the time that loops within loops take.
type compiler struct {
	depth int
	parts int // so far: a measure of the cost, and of the size
}

// condition compiles what has to be true or false. Its name is for the error.
func (c *compiler) condition(node ast.Node, name string) (term, error) {
	t, err := c.term(node)
	if err == nil && !t.is(kindBool) {
		err = fmt.Errorf("%s is %s, but has to be true or false; compare it with a value", name, t.kind)
	}
	return t, err
}

// term compiles any node.
func (c *compiler) term(node ast.Node) (term, error) {
	if c.parts++; c.parts > maxParts {
		return term{}, errParts
	}
	if c.depth++; c.depth > maxDepth {
		return term{}, errDepth
	}
	defer func() { c.depth-- }()
	switch node := node.(type) {
	case *ast.BoolNode:
		return constantTerm(node.Value), nil
	case *ast.StringNode:
		return constantTerm(node.Value), nil
	case *ast.IntegerNode:
		return constantTerm(exact(strconv.Itoa(node.Value))), nil
	case *ast.FloatNode:
		return constantTerm(node.Value), nil
	case *ast.NilNode:
		return term{}, errors.New("nil is allowed only with == and !=, which test whether a claim is there")
	case *ast.IdentifierNode:
		return claim(node.Value), nil
	case *ast.PointerNode:
		return pointer(node.Name)
	case *ast.ChainNode: // a?.b is a.b, since nothing fails
		return c.term(node.Node)
	case *ast.MemberNode:
		return c.member(node)
	case *ast.ArrayNode:
		return c.array(node)
	case *ast.UnaryNode:
		return c.unary(node)
	case *ast.BinaryNode:
		return c.binary(node)
	case *ast.ConditionalNode:
		return c.conditional(node)
	case *ast.BuiltinNode:
		return c.function(node.Name, node.Arguments)
	case *ast.CallNode:
		return c.call(node)
	default:
		return term{}, unknownSyntax(node)
	}
}

// unknownSyntax returns the error of what expr has and a rule does without.
func unknownSyntax(node ast.Node) error {
	var what string
	switch node.(type) {
	case *ast.VariableDeclaratorNode:
		what = "let; write the value where it is used"
	case *ast.SequenceNode:
		what = "a semicolon; join conditions with && or ||"
	case *ast.MapNode:
		what = "a map; compare the members of a claim one by one"
	case *ast.SliceNode:
		what = "a slice; use any, all, none, one or count"
	case *ast.BytesNode:
		what = "bytes; write a string"
	default:
		what = fmt.Sprintf("%T; write it in another way", node)
	}
	return fmt.Errorf("a rule cannot contain %s", what)
}

// claim compiles the name of a claim. $env is all of them, for names that are not identifiers.
func claim(name string) term {
	if name == "$env" {
		return term{kind: kindObject, value: func(e *activation) any { return map[string]any(e.claims) }}
	}
	return term{value: func(e *activation) any { return plain(e.claims[name]) }}
}

// pointer compiles #, the item that a loop is at.
func pointer(name string) (term, error) {
	if name != "" {
		return term{}, fmt.Errorf("a rule cannot contain #%s; use # for the current item", name)
	}
	return term{value: func(e *activation) any { return e.item }}, nil
}

// member compiles org.team, org["team"] and roles[0].
func (c *compiler) member(node *ast.MemberNode) (term, error) {
	whole, err := c.term(node.Node)
	if err != nil {
		return term{}, err
	}
	key, err := c.term(node.Property)
	if err != nil {
		return term{}, err
	}
	if !whole.is(kindObject, kindList) || !key.is(kindText, kindNumber) {
		return term{}, fmt.Errorf("%s cannot be indexed with %s; index a claim, as in org.team or roles[0]",
			whole.kind, key.kind)
	}
	return term{value: func(e *activation) any { return memberOf(whole.value(e), key.value(e)) }}, nil
}

// memberOf returns a member of an object or an item of a list, from its end when the index is negative.
func memberOf(whole, key any) any {
	switch whole := whole.(type) {
	case map[string]any:
		if name, ok := key.(string); ok {
			return plain(whole[name])
		}
	case []any:
		number, ok := key.(float64)
		if ok && number < 0 {
			number += float64(len(whole))
		}
		if ok && number >= 0 && number < float64(len(whole)) && number == float64(int(number)) {
			return plain(whole[int(number)])
		}
	}
	return nil
}

// array compiles ["a", "b"].
func (c *compiler) array(node *ast.ArrayNode) (term, error) {
	items := make([]term, len(node.Nodes))
	values := make([]any, len(node.Nodes))
	constant := true
	for i, node := range node.Nodes {
		item, err := c.term(node)
		if err != nil {
			return term{}, err
		}
		items[i], values[i] = item, item.constant
		constant = constant && item.constant != nil
	}
	if constant {
		return constantTerm(values), nil
	}
	return term{kind: kindList, value: func(e *activation) any {
		values := make([]any, len(items))
		for i, item := range items {
			values[i] = item.value(e)
		}
		return values
	}}, nil
}

// conditional compiles a ? b : c.
func (c *compiler) conditional(node *ast.ConditionalNode) (term, error) {
	if !node.Ternary {
		return term{}, errors.New("a rule cannot contain if; write condition ? a : b")
	}
	condition, err := c.condition(node.Cond, "the condition before ?")
	if err != nil {
		return term{}, err
	}
	yes, err := c.term(node.Exp1)
	if err != nil {
		return term{}, err
	}
	no, err := c.term(node.Exp2)
	if err != nil {
		return term{}, err
	}
	return term{kind: common(yes, no), value: func(e *activation) any {
		if condition.holds(e) {
			return yes.value(e)
		}
		return no.value(e)
	}}, nil
}

// common returns the kind that two terms share.
func common(a, b term) kind {
	if a.kind == b.kind {
		return a.kind
	}
	return kindAny
}

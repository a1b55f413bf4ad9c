package claims

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
)

// function compiles a call of a function of expr. A rule has those that say something about claims; the others
// make lists out of nothing, read the clock or hide what is compared.
func (c *compiler) function(name string, arguments []ast.Node) (term, error) {
	switch name {
	case "any", "all", "none", "one", "count":
		return c.loop(name, arguments)
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
	name string, arguments []ast.Node, result kind, function func(*evaluation, any) any, kinds ...kind,
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
	return term{kind: result, value: func(e *evaluation) any { return function(e, argument.value(e)) }}, nil
}

// length counts characters, items or members.
func length(e *evaluation, value any) any {
	switch value := value.(type) {
	case string:
		if !e.spendOn(value) {
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
func onText(function func(string) string) func(*evaluation, any) any {
	return func(e *evaluation, value any) any {
		text, isText := value.(string)
		if !isText || !e.spendOn(text) {
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
	return term{kind: kindList, value: func(e *evaluation) any { return parts(e, whole.value(e), between) }}, nil
}

func parts(e *evaluation, value any, between string) any {
	whole, isText := value.(string)
	if !isText || !e.spendOn(whole) {
		return nil
	}
	var items []any
	for part := range strings.SplitSeq(whole, between) {
		const asMuchAs = 4 // other parts of an expression
		if !e.spend(asMuchAs) {
			return nil
		}
		items = append(items, part)
	}
	return items
}

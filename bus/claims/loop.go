package claims

import (
	"fmt"

	"github.com/expr-lang/expr/ast"
)

// loop compiles any(roles, # startsWith "team-") and its like. Of what is no list none of them holds, and count has
// no value: "none of his roles" is said of somebody who has roles.
func (c *compiler) loop(name string, arguments []ast.Node) (term, error) {
	if len(arguments) == 1 && name == "count" {
		arguments = append(arguments, &ast.PredicateNode{Node: new(ast.PointerNode)})
	}
	if len(arguments) != 2 {
		return term{}, fmt.Errorf("%s takes a list and a condition on its items, as in %s(roles, # startsWith \"x\")", name, name)
	}
	items, err := c.term(arguments[0])
	if err != nil {
		return term{}, err
	}
	if !items.is(kindList) {
		return term{}, fmt.Errorf("%s needs a list, not %s", name, items.kind)
	}
	before := c.parts
	condition, err := c.predicate(name, arguments[1])
	if err != nil {
		return term{}, err
	}
	effort := c.parts - before
	result := kindBool
	if name == "count" {
		result = kindNumber
	}
	return term{kind: result, value: func(e *evaluation) any {
		items, isList := items.value(e).([]any)
		if !isList {
			return nil
		}
		met, ok := tally(e, items, condition, effort, enough(name, len(items)))
		if !ok {
			return nil
		}
		return answer(name, met, len(items))
	}}, nil
}

// predicate compiles the condition on the items.
func (c *compiler) predicate(name string, node ast.Node) (term, error) {
	if predicate, ok := node.(*ast.PredicateNode); ok {
		node = predicate.Node
	}
	return c.condition(node, "the condition of "+name)
}

// enough returns after how many items that meet the condition the answer is known.
func enough(name string, items int) int {
	switch name {
	case "any", "none":
		return 1
	case "one":
		return 2
	default:
		return items
	}
}

// tally counts the items that meet the condition. It is not ok when that takes too much effort.
func tally(e *evaluation, items []any, condition term, effort, enough int) (met int, ok bool) {
	outer := e.item
	defer func() { e.item = outer }()
	for _, item := range items {
		if !e.spend(effort) {
			return 0, false
		}
		if e.item = plain(item); condition.holds(e) {
			met++
		}
		if met == enough {
			break
		}
	}
	return met, true
}

// answer returns what a loop says.
func answer(name string, met, items int) any {
	switch name {
	case "any":
		return met > 0
	case "all":
		return met == items
	case "none":
		return met == 0
	case "one":
		return met == 1
	default:
		return float64(met)
	}
}

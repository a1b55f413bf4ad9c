package claims

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// quantifier compiles any(roles, # startsWith "team-") and its like. For a value that is not a list all of them are
// false, and count has no value: "none of his roles" applies only to a caller who has roles.
func (c *compiler) quantifier(name string, arguments []ast.Node) (term, error) {
	if len(arguments) == 1 && name == "count" {
		arguments = append(arguments, &ast.PredicateNode{Node: new(ast.PointerNode)})
	}
	if len(arguments) != 2 {
		return term{}, fmt.Errorf("%s takes a list and a condition on its items, as in %s(roles, # startsWith \"x\")",
			name, name)
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
	cost := c.parts - before
	result := kindBool
	if name == "count" {
		result = kindNumber
	}
	return term{kind: result, value: func(e *activation) any {
		items, isList := items.value(e).([]any)
		if !isList {
			return nil
		}
		met, ok := countMatches(e, items, condition, cost, enough(name, len(items)))
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

// countMatches counts the items that meet the condition. It is not ok when that costs too much.
func countMatches(e *activation, items []any, condition term, cost, enough int) (met int, ok bool) {
	outer := e.item
	defer func() { e.item = outer }()
	for _, item := range items {
		if !e.charge(cost) {
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

// plain returns a claim in the form that terms work with: nil, bool, float64 or exact integer, string, []any or
// map[string]any. The claims of a token are in it. Those that a test writes by hand may hold any Go number and strings;
// what else there is, is like absent.
func plain(claim any) any {
	switch value := claim.(type) {
	case nil, bool, string, []any, map[string]any:
		return claim
	case float64:
		if finite(value) {
			return claim
		}
		return nil
	case stdjson.Number:
		if isNumber(string(value)) {
			return exact(string(value))
		}
		return nil
	case Claims:
		return map[string]any(value)
	case []string:
		items := make([]any, len(value))
		for i, item := range value {
			items[i] = item
		}
		return items
	default:
		return plainNumber(reflect.ValueOf(claim))
	}
}

// plainNumber returns any Go number in plain form, nil for what is none.
func plainNumber(value reflect.Value) any {
	switch {
	case value.CanInt():
		return exact(strconv.FormatInt(value.Int(), 10))
	case value.CanUint():
		return exact(strconv.FormatUint(value.Uint(), 10))
	case value.CanFloat() && finite(value.Float()):
		return value.Float()
	default:
		return nil
	}
}

// isNumber reports whether text is a number as JSON writes it, more or less.
func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return !errors.Is(err, strconv.ErrSyntax) && strings.Trim(text, "+-.0123456789Ee") == ""
}

func finite(number float64) bool {
	return !math.IsNaN(number) && !math.IsInf(number, 0)
}

// kindOf returns the kind of a plain value.
func kindOf(value any) kind {
	switch value.(type) {
	case bool:
		return kindBool
	case float64, stdjson.Number:
		return kindNumber
	case string:
		return kindText
	case []any:
		return kindList
	case map[string]any:
		return kindObject
	default:
		return kindAny
	}
}

// equal reports whether two values are the same, and whether they can be: a number and a string are not even different.
func equal(e *activation, left, right any) (same, alike bool) {
	kind := kindOf(left)
	if kind == kindAny || kind != kindOf(right) || !e.charge(1) {
		return false, false
	}
	switch left := left.(type) {
	case []any:
		return equalLists(e, left, right.([]any)), true //nolint:forcetypeassert // of the same kind
	case map[string]any:
		return equalObjects(e, left, right.(map[string]any)), true //nolint:forcetypeassert // of the same kind
	default: // an exact integer is never the same as a float64: see Claims
		return left == right, true
	}
}

func equalLists(e *activation, left, right []any) bool {
	if len(left) != len(right) {
		return false
	}
	for i := range left {
		if same, _ := equal(e, plain(left[i]), plain(right[i])); !same {
			return false
		}
	}
	return true
}

func equalObjects(e *activation, left, right map[string]any) bool {
	if len(left) != len(right) {
		return false
	}
	for name := range left {
		if same, _ := equal(e, plain(left[name]), plain(right[name])); !same {
			return false
		}
	}
	return true
}

// order compares two numbers or two strings: negative when left comes first.
func order(left, right any) (order int, alike bool) {
	if a, ok := left.(string); ok {
		b, ok := right.(string)
		return strings.Compare(a, b), ok
	}
	if kindOf(left) != kindNumber || kindOf(right) != kindNumber {
		return 0, false
	}
	return orderNumbers(left, right), true
}

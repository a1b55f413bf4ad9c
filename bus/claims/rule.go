package claims

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/parser/lexer"
)

// Limits of a rule.
const (
	maxExpressionBytes = 4 << 10
	maxDepth           = 64                 // brackets in brackets, operators in operators
	maxParts           = maxExpressionBytes // operands of 1 < x < 2 count twice
	maxCost            = 1_000_000          // parts of the expression worked out for one answer, each some 10 ns
)

// Rule is a condition on claims. It is safe for concurrent use. A nil *Rule allows nothing.
type Rule struct {
	expression string
	condition  term
}

// Compile parses an expression, such as `"admin" in roles && level > 3`; the package comment describes the language.
// The error names the expression and what to write instead: it does not parse, is not a condition, calls an unknown
// function, compares what can never be equal, is longer than 4096 bytes, or nests brackets more than 64 deep.
func Compile(expression string) (*Rule, error) {
	condition, err := compile(expression)
	if err != nil {
		return nil, fmt.Errorf("claims expression %s: %w", quote(expression), err)
	}
	return &Rule{expression: expression, condition: condition}, nil
}

func compile(expression string) (term, error) {
	if err := checkSize(expression); err != nil {
		return term{}, err
	}
	tree, err := parser.Parse(expression)
	if err != nil {
		return term{}, explain(err)
	}
	return new(compiler).condition(tree.Node, "the expression")
}

// checkSize refuses an expression that the parser should not be asked to read.
func checkSize(expression string) error {
	if len(expression) > maxExpressionBytes {
		return fmt.Errorf("longer than %d bytes; have the issuer combine what it tests into one claim", maxExpressionBytes)
	}
	if !utf8.ValidString(expression) {
		return errors.New("not valid UTF-8")
	}
	tokens, err := lexer.Lex(file.NewSource(expression))
	if err != nil {
		return explain(err)
	}
	depth := 0
	for _, token := range tokens {
		switch {
		case token.Is(lexer.Bracket, "(", "[", "{"):
			depth++
		case token.Is(lexer.Bracket, ")", "]", "}"):
			depth--
		}
		if depth > maxDepth {
			return errDepth
		}
	}
	return nil
}

// Why an expression is refused that is an expression.
var (
	errDepth = fmt.Errorf("nested more than %d levels deep; write it flatter", maxDepth)
	errParts = fmt.Errorf("more than %d parts; write it shorter", maxParts)
)

// explain makes one line of what the parser says.
func explain(err error) error {
	var located *file.Error
	if !errors.As(err, &located) {
		return err
	}
	return fmt.Errorf(`%s (line %d, column %d); write it like "admin" in roles && level > 3`,
		located.Message, located.Line, located.Column+1)
}

// Allows reports whether the claims satisfy the rule. It never fails: a comparison with a claim that is absent or of
// the wrong type is false. Nil claims, those of a caller without a token, are allowed nothing. A rule that takes too
// long, such as several nested loops over long lists, is not satisfied.
func (r *Rule) Allows(claims Claims) bool {
	if r == nil || claims == nil {
		return false
	}
	e := activation{claims: claims, budget: maxCost}
	return r.condition.holds(&e) && e.budget > 0
}

// String returns the expression.
func (r *Rule) String() string {
	if r == nil {
		return ""
	}
	return r.expression
}

// quote makes an expression safe for a log line.
func quote(text string) string {
	const longest = 64
	if len(text) > longest {
		return strconv.Quote(text[:longest]) + "…"
	}
	return strconv.Quote(text)
}

// term is a part of an expression, ready to be worked out.
type term struct {
	kind     kind
	constant any                   // its value when it is always the same, otherwise nil
	value    func(*activation) any // nil when it has no value, such as an absent claim
}

// activation is the evaluation of one rule for one caller.
type activation struct {
	claims Claims
	item   any // what # stands for, in the innermost loop
	budget int // what is left of the cost that a rule may have; at zero, loops end and the rule does not hold
}

// charge subtracts a cost, and reports whether the budget had as much.
func (e *activation) charge(cost int) bool {
	if e.budget > 0 {
		e.budget -= cost
	}
	return e.budget > 0
}

// chargeText subtracts the cost of reading a text.
func (e *activation) chargeText(text string) bool {
	const bytesAtATime = 16
	return e.charge(1 + len(text)/bytesAtATime)
}

// holds reports whether a condition is met. What is not a truth value is not true.
func (t term) holds(e *activation) bool {
	holds, _ := t.value(e).(bool)
	return holds
}

// constantTerm is a literal.
func constantTerm(value any) term {
	return term{kind: kindOf(value), constant: value, value: func(*activation) any { return value }}
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

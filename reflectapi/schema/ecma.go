package schema

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// A pattern in a schema is a regular expression of ECMA 262 with the flag u, as JSON Schema asks for, because that is
// how the readers of a document understand it. Package regexp, which takes linear time for any text, checks it here.
// The two dialects differ:
//
//	\s \S .            match other characters            the sets of ECMA are written out
//	[] [^] [\b] \0     and \cX, \u0041, \u{41},          rewritten
//	                   \p{Script=Greek} are ECMA only
//	\z \A \Q (?i)      and \a, \x{41}, \pL, \p{Greek},   an error that says what to write
//	                   (?P<n>…), [[:alpha:]] are Go only
//	(?=…) \1           cannot be matched in linear time  an error

const (
	// what \s is.
	spaces = `\t-\r \x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}`
	// what \S is.
	others = `\x{0}-\x{8}\x{E}-\x{1F}!-\x{9F}\x{A1}-\x{167F}\x{1681}-\x{1FFF}\x{200B}-\x{2027}\x{202A}-\x{202E}` +
		`\x{2030}-\x{205E}\x{2060}-\x{2FFF}\x{3001}-\x{FEFE}\x{FF00}-\x{10FFFF}`
	inLine    = `[^\n\r\x{2028}\x{2029}]` // what . is
	anyRune   = `[\x{0}-\x{10FFFF}]`
	noRune    = `[^\x{0}-\x{10FFFF}]`
	syntax    = `^$\.*+?()[]{}|/` // what \ makes literal
	backspace = '\b'
)

// pattern is a regular expression as it is documented, and as it is checked.
type pattern struct {
	documented string
	checked    *regexp.Regexp
}

// CheckPattern returns an error for a pattern that cannot be enforced as its readers understand it: as a regular
// expression of ECMA 262 with the flag u. Those that take more than linear time, such as (?=…), are refused, too. The
// error is what is said of the pattern: "has \z, …: write $".
func CheckPattern(documented string) error {
	_, err := newPattern(documented)
	return err
}

func newPattern(documented string) (*pattern, error) {
	t := translation{left: documented}
	if err := t.run(); err != nil {
		return nil, err
	}
	checked, err := regexp.Compile(t.out.String())
	if err != nil {
		return nil, fmt.Errorf("is not a regular expression that can be checked: %s", goProblem(err))
	}
	return &pattern{documented, checked}, nil
}

// goProblem returns what package regexp refuses, without the translated text, which is not what the author wrote.
func goProblem(err error) string {
	text := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
	kind, _, _ := strings.Cut(text, ": `")
	return kind
}

// translation turns a documented pattern into one for package regexp.
type translation struct {
	left string // what is still to be read
	out  strings.Builder
}

// run translates the whole pattern. Package regexp finds what both dialects refuse.
func (t *translation) run() error {
	repeatable := true
	for t.left != "" {
		anchor, err := t.term(repeatable)
		if err != nil {
			return err
		}
		repeatable = !anchor
	}
	return nil
}

// term translates the next term. It reports whether that is an assertion, which ECMA does not repeat.
func (t *translation) term(repeatable bool) (anchor bool, err error) {
	r, size := utf8.DecodeRuneInString(t.left)
	switch {
	case r == '\\':
		return t.escape()
	case r == '[':
		return false, t.class()
	case r == '(':
		return false, t.group()
	case strings.ContainsRune("*+?{", r) && !repeatable:
		return false, fmt.Errorf("repeats an assertion with %c: leave that out", r)
	case r == '{':
		bounds := quantifier.FindString(t.left)
		if bounds == "" {
			return false, errors.New(`has a { that is no quantifier: write \{`)
		}
		t.move(len(bounds), bounds)
		return false, nil
	case r == ']' || r == '}':
		return false, fmt.Errorf(`has a %c that closes nothing: write \%[1]c`, r)
	case r == '.':
		t.move(size, inLine)
	default:
		t.move(size, t.left[:size])
	}
	return r == '^' || r == '$', nil
}

var (
	quantifier = regexp.MustCompile(`^\{\d+(?:,\d*)?\}`)
	goGroup    = regexp.MustCompile(`^\(\?P[<>=]`)
	goFlags    = regexp.MustCompile(`^\(\?[A-Za-z-]*[:)]`)
	posixClass = regexp.MustCompile(`^\[:\^?[a-z]+:\]`)
	property   = regexp.MustCompile(`^\\([pP])\{([A-Za-z0-9_=]+)\}`)
	hexEscape  = regexp.MustCompile(`^\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]+)\})`)
)

// move drops a number of bytes from the pattern, and writes their translation.
func (t *translation) move(size int, translated string) {
	t.left = t.left[size:]
	t.out.WriteString(translated)
}

// group translates the start of a group.
func (t *translation) group() error {
	flags := goFlags.FindString(t.left)
	switch {
	case strings.HasPrefix(t.left, "(?=") || strings.HasPrefix(t.left, "(?!") || strings.HasPrefix(t.left, "(?<=") ||
		strings.HasPrefix(t.left, "(?<!"):
		return errors.New("looks ahead or behind, which takes more than linear time: check that in the method")
	case goGroup.MatchString(t.left):
		return errors.New("has (?P, which only Go knows: write (?<name>…), or (…)")
	case flags != "" && flags != "(?:":
		return fmt.Errorf("has the flags %s, which only Go knows: write what they stand for, such as [Aa] for (?i:a)", flags)
	case strings.HasPrefix(t.left, "(?:"):
		t.move(3, "(?:")
	case strings.HasPrefix(t.left, "(?<"):
		name, _, _ := strings.Cut(t.left, ">")
		t.move(len(name), name)
	default:
		t.move(1, "(")
	}
	return nil
}

// escape translates \ and what follows it, outside of a class. It reports whether that is an assertion.
func (t *translation) escape() (anchor bool, err error) {
	if strings.HasPrefix(t.left, `\b`) || strings.HasPrefix(t.left, `\B`) {
		t.move(2, t.left[:2])
		return true, nil
	}
	set, r, err := t.atom()
	switch {
	case err != nil:
		return false, err
	case set != "":
		t.out.WriteString("[" + set + "]")
	default:
		t.out.WriteString(literal(r))
	}
	return false, nil
}

// class translates a class of characters. A range has a single character at both ends.
func (t *translation) class() error {
	switch {
	case strings.HasPrefix(t.left, "[]"):
		t.move(2, noRune)
		return nil
	case strings.HasPrefix(t.left, "[^]"):
		t.move(3, anyRune)
		return nil
	case strings.HasPrefix(t.left, "[^"):
		t.move(2, "[^")
	default:
		t.move(1, "[")
	}
	for !strings.HasPrefix(t.left, "]") {
		set, low, err := t.classAtom()
		if err != nil {
			return err
		}
		isRange := len(t.left) > 1 && t.left[0] == '-' && t.left[1] != ']'
		if !isRange {
			t.out.WriteString(set + literalUnless(set, low))
			continue
		}
		t.left = t.left[1:]
		end, high, err := t.classAtom()
		switch {
		case err != nil:
			return err
		case set+end != "":
			return errors.New(`has a range that begins or ends with a set: write \- for the character -`)
		}
		t.out.WriteString(literal(low) + "-" + literal(high))
	}
	t.move(1, "]")
	return nil
}

// classAtom reads a character of a class, or a set within it.
func (t *translation) classAtom() (set string, r rune, err error) {
	switch {
	case t.left == "":
		return "", 0, errors.New("has a [ that is not closed")
	case posixClass.MatchString(t.left):
		return "", 0, fmt.Errorf("has %s, which only Go knows: write the characters, such as A-Za-z",
			posixClass.FindString(t.left))
	case strings.HasPrefix(t.left, `\b`):
		t.left = t.left[2:]
		return "", backspace, nil
	case strings.HasPrefix(t.left, `\-`):
		t.left = t.left[2:]
		return "", '-', nil
	case t.left[0] == '\\':
		return t.atom()
	}
	r, size := utf8.DecodeRuneInString(t.left)
	t.left = t.left[size:]
	return "", r, nil
}

// atom reads an escape that stands for a set of characters, as it is written within a class, or for one.
func (t *translation) atom() (set string, r rune, err error) {
	if len(t.left) < 2 {
		return "", 0, errors.New(`ends with a \: write \\`)
	}
	if t.left[1] == 'x' || t.left[1] == 'u' {
		r, err = t.codePoint()
		return "", r, err
	}
	if t.left[1] == 'p' || t.left[1] == 'P' {
		set, err = t.property()
		return set, 0, err
	}
	r, size := utf8.DecodeRuneInString(t.left[1:])
	rest := t.left[1+size:]
	defer func() { t.left = rest }()
	switch {
	case strings.ContainsRune(syntax, r):
		return "", r, nil
	case r == 's':
		return spaces, 0, nil
	case r == 'S':
		return others, 0, nil
	case strings.ContainsRune("dDwW", r):
		return `\` + string(r), 0, nil
	case strings.ContainsRune("fnrtv", r):
		return "", map[rune]rune{'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}[r], nil
	case r == 'c' && rest != "" && isLetter(rest[0]):
		control := rune(rest[0] & 31)
		rest = rest[1:]
		return "", control, nil
	case r == '0' && (rest == "" || rest[0] < '0' || rest[0] > '9'):
		return "", 0, nil
	}
	return "", 0, escapeProblem(r)
}

// escapeProblem returns the reason for which an escape cannot be checked, and what to write.
func escapeProblem(r rune) error {
	remedies := map[rune]string{
		'A': "^", 'z': "$", 'Z': "$", 'a': `\x07`, 'C': `[^]`, 'Q': `a \ before each of ` + syntax,
		'E': `nothing`, '0': `\x00`,
	}
	switch remedy := remedies[r]; {
	case remedy != "":
		return fmt.Errorf(`has \%c, which does not mean that to its readers: write %s`, r, remedy)
	case r >= '1' && r <= '9' || r == 'k':
		return fmt.Errorf(`has \%c, which refers to a group and takes more than linear time: check that in the method`, r)
	case r < utf8.RuneSelf && isLetter(byte(r)):
		return fmt.Errorf(`has \%c, which no escape is written as: write %[1]c, or \\%[1]c`, r)
	default:
		return fmt.Errorf(`has \%c, which its readers refuse: write %[1]c`, r)
	}
}

// codePoint reads a character given by its number. Two halves of a surrogate pair are one.
func (t *translation) codePoint() (rune, error) {
	r, written := numbered(t.left)
	if written == 0 {
		if strings.HasPrefix(t.left, `\x{`) {
			return 0, errors.New(`has \x{, which only Go knows: write \u{`)
		}
		return 0, fmt.Errorf(`has %s without the digits of a character: write \x41, \u0041 or \u{41}`, t.left[:2])
	}
	t.left = t.left[written:]
	if utf16.IsSurrogate(r) {
		low, more := numbered(t.left)
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			return 0, errors.New("has half of a surrogate pair, which no text has: write both halves")
		}
		t.left = t.left[more:]
	}
	return r, nil
}

// numbered returns the character whose number a text begins with, and the length of that; 0 for none.
func numbered(text string) (r rune, length int) {
	found := hexEscape.FindStringSubmatch(text)
	if found == nil {
		return 0, 0
	}
	n, err := strconv.ParseUint(found[1]+found[2]+found[3], 16, 32)
	if err != nil || n > unicode.MaxRune {
		return 0, 0
	}
	return rune(n), len(found[0])
}

// property reads a property of Unicode: a general category, or a script.
func (t *translation) property() (set string, err error) {
	found := property.FindStringSubmatch(t.left)
	if found == nil {
		return "", fmt.Errorf(`has %s without a property in braces: write \p{L}, or \P{L} for all others`, t.left[:2])
	}
	t.left = t.left[len(found[0]):]
	kind, name, named := strings.Cut(found[2], "=")
	if !named {
		kind, name = "gc", kind
	}
	known := false
	switch kind {
	case "gc", "General_Category":
		if long := unicode.CategoryAliases[name]; long != "" {
			name = long
		}
		known = unicode.Categories[name] != nil || !named && (name == "Any" || name == "ASCII" || name == "Assigned")
	case "sc", "Script":
		known = unicode.Scripts[name] != nil
	}
	switch {
	case known:
		return `\` + found[1] + "{" + name + "}", nil
	case !named && unicode.Scripts[name] != nil:
		return "", fmt.Errorf(`has %s, which only Go knows: write \%s{Script=%s}`, found[0], found[1], name)
	default:
		return "", fmt.Errorf(`has %s, which is no general category and no script of Unicode that Go knows: write \p{L}, \p{Script=Greek} or the characters`, found[0])
	}
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// literal writes a character so that it means itself within a class and outside.
func literal(r rune) string {
	if r < utf8.RuneSelf && (isLetter(byte(r)) || unicode.IsDigit(r)) {
		return string(r)
	}
	return fmt.Sprintf(`\x{%X}`, r)
}

func literalUnless(set string, r rune) string {
	if set != "" {
		return ""
	}
	return literal(r)
}

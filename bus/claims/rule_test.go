package claims_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/claims"
)

// ask compiles an expression and asks it.
func ask(t testing.TB, expression string, who claims.Claims) bool {
	t.Helper()
	rule, err := claims.Compile(expression)
	must(t, err)
	if rule.String() != expression {
		t.Errorf("%s is written %s", expression, rule)
	}
	return rule.Allows(who)
}

// TestRules asks rules of the claims of one token: all but for the large integers as encoding/json reads them.
func TestRules(t *testing.T) {
	t.Parallel()
	var who claims.Claims
	must(t, json.Unmarshal([]byte(`{
		"sub": "ada", "email": "Ada@example.com", "scope": "read write", "level": 5, "share": 0.1, "zero": 0, "empty": "",
		"roles": ["admin", "hr"], "none": [], "mixed": ["1", 1, null, true, ["x"], {"a": 1}],
		"teams": [{"name": "x", "size": 3}, {"name": "y"}],
		"org": {"team": "x", "lead": {"name": "grace"}}, "admin": true, "banned": false, "yes": "true", "null": null,
		"title": "administrator", "naïve": "é", "https://x/y": "z"
	}`), &who))
	who["id"], who["minus"] = json.Number("9007199254740993"), json.Number("-9007199254740993")
	who["huge"] = json.Number("1" + strings.Repeat("0", 400))
	for expression, want := range map[string]bool{
		// As in the contract.
		`"admin" in roles && level > 3`: true,
		`"admin" in roles && level > 5`: false,
		`"boss" in roles || level > 3`:  true,
		`"boss" in roles`:               false,
		`"hr" in roles && level >= 3`:   true,
		`org.team == "x"`:               true,
		`org["team"] == "x"`:            true,
		`org.lead.name == "grace"`:      true,
		`org?.lead?.name == "grace"`:    true,
		`$env["https://x/y"] == "z"`:    true,
		`naïve == "é"`:                  true,
		`naïve == "e\u0301"`:            false, // looks the same

		// Absent.
		`missing == "x"`:                 false,
		`missing != "x"`:                 false,
		`missing > 3`:                    false,
		`missing < 3`:                    false,
		`!(missing < 3)`:                 true,
		`"admin" in missing`:             false,
		`"admin" not in missing`:         false,
		`not ("admin" in missing)`:       true,
		`!("admin" in missing)`:          true,
		`missing in ["a"]`:               false,
		`missing not in ["a"]`:           false,
		`missing in roles`:               false,
		`missing == missing`:             false,
		`missing == other`:               false,
		`missing`:                        false,
		`not missing`:                    true,
		`missing.team.name == "x"`:       false,
		`org.missing.name == "x"`:        false,
		`roles[7] == "x"`:                false,
		`missing contains "x"`:           false,
		`missing not contains "x"`:       false,
		`missing matches "x"`:            false,
		`missing not matches "x"`:        false,
		`missing startsWith "x"`:         false,
		`missing not endsWith "x"`:       false,
		`missing + 1 > 0`:                false,
		`missing + 1 > 0 || level > 3`:   true,
		`-missing < 1`:                   false,
		`missing in 1..9`:                false,
		`missing not in 1..9`:            false,
		`len(missing) == 0`:              false,
		`len(missing) < 9`:               false,
		`lower(missing) == ""`:           false,
		`"x" in split(missing, " ")`:     false,
		`"x" not in split(missing, " ")`: false,
		`any(missing, # == "x")`:         false,
		`all(missing, # == "x")`:         false,
		`none(missing, # == "x")`:        false,
		`one(missing, # == "x")`:         false,
		`count(missing, # == "x") == 0`:  false,
		`null == "x"`:                    false,
		`null != "x"`:                    false,
		`(missing ? 1 : 2) == 2`:         true,
		`(missing ?? 3) == 3`:            true,
		`(level ?? 3) == 3`:              false,
		`missing == nil`:                 true,
		`missing != nil`:                 false,
		`nil == null`:                    true,
		`level == nil`:                   false,
		`level != nil`:                   true,
		`org.missing == nil`:             true,
		`missing > 3 && level > 3`:       false,
		`missing > 3 || level > 3`:       true,
		`missing && admin`:               false,
		`missing || admin`:               true,

		// Of the wrong type.
		`"admin" in title`:           false,
		`"admin" not in title`:       false,
		`title contains "admin"`:     true,
		`roles contains "admin"`:     false,
		`roles not contains "admin"`: false,
		`roles == "admin"`:           false,
		`roles != "admin"`:           false,
		`roles > 3`:                  false,
		`level == "5"`:               false,
		`level != "5"`:               false,
		`level > "4"`:                false,
		`"5" > level`:                false,
		`sub > 3`:                    false,
		`sub.team == "x"`:            false,
		`sub["team"] == "x"`:         false,
		`sub[0] == "a"`:              false,
		`roles.admin == true`:        false,
		`roles["admin"] == true`:     false,
		`org[0] == "x"`:              false,
		`yes`:                        false,
		`yes == true`:                false,
		`yes != true`:                false,
		`not yes`:                    true,
		`level`:                      false,
		`"x" in level`:               false,
		`5 in org`:                   false,
		`len(level) > 0`:             false,
		`sub + 1 > 0`:                false,
		`sub * 2 > 0`:                false,
		`-sub < 0`:                   false,
		`sub in 1..5`:                false,
		`any(title, # == "a")`:       false,
		`none(title, # == "a")`:      false,
		`level matches "5"`:          false,
		`split(roles, " ") == nil`:   true,

		// Comparisons.
		`level == 5`: true, `level == 5.0`: true, `level != 4`: true, `level < 6`: true, `level <= 5`: true,
		`level >= 6`:    false,
		`4 < level < 6`: true, `4 < level < 5`: false, `1 < 2 < 3 < 4`: true, `3 < 2`: false,
		`share == 0.1`: true, `-level == -5`: true, `+level == 5`: true, `zero == -0`: true,
		`sub == "ada"`: true, `sub == 'ada'`: true, "sub == `ada`": true, `sub == "Ada"`: false, `sub < "b"`: true,
		`sub >= "b"`:    false,
		`admin == true`: true, `admin != true`: false, `banned == false`: true, `admin`: true, `!banned`: true,
		`not admin`:                false,
		`roles == ["admin", "hr"]`: true, `roles == ["hr", "admin"]`: false, `roles != ["hr"]`: true, `none == []`: true,
		`org == org`: true, `org != org`: false, `org == teams[0]`: false, `org.lead == org`: false, `mixed == mixed`: false,
		`level in [1, 5]`: true, `level in ["5"]`: false, `level not in [1, 2]`: true, `level in [1, len(roles) + 3]`: true,
		`level in 1..5`: true, `level in 6..9`: false, `level not in 6..9`: true, `share in 0..1`: false,
		`level in 1..len(roles)`: false,
		`"team" in org`:          false, `"team" not in org`: false, `any(org, # == "x")`: false,
		`none(org, # == "x")`: false,
		`org.team != nil`:     true, `"sub" in $env`: true, `"null" in $env`: false,
		`1 in mixed`: true, `"1" in mixed`: true, `2 in mixed`: false, `true in mixed`: true, `["x"] in mixed`: true,
		`["y"] in mixed`:      false,
		`sub startsWith "ad"`: true, `sub endsWith "da"`: true, `sub not startsWith "x"`: true, `sub contains ""`: true,
		`email matches "(?i)^[a-z]+@example[.]com$"`: true, `email not matches "^x"`: true, `sub matches "^d"`: false,

		// Large integers.
		`id == 9007199254740993`: true, `id == 9007199254740992`: false, `id != 9007199254740992`: true,
		`id > 9007199254740992`:  true,
		`id >= 9007199254740993`: true, `id <= 9007199254740993`: true, `id < 9007199254740994`: true,
		`id > 9007199254740995`: false,
		`id < 9007199254740995`: true, `id > 5`: true, `id in [9007199254740993]`: true, `id in [9007199254740992]`: false,
		`minus == -9007199254740993`: true, `-id == minus`: true, `-minus == id`: true, `minus < -9007199254740992`: true,
		`minus > -9007199254740994`: true, `minus > -9007199254740995`: true, `minus < id`: true, `huge > id`: true,
		`minus > huge`: false,
		`huge == huge`: true, `-huge < minus`: true, `id + 1 > 0`: false,

		// Logic and arithmetic.
		`true`: true, `false`: false, `!true`: false, `true and not false`: true, `false or true`: true,
		`level > 3 ? admin : banned`: true, `level > 9 ? admin : banned`: false,
		`level + 1 == 6`: true, `level - 1 == 4`: true, `level * 2 == 10`: true, `level / 2 == 2.5`: true,
		`level % 2 == 1`:   true,
		`level ** 2 == 25`: true, `level ^ 2 == 25`: true, `level / 0 > 0`: false, `level % 0 == 0`: false,
		`zero ** -1 > 0`:      false,
		`sub + "!" == "ada!"`: true, `sub + sub == "adaada"`: true, `level + level == 10`: true,
		`sub + level == "ada5"`: false,

		// Functions.
		`len(roles) == 2`: true, `len(sub) == 3`: true, `len(org) == 2`: true, `len(naïve) == 1`: true,
		`len(empty) == 0`:                   true,
		`lower(email) == "ada@example.com"`: true, `upper(sub) == "ADA"`: true, `trim(" x ") == "x"`: true,
		`"read" in split(scope, " ")`: true, `"rea" in split(scope, " ")`: false,
		`any(roles, # startsWith "ad")`: true, `any(roles, # == "x")`: false, `any(none, true)`: false,
		`all(roles, len(#) > 1)`: true, `all(roles, # == "hr")`: false, `all(none, false)`: true,
		`none(roles, # == "x")`: true, `none(roles, # == "hr")`: false, `none(none, true)`: true,
		`one(roles, # == "hr")`: true, `one(roles, true)`: false, `count(roles, # != "hr") == 1`: true,
		`count(mixed) == 1`:     true,
		`any(teams, .size > 2)`: true, `any(teams, .name == "y" && .size > 2)`: false, `any(teams, #.name == org.team)`: true,
		`roles | any(# == "hr")`: true, `any(roles, {# == "hr"})`: true,
		`any(teams, any(roles, # == "hr") && .name == "y")`: true,
		`any(["hr", "it"], # in roles)`:                     true, `teams[0].name == "x"`: true,
		`teams[-1].name == "y"`: true, `teams[-3].name == "y"`: false,
		`teams[0.5].name == "x"`: false, `roles[level - 4] == "hr"`: true, `org[sub] == "x"`: false,
	} {
		if got := ask(t, expression, who); got != want {
			t.Errorf("%s: %t", expression, got)
		}
	}
}

// TestGoClaims asks of claims that were written by hand.
func TestGoClaims(t *testing.T) {
	t.Parallel()
	who := claims.Claims{
		"roles": []string{"admin"}, "level": 5, "small": uint8(5), "share": float32(0.5), "big": int64(9007199254740993),
		"org": claims.Claims{"team": "x"}, "text": json.Number("x"), "float": json.Number("1.5"), "nan": math.NaN(),
		"inf": math.Inf(1), "func": func() {}, "time": time.Time{}, "nil": (*int)(nil), "bytes": []byte("admin"),
	}
	for expression, want := range map[string]bool{
		`"admin" in roles && level > 3`: true,
		`small == 5 && share == 0.5`:    true,
		`big == 9007199254740993`:       true,
		`big == 9007199254740992`:       false,
		`org.team == "x"`:               true,
		`float == 1.5`:                  true,
		`text == "x"`:                   false,
		`nan == nan || nan != 3`:        false,
		`inf > 3`:                       false,
		`func != nil || time != nil`:    false,
		`$env["nil"] != nil`:            false,
		`"admin" in bytes`:              false,
	} {
		if got := ask(t, expression, who); got != want {
			t.Errorf("%s: %t", expression, got)
		}
	}
}

func TestNobody(t *testing.T) {
	t.Parallel()
	var none *claims.Rule
	assert.False(t, ask(t, `true`, nil), "a caller without a token is allowed something")
	assert.True(t, ask(t, `true`, claims.Claims{}))
	assert.False(t, none.Allows(claims.Claims{}))
	assert.Empty(t, none.String())
}

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	const functions = "is not available in rules; use one of all, any, count, len, lower, none, one, split, trim and upper"
	for expression, reason := range map[string]string{
		"":                                 `unexpected token EOF (line 1, column 1); write it like "admin" in roles && level > 3`,
		`"admin" in`:                       `unexpected token EOF (line 1, column 10); write it like`,
		"level >\n> 3":                     `unexpected token Operator(">") (line 2, column 1); write it like`,
		`"admin`:                           `literal not terminated (line 1, column 7); write it like`,
		`level > 3 level`:                  `unexpected token Identifier("level") (line 1, column 11)`,
		`level > 99999999999999999999`:     `invalid integer literal`,
		"a == \"\xff\"":                    `not valid UTF-8`,
		`level + 1`:                        `the expression is a number, but has to be true or false; compare it with a value`,
		`"admin"`:                          `the expression is a string, but has to be true or false`,
		`["admin"]`:                        `the expression is a list, but has to be true or false`,
		`$env`:                             `the expression is an object, but has to be true or false`,
		`"admin" && level > 3`:             `the operand before && is a string, but has to be true or false`,
		`level > 3 or len(roles)`:          `the operand after or is a number, but has to be true or false`,
		`!"x"`:                             `the operand of ! is a string, but has to be true or false`,
		`"x" ? true : false`:               `the condition before ? is a string, but has to be true or false`,
		`any(roles, "x")`:                  `the condition of any is a string, but has to be true or false`,
		`isAdmin(roles)`:                   `the function "isAdmin" ` + functions,
		`roles.has("admin")`:               `a rule cannot call a method; write function(claim)`,
		`now() > 3`:                        `the function "now" ` + functions,
		`repeat(sub, 9) == "x"`:            `the function "repeat" ` + functions,
		`len(filter(roles, true)) > 1`:     `the function "filter" ` + functions,
		`len(map(roles, #)) > 1`:           `the function "map" ` + functions,
		`reduce(roles, #acc + #) > 1`:      `the function "reduce" ` + functions,
		`len(1..1000000000) > 1`:           `a range is allowed only after in: level in 1..5`,
		`let x = level; x > 3`:             `a rule cannot contain let; write the value where it is used`,
		`level > 3; true`:                  `a rule cannot contain a semicolon; join conditions with && or ||`,
		`org == {"team": "x"}`:             `a rule cannot contain a map; compare the members of a claim one by one`,
		`roles[0:1] == ["x"]`:              `a rule cannot contain a slice; use any, all, none, one or count`,
		`sub == b"x"`:                      `a rule cannot contain bytes; write a string`,
		`if admin { true } else { false }`: `a rule cannot contain if; write condition ? a : b`,
		`any(roles, #index > 1)`:           `a rule cannot contain #index; use # for the current item`,
		`# == 1`:                           `unexpected token`,
		`nil`:                              `nil is allowed only with == and !=, which test whether a claim is there`,
		`nil in roles`:                     `nil is allowed only with == and !=`,
		`nil == nil`:                       `nil is compared with nil; compare a claim with nil`,
		`nil != "x" + 1`:                   `+ needs two numbers or two strings, not a string and a number`,
		`1 == "1"`:                         `a number == a string is never true; == needs two values of the same type`,
		`len(roles) > "1"`:                 `a number > a string is never true; > needs two numbers or two strings`,
		`admin > false`:                    `any value > true or false is never true; > needs two numbers or two strings`,
		`true < false`:                     `true or false < true or false is never true`,
		`"admin" in "administrator"`:       `a string in a string is never true; in needs a list on its right; to search in a string, write text contains part`,
		`["x"] contains "x"`:               `a list contains a string is never true; contains needs two strings; for a list, write item in list`,
		`"x" in 1..5`:                      `in with a range needs a number on its left and at both ends: level in 1..5`,
		`level in 1.."x"`:                  `in with a range needs a number on its left and at both ends`,
		`sub matches email`:                `matches needs a string on its left and a quoted pattern on its right: email matches "@example[.]com$"`,
		`level + 1 matches "x"`:            `matches needs a string on its left and a quoted pattern on its right`,
		`sub matches "("`:                  `pattern "(": error parsing regexp: missing closing ): `,
		`sub matches "(x{100}){11}"`:       `pattern "(x{100}){11}": `,
		`sub matches "\\pL{999}x{9}"`:      `too large; use smaller repetition counts`,
		`-"x" == 1`:                        `- needs a number, not a string`,
		`-nil == 1`:                        `nil is allowed only with`,
		`true + 1 == 2`:                    `+ needs two numbers or two strings, not true or false and a number`,
		`len() == 1`:                       `len takes one argument, not 0`,
		`len(1) == 1`:                      `len needs a string or a list or an object, not a number`,
		`lower(roles, 1) == "x"`:           `lower takes one argument, not 2`,
		`any(roles) == true`:               `expected at least 2 arguments`,
		`any("x", true)`:                   `any needs a list, not a string`,
		`split(scope)[0] == "x"`:           `split takes two arguments, as in split(scope, " "), not 1`,
		`split(scope, "")[0] == ""`:        `split takes a string and a quoted separator: split(scope, " ")`,
		`split(scope, sep)[0] == ""`:       `split takes a string and a quoted separator`,
		`"x".y == 1`:                       `a string cannot be indexed with a string; index a claim, as in org.team or roles[0]`,
		`org[true] == 1`:                   `any value cannot be indexed with true or false`,
		strings.Repeat("x", 4097):          `longer than 4096 bytes; have the issuer combine what it tests into one claim`,
		strings.Repeat("x", 10000):         `longer than 4096 bytes`,
		strings.Repeat("(", 1000) + "true" + strings.Repeat(")",
			1000): `nested more than 64 levels deep; write it flatter`,
		strings.Repeat("!", 1000) +
			"true": `nested more than 64 levels deep; write it flatter`,
		strings.Repeat("a == 1 || ", 100) + strings.Repeat("!", 100) +
			"true": `nested more than 64 levels deep; write it flatter`,
		strings.Repeat("a.", 1000) + "b == 1": `nested more than 64 levels deep; write it flatter`,
		strings.Repeat("-", 1000) + "1 == 1":  `nested more than 64 levels deep; write it flatter`,
		doubling(18):                          `more than 4096 parts; write it shorter`,
	} {
		rule, err := claims.Compile(expression)
		require.Error(t, err, "%.100s", expression)
		assert.True(t, strings.HasPrefix(err.Error(), `claims expression "`), err.Error())
		assert.ErrorContains(t, err, reason, "%.100s", expression)
		assert.Nil(t, rule, "%.100s", expression)
		if err != nil && (len(err.Error()) > 500 || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%.100s: %q is not one line", expression, err)
		}
	}
}

// doubling returns an expression that the parser makes 2^n parts of, since x in 1 < x < 3 stands in two comparisons.
func doubling(n int) string {
	expression := "2"
	for range n {
		expression = "(1<" + expression + "<3?2:3)"
	}
	return expression + "==2"
}

// TestLongRules holds that a long list of conditions is not a deep one.
func TestLongRules(t *testing.T) {
	t.Parallel()
	if !ask(t, strings.Repeat("level == 1 || ", 250)+"level == 5", claims.Claims{"level": 5.0}) {
		t.Error("250 conditions are too many")
	}
	if ask(t, strings.Repeat("level > 1 && ", 250)+"level == 6", claims.Claims{"level": 5.0}) {
		t.Error("the last condition does not count")
	}
}

// TestEffort holds that no rule takes long: it does not hold instead, whatever stands before it.
func TestEffort(t *testing.T) {
	t.Parallel()
	many := make([]any, 4000)
	for i := range many {
		many[i] = "x"
	}
	who := claims.Claims{"many": many, "long": strings.Repeat("x", 8000), "level": 5.0}
	for expression, want := range map[string]bool{
		`any(many, # == "x") && level == 5`:                                 true,
		`all(many, # == "x") && none(many, # == "y")`:                       true,
		`not any(many, none(many, any(many, # == "y")))`:                    false,
		`not any(many, "y" in many) && level == 5`:                          false,
		`level == 5 || any(many, "y" in many)`:                              true,
		`any(many, "y" in many) || level == 5`:                              false,
		`none(many, long matches "(x+x+)+y")`:                               false,
		`none(many, many == many && false)`:                                 false,
		`none(many, lower(long) == "y")`:                                    false,
		`none(many, long + long == "y")`:                                    false,
		`none(many, long contains "y" or "y" in split(long, "xx"))`:         false,
		`not (long matches "` + strings.Repeat("(x|y|z)?", 100) + `[^x]$")`: true,
	} {
		rule, err := claims.Compile(expression)
		must(t, err)
		if got := rule.Allows(who); got != want {
			t.Errorf("%s: %t", expression, got)
		}
		checkEffort(t, rule, who)
	}
}

// checkEffort checks that a rule stops soon after it has taken what it may.
func checkEffort(t testing.TB, rule *claims.Rule, who claims.Claims) {
	t.Helper()
	if steps, most := claims.Effort(rule, who); steps > 5*most {
		t.Errorf("%s takes %d, at most %d is right", rule, steps, most)
	}
}

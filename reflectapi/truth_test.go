package reflectapi_test

import (
	"slices"
	"strings"
	"testing"
)

// answer is a line that testdata/program prints: how one method is described.
type answer struct {
	origin string // nothing, code, table or embedded
	method string // with its service, e.g. "*Store.Put"

	names, comment, typeComment string // where they came from
	signature, doc              string
	err                         string
}

// parseAnswers picks the answers out of what a program prints; go test prints more.
func parseAnswers(t *testing.T, printed string) []*answer {
	t.Helper()
	var answers []*answer
	for line := range strings.Lines(printed) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if fields[0] != "answer" {
			continue
		}
		if len(fields) != 9 {
			t.Fatalf("an answer of %d fields: %q", len(fields), line)
		}
		answers = append(answers, &answer{fields[1], fields[2], fields[3], fields[4], fields[5], fields[6],
			fields[7], fields[8]})
	}
	return answers
}

// shape is a kind of method, as the table in docs/guides/names.md has it.
type shape struct {
	label   string
	regular bool // any source at all can name it
	methods []truth
}

// truth is what a method is called wherever it is called anything.
type truth struct{ method, signature, doc string }

var shapes = []shape{
	{"of a value", true, []truth{
		{"Calculator.Add", "Add(x int, y int) (sum int)", "Add adds."},
		{"*Calculator.Add", "Add(x int, y int) (sum int)", "Add adds."},
		{"Calculator.Count", "Count(from int) iter.Seq2[int, error]", "Count streams, and its result needs no name."},
		{"*Calculator.Count", "Count(from int) iter.Seq2[int, error]", "Count streams, and its result needs no name."},
	}},
	{"of a pointer", true, []truth{
		{"*Slow.Walk", "Walk(steps int) (done int, last string)",
			"Walk defers, which gives its results two places to live in."},
		{"*Slow.Run", "Run(steps int) (done int)", "Run defers, too, and has a blank context."},
	}},
	{"of a generic type", true, []truth{
		{"*Store.Put", "Put(key string, value int) (old int)", "Put has a pointer receiver."},
		{"*Store.Get", "Get(key string) (value int, found bool)", "Get has a value receiver."},
		{"*Store.Watch", "Watch(prefix string) iter.Seq2[int, error]", "Watch streams from generic code."},
	}},
	{"promoted from an embedded struct", true, []truth{
		{"*Outer.Add", "Add(x int, y int) (sum int)", "Add adds."},
		{"*Outer.Sum", "Sum(start int, more ...int) (result int)", "Sum is variadic, its result unnamed."},
		{"*Outer.Count", "Count(from int) iter.Seq2[int, error]", "Count streams, and its result needs no name."},
		{"*Outer.Watch", "Watch(prefix string) iter.Seq2[Calculator, error]", "Watch streams from generic code."},
		{"*Outer.Put", "Put(key string, value Calculator) (old Calculator)", "Put has a pointer receiver."},
		{"*Outer.Get", "Get(key string) (value Calculator, found bool)", "Get has a value receiver."},
	}},
	{"variadic, one result without a name", true, []truth{
		{"Calculator.Sum", "Sum(start int, more ...int) (result int)", "Sum is variadic, its result unnamed."},
		{"*Calculator.Sum", "Sum(start int, more ...int) (result int)", "Sum is variadic, its result unnamed."},
	}},
	{"receiver without a name, argument of its type", false, []truth{
		{"Twin.Same", "Same(other Twin) (equal bool)",
			"Same has a receiver without a name, and an argument of the receiver's type."},
	}},
	{"argument `_`, or without a name", false, []truth{
		{"Unnamed.Args", "Args(x int, y int) (ok bool)", "Args are types alone."},
		{"Unnamed.Blank", "Blank(x Unnamed, y Unnamed) (ok bool)",
			"Blank can be inlined, so that its blank argument is not in the debug information."},
	}},
	{"several results without names", false, []truth{
		{"Unnamed.Pair", "Pair() (a int, b int)", "Pair has two results, and which is which only its author knows."},
	}},
	{"of an interface", true, []truth{
		{"Greeter/Friend.Greet", "Greet(name string, times int) (greeting string)", "Greet greets a person."},
		{"Greeter/Friend.Shout", "Shout(words ...string) (loudness int)", "Shout is variadic."},
		{"Teller/Friend.Tell", "Tell(story string, times int) (moral string)", "Tell tells a story."},
		{"Teller/Friend.Repeat", "Repeat(stories ...string) (count int)", "Repeat is variadic."},
		{"Teller/Friend.Recite", "Recite(times int) iter.Seq2[string, error]", "Recite streams."},
	}},
	{"of an interface, served by a mock", true, []truth{
		{"Greeter/Mock.Greet", "Greet(name string, times int) (greeting string)", "Greet greets a person."},
		{"Greeter/Mock.Shout", "Shout(words ...string) (loudness int)", "Shout is variadic."},
		{"Teller/Mock.Tell", "Tell(story string, times int) (moral string)", "Tell tells a story."},
		{"Teller/Mock.Repeat", "Repeat(stories ...string) (count int)", "Repeat is variadic."},
		{"Teller/Mock.Recite", "Recite(times int) iter.Seq2[string, error]", "Recite streams."},
	}},
}

// checkTruth holds the answers of one run to the truth: right, or an error that says what is
// missing and what to do.
func checkTruth(t *testing.T, m measurement) {
	t.Helper()
	for _, shape := range shapes {
		for _, truth := range shape.methods {
			of := func(a *answer) bool { return a.method == truth.method }
			if !slices.ContainsFunc(m.answers, of) {
				t.Errorf("%s, source %s: nothing about %s", m.build, m.source, truth.method)
			}
		}
	}
	for _, a := range m.answers {
		if failure := a.failure(); failure != "" {
			t.Errorf("%s, source %s, given %s: %s: %s", m.build, m.source, a.origin, a.method, failure)
		}
	}
}

// failure says what is wrong with an answer.
func (a *answer) failure() string {
	truth, known := truthOf(a.method)
	switch {
	case !known:
		return "a method that nobody knows"
	case a.err != "" && !(isMissingNames(a.err) && strings.Contains(a.err, "bus.ParamNames(")):
		return "refused, but not for want of names: " + a.err
	case a.err == "" && a.signature != truth.signature:
		return "wrong names: " + a.signature
	case a.doc != "" && a.doc != truth.doc:
		return "wrong comment: " + a.doc
	case (a.doc == "") != (a.comment == ""):
		return "comment " + a.doc + " from " + a.comment
	case a.comment != a.typeComment:
		return "comment of the method from " + a.comment + ", of the type from " + a.typeComment
	}
	return ""
}

func isMissingNames(err string) bool {
	return strings.Contains(err, ": no names for ") || strings.Contains(err, " unnamed in structs.go:")
}

func truthOf(method string) (truth, bool) {
	for _, shape := range shapes {
		for _, truth := range shape.methods {
			if truth.method == method {
				return truth, true
			}
		}
	}
	return truth{}, false
}

// checkMessages holds some refusals to the letter.
func checkMessages(t *testing.T, measured []measurement) {
	t.Helper()
	const (
		trimmed = " (code: none given; embedded source: none given; source file: the program was built with -trimpath; " +
			"DWARF: "
		embed = "embed the source with bus.SourceFS, or give them with bus.ParamNames("
	)
	for _, want := range []struct{ build, method, err string }{
		{"go build -trimpath", "Unnamed.Blank", `method Blank: no names for 2 arguments and 1 result` + trimmed +
			`no complete entry); ` + embed + `"Blank", …)`},
		{"go build -trimpath", "Twin.Same", `method Same: no names for 1 argument and 1 result` + trimmed +
			`no complete entry); ` + embed + `"Same", …)`},
		{`go build -trimpath -ldflags "-s -w"`, "Twin.Same",
			`method Same: no names for 1 argument and 1 result` + trimmed + `the program has no debug information); ` + embed +
				`"Same", …)`},
		{"go build -trimpath", "Greeter/Friend.Greet",
			`method Greet: no names for 2 arguments and 1 result (code: none given; signature table: none; embedded source: none given;` +
				` source file: the program was built with -trimpath; DWARF: it has no methods of interfaces); write a signature table with apigen -type Greeter, ` + embed + `"Greet", …)`},
	} {
		for _, m := range measured {
			for _, a := range m.answers {
				if m.build == want.build && a.method == want.method && a.origin == "nothing" && a.err != want.err {
					t.Errorf("%s, source %s:\ngot:  %s\nwant: %s", m.build, m.source, a.err, want.err)
				}
			}
		}
	}
}

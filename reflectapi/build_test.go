package reflectapi_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The same program in the two builds that matter: as a plain build leaves it, away from its
// source, and stripped of all that can be stripped.
func TestNamesInRealPrograms(t *testing.T) {
	t.Parallel()
	embedded := []string{
		`embedded main.Calculator: embedded source: Add(x int, y int) (sum int) "Add adds."`,
		`embedded main.Calculator: embedded source: Sum(start int, more ...int) (result int) "Sum is variadic, its result unnamed."`,
		`embedded *main.Store[string,int]: embedded source: Get(key string) (value int, found bool) "Get has a value receiver."`,
		`embedded *main.Store[string,int]: embedded source: Put(key string, value int) (old int) "Put has a pointer receiver."`,
		`embedded *main.Outer: embedded source: Add(x int, y int) (sum int) "Add adds."`,
		`embedded *main.Outer: embedded source: Put(key string, value Calculator) (old Calculator) "Put has a pointer receiver."`,
		`embedded main.Twin: embedded source: Same(other Twin) (equal bool) "Same has a receiver without a name, and an argument of the receiver's type."`,
	}
	for name, build := range map[string]struct {
		flags []string
		want  []string
	}{
		"plain": {nil, []string{
			`bare main.Calculator: DWARF: Add(x int, y int) (sum int) ""`,
			`bare main.Calculator: DWARF: Sum(start int, more ...int) (result int) ""`,
			`bare *main.Calculator: DWARF: Add(x int, y int) (sum int) ""`,
			`bare *main.Store[string,int]: DWARF: Get(key string) (value int, found bool) ""`,
			`bare *main.Store[string,int]: DWARF: Put(key string, value int) (old int) ""`,
			`bare *main.Outer: DWARF: Add(x int, y int) (sum int) ""`,
			`bare *main.Outer: DWARF: Put(key string, value Calculator) (old Calculator) ""`,
			`bare *main.Slow: DWARF: Walk(steps int) (done int, last string) ""`,
			`bare main.Blank: method Skip: no names for 2 arguments and 1 result (code: none given; embedded source: none given; source file: the program was built with -trimpath; DWARF: no complete entry); embed the source with bus.Source, or give them with bus.Names("Skip", …)`,
			`bare main.Twin: method Same: no names for 1 argument and 1 result (code: none given; embedded source: none given; source file: the program was built with -trimpath; DWARF: no complete entry); embed the source with bus.Source, or give them with bus.Names("Same", …)`,
			`bare *main.Hasty: DWARF: Run(steps int) (done int) ""`,
			`bare: DWARF: Greet(who string, often int) (text string) ""`,
		}},
		"stripped": {[]string{"-ldflags=-s -w"}, []string{
			`bare main.Twin: method Same: no names for 1 argument and 1 result (code: none given; embedded source: none given; source file: the program was built with -trimpath; DWARF: the program has no debug information); embed the source with bus.Source, or give them with bus.Names("Same", …)`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			printed := strings.Split(buildAndRun(t, build.flags), "\n")
			for _, want := range append(build.want, embedded...) {
				if !slices.Contains(printed, want) {
					t.Errorf("missing: %s", want)
				}
			}
			if t.Failed() {
				t.Logf("printed:\n%s", strings.Join(printed, "\n"))
			}
		})
	}
}

// buildAndRun builds testdata/program without a trace of where its source lies, and runs it
// where there is none.
func buildAndRun(t *testing.T, flags []string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	build := exec.CommandContext(t.Context(), "go", slices.Concat([]string{"build", "-trimpath", "-o", program}, flags, []string{"./testdata/program"})...)
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	run := exec.CommandContext(t.Context(), program)
	run.Dir = t.TempDir()
	output, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return string(output)
}

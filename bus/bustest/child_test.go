package bustest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// failsInChild runs a test in a child process. The test must fail, with all these texts in its output.
func failsInChild(t *testing.T, test func(t *testing.T), texts ...string) {
	t.Helper()
	if os.Getenv("BUSTEST_CHILD") != "" {
		test(t)
		return
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
	child.Env = append(os.Environ(), "BUSTEST_CHILD=1")
	output, err := child.CombinedOutput()
	if err == nil {
		t.Error("the test passed")
	}
	for _, want := range texts {
		if !strings.Contains(string(output), want) {
			t.Errorf("%q is missing in\n%s", want, output)
		}
	}
}

package main_test

import (
	"os"
	"testing"
)

// TestMain has the go commands of apigen, and those of the tests, run as in a shell where nothing is set: the modules
// of the tests are in a workspace, which does not go together with -mod=mod, nor with GOWORK=off.
func TestMain(m *testing.M) {
	for _, name := range []string{"GOFLAGS", "GOWORK"} {
		if err := os.Setenv(name, ""); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

package main_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A module that has only got the bus, and is in no workspace, can run go generate: apigen and
// what it writes need nothing that is not in go.mod and go.sum by then.
func TestApigen_AfterGoGet(t *testing.T) {
	t.Parallel()
	m := module{t.TempDir()}
	m.getBus(t)
	m.write(t, "adderapi/adder.go",
		"package adderapi\n\n//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Adder\n\n"+
			"// Adder adds.\ntype Adder interface{ Add(x, y int) (sum int, err error) }\n")
	mod, sum := read(t, m.path("go.mod")), read(t, m.path("go.sum"))
	m.goCommand(t, "generate", "./...")
	m.goCommand(t, "vet", "./...")
	assert.Equal(t, string(read(t, m.path("go.mod"))), string(mod))
	assert.Equal(t, string(read(t, m.path("go.sum"))), string(sum))
	if !isGenerated(read(t, m.path("adderapi/adder_gen.go"))) {
		t.Error("nothing was generated")
	}
}

// getBus writes what go get github.com/busline/busline/bus does, which itself may need a network:
// all modules with packages that the bus is made of, and the sums of these alone.
func (m module) getBus(t *testing.T) {
	t.Helper()
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f",
		"{{with .Module}}{{.Path}} {{.Version}}{{end}}", "./bus")
	list.Dir = root
	modules, err := list.Output()
	require.NoError(t, err)
	mod := "module example.com/cases\n\ngo 1.26.0\n\nreplace github.com/busline/busline => " + root +
		"\n\nrequire github.com/busline/busline v0.0.0\n"
	sum, all := "", string(read(t, filepath.Join(root, "go.sum")))
	added := map[string]bool{"github.com/busline/busline ": true} // which has no version, and no sum
	for line := range strings.Lines(string(modules)) {
		wanted := strings.TrimSuffix(line, "\n")
		if added[wanted] {
			continue
		}
		added[wanted] = true
		mod += "require " + wanted + " // indirect\n"
		for line := range strings.Lines(all) {
			if strings.HasPrefix(line, wanted+" ") || strings.Contains(line, "/go.mod ") && !strings.Contains(sum, line) {
				sum += line
			}
		}
	}
	m.write(t, "go.mod", mod)
	m.write(t, "go.sum", sum)
}

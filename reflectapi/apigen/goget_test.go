package main_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A module that has only got the bus, and is in no workspace, can run go generate: apigen and
// what it writes need nothing that is not in go.mod and go.sum by then.
func TestRightAfterGoGet(t *testing.T) {
	t.Parallel()
	m := module{t.TempDir()}
	m.getBus(t)
	m.write(t, "adderapi/adder.go", "package adderapi\n\n//go:generate go run github.com/busline/busline/reflectapi/apigen -type Adder\n\n"+
		"// Adder adds.\ntype Adder interface{ Add(x, y int) (sum int, err error) }\n")
	mod, sum := read(t, m.path("go.mod")), read(t, m.path("go.sum"))
	m.goCommand(t, "generate", "./...")
	m.goCommand(t, "vet", "./...")
	if !bytes.Equal(mod, read(t, m.path("go.mod"))) || !bytes.Equal(sum, read(t, m.path("go.sum"))) {
		t.Errorf("go generate has changed go.mod or go.sum:\n%s", read(t, m.path("go.mod")))
	}
	if !isGenerated(read(t, m.path("adderapi/adder_gen.go"))) {
		t.Error("nothing was generated")
	}
}

// getBus writes what go get github.com/busline/busline/bus does, which itself may need a network:
// all modules with packages that the bus is made of, and the sums of these alone.
func (m module) getBus(t *testing.T) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}} {{.Version}}{{end}}", "./bus")
	list.Dir = root
	modules, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	mod := "module example.com/cases\n\ngo 1.26.0\n\nreplace github.com/busline/busline => " + root + "\n\nrequire github.com/busline/busline v0.0.0\n"
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

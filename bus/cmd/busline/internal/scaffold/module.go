package scaffold

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/busline/busline/bus/cmd/busline/internal/cli"
)

// The programs that go generate runs.
const (
	apigen  = ownModule + "/bus/cmd/apigen"
	mockgen = "github.com/golang/mock/mockgen"
)

// module is the Go module that a service is in.
type module struct {
	isNew       bool
	importPath  string // of the service's folder
	relative    string // the folder as the module has it, "services/greeter"; "." for its root
	version     string // of Busline, for a new module
	clone       string // folder of Busline in place of the version; "" for none
	isWorkspace bool   // which finds Busline by itself
	isOurs      bool   // the module is Busline
}

// findModule returns the module of a folder that does not exist yet. Outside of a module it is a new one, called like
// the host.
func findModule(ctx context.Context, folder, host, replace string) (*module, error) {
	output, err := runGo(ctx, filepath.Dir(folder), "env", "-json", "GOMOD", "GOWORK")
	if err != nil {
		return nil, err
	}
	var env struct{ GOMOD, GOWORK string }
	if err := json.Unmarshal([]byte(output), &env); err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	m := &module{isWorkspace: env.GOWORK != "" && env.GOWORK != "off"}
	if env.GOMOD == "" || env.GOMOD == os.DevNull {
		m.isNew, m.importPath, m.relative = true, host, "." // a path with a dot is none of Go's own packages
		return m, m.findBusline(replace)
	}
	output, err = runGo(ctx, filepath.Dir(folder), "mod", "edit", "-json", env.GOMOD)
	if err != nil {
		return nil, err
	}
	var parsed struct {
		Module  struct{ Path string }
		Require []struct{ Path string }
	}
	if err := json.Unmarshal([]byte(output), &parsed); err != nil {
		return nil, fmt.Errorf("%s: %w", env.GOMOD, err)
	}
	relative, err := filepath.Rel(filepath.Dir(env.GOMOD), folder)
	if err != nil {
		return nil, err
	}
	m.relative = filepath.ToSlash(relative)
	m.importPath = path.Join(parsed.Module.Path, m.relative)
	m.isOurs = parsed.Module.Path == ownModule
	for _, each := range parsed.Require {
		if each.Path == ownModule {
			return m, nil
		}
	}
	if m.isOurs || m.isWorkspace {
		return m, nil
	}
	return m, m.findBusline(replace)
}

// findBusline chooses the Busline that a module requires: a clone, or a version that can be downloaded.
func (m *module) findBusline(replace string) error {
	m.version = "v0.0.0"
	if replace != "" {
		clone, err := filepath.Abs(replace)
		if err != nil {
			return err
		}
		if !isBusline(clone) {
			return fmt.Errorf("--replace %s: it is no clone of Busline, whose go.mod says module %s", replace, ownModule)
		}
		m.clone = clone
		return nil
	}
	_, file, _, _ := runtime.Caller(0)
	clone := filepath.Dir(file)
	for range strings.Count("bus/cmd/busline/internal/scaffold", "/") + 1 {
		clone = filepath.Dir(clone)
	}
	if filepath.IsAbs(file) && !strings.Contains(filepath.Base(clone), "@") && isBusline(clone) {
		m.clone = clone
		return nil
	}
	if m.version = cli.Version(); !strings.HasPrefix(m.version, "v") || strings.Contains(m.version, "+") {
		return errors.New("this command was built from a clone that is not here any more: name one with --replace")
	}
	return nil
}

func isBusline(folder string) bool {
	text, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	return err == nil && strings.HasPrefix(string(text), "module "+ownModule+"\n")
}

// text returns the go.mod of a new module.
func (m *module) text() string {
	version := strings.TrimPrefix(runtime.Version(), "go")
	if parts := strings.SplitN(version, ".", 3); len(parts) > 2 {
		version = parts[0] + "." + parts[1]
	}
	return fmt.Sprintf("module %s\n\ngo %s\n", m.importPath, version)
}

// prepare has the module require what the service needs.
func (m *module) prepare(ctx context.Context, folder string) error {
	if m.isOurs || m.isWorkspace {
		return nil
	}
	edits := []string{"mod", "edit", "-tool=" + apigen, "-tool=" + mockgen}
	if m.version != "" {
		edits = append(edits, "-require="+ownModule+"@"+m.version)
	}
	if m.clone != "" {
		edits = append(edits, "-replace="+ownModule+"="+m.clone)
	}
	root := folder
	for range strings.Count(m.relative, "/") + 1 {
		if m.relative != "." {
			root = filepath.Dir(root)
		}
	}
	if _, err := runGo(ctx, root, edits...); err != nil {
		return err
	}
	if _, err := runGo(ctx, root, "mod", "tidy"); err != nil {
		return fmt.Errorf("its module is not complete, run go mod tidy: %w", err)
	}
	return nil
}

// runGo runs the go command, and returns what it prints.
func runGo(ctx context.Context, folder string, arguments ...string) (output string, err error) {
	c := exec.CommandContext(ctx, "go", arguments...) //nolint:gosec // our own arguments
	c.Dir = folder
	text, err := c.Output()
	if err != nil {
		var stderr string
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			stderr = strings.TrimSpace(string(exit.Stderr))
		}
		return "", fmt.Errorf("go %s: %s", strings.Join(arguments, " "), cmp.Or(stderr, err.Error()))
	}
	return string(text), nil
}

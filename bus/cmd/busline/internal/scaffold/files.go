package scaffold

import (
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/busline/busline/bus/cmd/busline/internal/cli"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/examples/template"
)

// What the template is called.
const (
	templateWord   = "greeter"
	templateType   = "Greeter"
	templateHost   = "greeter.example"
	templateFolder = "examples/template/greeter"
	ownModule      = "github.com/busline/busline"
)

// service is what a new service is called.
type service struct {
	name string // of its folder, "order-items"
	word string // in names of packages, "orderitems"
	typ  string // of its interface, "OrderItems"
	host string
}

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

func newService(name, host string) (*service, error) {
	if !nameForm.MatchString(name) {
		return nil, cli.Misuse("%.60q is no name for a service: use lower case letters, digits and hyphens, as in order-items",
			name)
	}
	if slices.Contains([]string{"vendor", "testdata", "internal"}, name) {
		return nil, cli.Misuse("%q has a meaning for Go: choose another name", name)
	}
	s := &service{name: name, word: strings.ReplaceAll(name, "-", ""), host: host}
	for part := range strings.SplitSeq(name, "-") {
		s.typ += strings.ToUpper(part[:1]) + part[1:]
	}
	if host == "" {
		s.host = name + ".example"
	}
	if err := subject.CheckHost(s.host); err != nil {
		return nil, cli.Misuse("--host: %w", err)
	}
	if slices.Contains([]string{subject.HostAll, "portal", "ingress"}, s.host) {
		return nil, cli.Misuse("--host %s: the bus itself has that host; choose one such as %s.example", s.host, name)
	}
	return s, nil
}

// write makes the files in a folder, all or none.
func (s *service) write(folder string, m *module) (err error) {
	parent := filepath.Dir(folder)
	temporary, err := os.MkdirTemp(parent, "."+s.name+"-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	err = fs.WalkDir(template.Files, templateWord, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := template.Files.ReadFile(file)
		if err != nil {
			return err
		}
		relative := strings.NewReplacer(s.names()...).Replace(strings.TrimPrefix(file, templateWord+"/"))
		return s.writeFile(filepath.Join(temporary, filepath.FromSlash(relative)), string(content), m)
	})
	if err == nil && m.isNew {
		err = os.WriteFile(filepath.Join(temporary, "go.mod"), []byte(m.text()), 0o644) //nolint:gosec // source is for all to read
	}
	if err != nil {
		return err
	}
	if err := os.Chmod(temporary, 0o755); err != nil { //nolint:gosec // as above
		return err
	}
	if err := os.Remove(folder); err != nil && !errors.Is(err, fs.ErrNotExist) { // an empty folder
		return err
	}
	return os.Rename(temporary, folder)
}

// writeFile writes a file of the template as one of the service.
func (s *service) writeFile(to, content string, m *module) error {
	text := []byte(strings.NewReplacer(append([]string{ // in one pass, as the module may have a name of the template
		path.Join(ownModule, templateFolder), m.importPath, templateFolder, m.relative, templateHost, s.host,
	}, s.names()...)...).Replace(content))
	if filepath.Ext(to) == ".go" {
		formatted, err := format.Source(text)
		if err != nil {
			return fmt.Errorf("%s: %w", to, err)
		}
		text = formatted
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil { //nolint:gosec // as above
		return err
	}
	return os.WriteFile(to, text, 0o644) //nolint:gosec // as above
}

// names returns the names of the template, each with that of the service.
func (s *service) names() []string { return []string{templateWord, s.word, templateType, s.typ} }

package docs_test

import (
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
)

// density is how closely the files of a package hang together. A name of one file that another one uses is an arrow,
// methods and fields included. Two files are a mutual pair if each uses a name of the other. A circle is a set of files
// that use each other, directly or not.
type density struct{ files, arrows, pairs, circle int }

// densest holds the files and mutual pairs of the largest packages to what was reached: what is new may lower these
// numbers, and not raise them. go test ./docs -run Density -v prints all, and the names on which each mutual pair
// hangs.
func densest() map[string]density {
	return map[string]density{
		"bus":                          {files: 38, pairs: 35},
		"bus/events":                   {files: 16, pairs: 12},
		"portal":                       {files: 16, pairs: 12},
		"portal/ingress":               {files: 21, pairs: 19},
		"reflectapi":                   {files: 21, pairs: 15},
		"reflectapi/schema":            {files: 19, pairs: 7},
		"bus/cmd/busline/internal/cli": {files: 33, pairs: 34},
	}
}

func TestDensity(t *testing.T) {
	t.Parallel()
	for name, most := range densest() {
		uses := fileUses(t, name)
		got := densityOf(uses)
		t.Logf("%s: %d files, %.1f arrows each, %d mutual pairs, %d files in the largest circle", name, got.files,
			float64(got.arrows)/float64(got.files), got.pairs, got.circle)
		for _, from := range slices.Sorted(maps.Keys(uses)) {
			for _, to := range slices.Sorted(maps.Keys(uses[from])) {
				if from < to && uses[to][from] != nil {
					t.Logf("\t%s → %s: %v; back: %v", from, to, slices.Sorted(maps.Keys(uses[from][to])),
						slices.Sorted(maps.Keys(uses[to][from])))
				}
			}
		}
		if got.files > most.files || got.pairs > most.pairs {
			t.Errorf("%s has %d files and %d mutual pairs, and %d and %d at most: put each name into the file that owns the "+
				"idea, or take what is new to a package above",
				name, got.files, got.pairs, most.files, most.pairs)
		}
	}
}

// fileUses returns the names that each file of a package uses of each other one.
func fileUses(t *testing.T, name string) map[string]map[string]map[string]bool {
	t.Helper()
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports,
		Dir:  "..",
	}, "./"+name)
	require.NoError(t, err)
	require.Len(t, loaded, 1)
	pkg := loaded[0]
	require.Empty(t, pkg.Errors)
	uses := make(map[string]map[string]map[string]bool)
	for _, file := range pkg.GoFiles {
		uses[filepath.Base(file)] = make(map[string]map[string]bool)
	}
	for at, used := range pkg.TypesInfo.Uses {
		variable, isVariable := used.(*types.Var)
		isLocal := used.Parent() != pkg.Types.Scope() && isVariable && !variable.IsField()
		from, to := filepath.Base(pkg.Fset.Position(at.Pos()).Filename), filepath.Base(pkg.Fset.Position(used.Pos()).Filename)
		if used.Pkg() != pkg.Types || isLocal || from == to {
			continue
		}
		if uses[from][to] == nil {
			uses[from][to] = make(map[string]bool)
		}
		uses[from][to][used.Name()] = true
	}
	return uses
}

func densityOf(uses map[string]map[string]map[string]bool) (d density) {
	d.files = len(uses)
	for from, all := range uses {
		d.arrows += len(all)
		for to := range all {
			if from < to && uses[to][from] != nil {
				d.pairs++
			}
		}
		d.circle = max(d.circle, len(circleOf(from, uses)))
	}
	return d
}

// circleOf returns the files that a file uses and that use it, directly or not.
func circleOf(file string, uses map[string]map[string]map[string]bool) (circle []string) {
	for other := range reachedFrom(file, uses) {
		if reachedFrom(other, uses)[file] {
			circle = append(circle, other)
		}
	}
	return circle
}

// reachedFrom returns what a file uses, directly or not.
func reachedFrom(file string, uses map[string]map[string]map[string]bool) map[string]bool {
	reached := make(map[string]bool)
	next := []string{file}
	for len(next) > 0 {
		at := next[0]
		next = next[1:]
		for to := range uses[at] {
			if !reached[to] {
				reached[to] = true
				next = append(next, to)
			}
		}
	}
	return reached
}

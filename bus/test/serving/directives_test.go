package serving_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/reflectapi"
)

type (
	noted   interface{ Note(id int) error }
	notepad struct{}
)

func (notepad) Note(int) error { return nil }

// TestServe_NearDirectives refuses every directive that is written in another way, above a method and above the
// interface.
func TestServe_NearDirectives(t *testing.T) {
	t.Parallel()
	conn := kit.NewBus(t).Connect("notes.example")
	for _, each := range reflectapi.Directives() {
		example := each.Example
		if each.IsGenerated() {
			example = "Client"
		}
		text := strings.TrimSpace(each.Name[len(reflectapi.DirectivePrefix):] + " " + example)
		for _, written := range []string{"// busline:" + text, "//busline: " + text, "//Busline:" + text, "//busline-" + text,
			"//busline " + text, "/* busline:" + text + " */"} {
			said := `which declares nothing: write //busline:` + text
			ofMethod := fstest.MapFS{"notes.go": {Data: []byte("package serving_test\n\ntype noted interface {\n" + written +
				"\nNote(id int) error\n}\n")}}
			err := bus.Serve[noted](conn, notepad{}, bus.SourceFS(ofMethod))
			assert.ErrorContains(t, err, "notes.go:5: its comment has ", written)
			assert.ErrorContains(t, err, said, written)
			ofType := fstest.MapFS{"notes.go": {Data: []byte("package serving_test\n\n" + written +
				"\ntype noted interface { Note(id int) error }\n")}}
			err = bus.Serve[noted](conn, notepad{}, bus.SourceFS(ofType))
			assert.ErrorContains(t, err, "notes.go:3: its comment has ", written)
			assert.ErrorContains(t, err, said, written)
		}
	}
}

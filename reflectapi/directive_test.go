package reflectapi_test

import (
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/reflectapi"
)

func TestMeantAsDirective(t *testing.T) {
	t.Parallel()
	const usage = "the name of one argument, as in //busline:key number"
	for comment, want := range map[string]string{
		"//busline:key id":                             "//busline:key id", // one that stands where none is read
		"// busline:key id":                            "//busline:key id",
		"//busline: key id":                            "//busline:key id",
		"//busline :key id":                            "//busline:key id",
		"//Busline:Key id":                             "//busline:key id",
		"//busline key id":                             "//busline:key id",
		"// busline key id":                            "//busline:key id",
		"// //busline:key id":                          "//busline:key id",
		"/* busline:key id */":                         "//busline:key id",
		"/*busline:key id*/":                           "//busline:key id",
		"/*\nOnSent tells.\n\n * busline:key id\n*/":   "//busline:key id",
		"// busline:kye id":                            "//busline:key id",
		"// busline:key":                               usage,
		"// busline:key, which orders events.":         usage,
		"// OnSent is ordered by //busline:key id":     "",
		"// See the directive //busline:key.":          "",
		"// busline key is the argument of the order":  "",
		"// Busline: OnSent tells":                     "",
		"// Busline services order events":             "",
		"// buslines: key id":                          "",
		"// busline:latest is the image":               "",
		"/* OnSent tells busline:key\nwhat is sent */": "",
	} {
		_, _, write := reflectapi.MeantAsDirective(comment)
		assert.Equal(t, want, write, comment)
	}
	line, offset, _ := reflectapi.MeantAsDirective("/*\n\tOnSent tells.\n\n\t * busline:key id\n*/")
	assert.Equal(t, "* busline:key id", line)
	assert.Equal(t, len("/*\n\tOnSent tells.\n\n"), offset)
}

// TestDirectives_Examples holds that what an error suggests is accepted.
func TestDirectives_Examples(t *testing.T) {
	t.Parallel()
	for _, each := range reflectapi.Directives() {
		if !each.IsGenerated() {
			_, _, write := reflectapi.MeantAsDirective("// " + each.Name + " " + each.Example)
			assert.Equal(t, strings.TrimSpace(each.Name+" "+each.Example), write)
		}
		assert.NotZero(t, each.Scope, each.Name)
	}
}

type (
	sender  interface{ Send(id int) error }
	mailbox struct{}
)

func (mailbox) Send(int) error { return nil }

func TestDirectives_InEmbeddedSource(t *testing.T) {
	t.Parallel()
	describe := func(comment, ofMethod string) error {
		text := "package reflectapi_test\n\n" + comment + "\ntype sender interface {\n" + ofMethod +
			"\n\tSend(id int) error\n}\n"
		_, err := reflectapi.DescribeAs(reflect.TypeFor[sender](), mailbox{},
			reflectapi.SourceFS(fstest.MapFS{"api.go": {Data: []byte(text)}}))
		return err
	}
	for want, err := range map[string]error{
		"method Send: embedded source: api.go:7: its comment has more than one //busline:key: leave one": describe("",
			"//busline:key\tid\n//busline:key id"),
		"type sender: embedded source: api.go:3: its comment has \"// busline:port 444\", which declares nothing: " +
			"write //busline:port 444": describe("// busline:port 444", ""),
	} {
		assert.EqualError(t, err, want)
	}
	require.NoError(t, describe("// Sender sends; //busline:port is not declared.",
		"\t// Send sends.\n\t//\n\t//busline:arg\tid\tminimum=1 of the letter"))
}

type posted interface{ sender }

// TestDirectives_OfEmbedded holds that what is declared above an embedded interface is not lost in silence.
func TestDirectives_OfEmbedded(t *testing.T) {
	t.Parallel()
	describe := func(above string) error {
		text := "package reflectapi_test\n\n//busline:callers a.example\ntype sender interface {\n\tSend(id int) error\n}\n\n" +
			above + "\ntype posted interface{ sender }\n"
		_, err := reflectapi.DescribeAs(reflect.TypeFor[posted](), mailbox{},
			reflectapi.SourceFS(fstest.MapFS{"api.go": {Data: []byte(text)}}))
		return err
	}
	require.EqualError(t, describe(""), "type posted: embedded source: it embeds sender, whose comment has "+
		"//busline:callers a.example, which posted does not get: repeat it above posted, or put it at the methods of sender")
	require.NoError(t, describe("//busline:callers b.example"))
}

// TestDirectives_Tool holds what is declared for agents.
func TestDirectives_Tool(t *testing.T) {
	t.Parallel()
	read := func(directive string) (*reflectapi.Tool, error) {
		text := "package reflectapi_test\n\ntype sender interface {\n" + directive + "\n\tSend(id int) error\n}\n"
		service, err := reflectapi.DescribeAs(reflect.TypeFor[sender](), mailbox{},
			reflectapi.SourceFS(fstest.MapFS{"api.go": {Data: []byte(text)}}))
		if err != nil {
			return nil, err
		}
		return service.Methods[0].Declared.Tool, nil
	}
	yes, no := true, false
	got, err := read(`//busline:tool name=send_it title="Send \"it\"" idempotent destructive=false openWorld=true`)
	require.NoError(t, err)
	assert.Equal(t, &reflectapi.Tool{Name: "send_it", Title: `Send "it"`, Idempotent: &yes, Destructive: &no,
		OpenWorld: &yes}, got)
	got, err = read("//busline:tool hidden")
	require.NoError(t, err)
	assert.Equal(t, &reflectapi.Tool{Hidden: true}, got)
	for directive, want := range map[string]string{
		"//busline:tool":                      "write hidden, a name, a title or what the tool does, as in //busline:tool name=",
		"//busline:tool secret":               `its comment has "//busline:tool secret": write hidden, a name, a title or`,
		"//busline:tool idempotent=maybe":     "write hidden, a name",
		"//busline:tool hidden=false":         "write hidden, a name",
		"//busline:tool name=send.it":         `//busline:tool has the name "send.it": use 1 to 64 letters, digits, _ and -`,
		"//busline:tool title=\"Send":         "the value of title has no end: close its quotation mark",
		"//busline:tool readOnly destructive": "//busline:tool is both readOnly and destructive",
	} {
		_, err := read(directive)
		assert.ErrorContains(t, err, want, directive)
	}
}

type jotted interface{ Jot(id int) error }

var _ = reflectapi.Register[jotted]("type jotted interface {\n\t// busline:arg id minimum=1\n\tJot(id int) error\n}")

func (mailbox) Jot(int) error { return nil }

func TestDirectives_InTable(t *testing.T) {
	t.Parallel()
	_, err := reflectapi.DescribeAs(reflect.TypeFor[jotted](), mailbox{})
	assert.ErrorContains(t, err,
		`is wrong about method Jot: its comment has "// busline:arg id minimum=1", which declares nothing: write //busline:arg id minimum=1: run go generate`)
}

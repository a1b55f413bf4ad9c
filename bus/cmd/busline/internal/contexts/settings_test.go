package contexts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/cmd/busline/internal/contexts"
)

// apply returns the variables of a process after Apply, in their order: "BUS_NATS_URL=u BUS_PLANE=p".
func apply(t *testing.T, given contexts.Given, text, environment string) (string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "contexts.json")
	if text != "" {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	process := map[string]string{"BUSLINE_CONFIG": path}
	for word := range strings.FieldsSeq(environment) {
		name, value, _ := strings.Cut(word, "=")
		process[name] = value
	}
	given.Getenv = func(name string) string { return process[name] }
	given.Setenv = func(name, value string) error { process[name] = value; return nil }
	err := given.Apply()
	var set []string
	for _, name := range []string{"BUS_NATS_URL", "BUS_NATS_CREDS", "BUS_NATS_USER", "BUS_PLANE", "BUS_TOKEN"} {
		if process[name] != "" {
			set = append(set, name+"="+process[name])
		}
	}
	return strings.Join(set, " "), err
}

func TestGiven_Apply(t *testing.T) {
	t.Parallel()
	const far = `{"contexts":{"far":{"BUS_NATS_URL":"far","BUS_NATS_CREDS":"c","BUS_PLANE":"p","BUS_TOKEN":"t"},` +
		`"open":{"BUS_NATS_URL":"open"},"plane":{"BUS_PLANE":"q"}}}`
	use := func(name string) string { return strings.Replace(far, "{", `{"inUse":"`+name+`",`, 1) }
	const all = "BUS_NATS_URL=far BUS_NATS_CREDS=c BUS_PLANE=p BUS_TOKEN=t"
	for _, row := range []struct {
		what, file, environment, want string
		given                         contexts.Given
	}{
		{what: "no file", environment: "BUS_PLANE=e", want: "BUS_PLANE=e"},
		{what: "none in use", file: far, environment: "BUS_NATS_USER=e", want: "BUS_NATS_USER=e"},
		{what: "in use", file: use("far"), want: all},
		{what: "named", file: far, given: contexts.Given{Context: "far"}, want: all},
		{what: "named by the environment", file: use("plane"), environment: "BUSLINE_CONTEXT=far", want: all},
		{what: "the flag wins over the variable", file: far, environment: "BUSLINE_CONTEXT=far",
			given: contexts.Given{Context: "plane"}, want: "BUS_PLANE=q"},
		{what: "the environment wins over the one in use", file: use("far"), environment: "BUS_PLANE=e BUS_TOKEN=e",
			want: "BUS_NATS_URL=far BUS_NATS_CREDS=c BUS_PLANE=e BUS_TOKEN=e"},
		{what: "a login comes from one source", file: use("far"), environment: "BUS_NATS_USER=e",
			want: "BUS_NATS_URL=far BUS_NATS_USER=e BUS_PLANE=p BUS_TOKEN=t"},
		{what: "the one that is named wins over the environment", file: far, given: contexts.Given{Context: "far"},
			environment: "BUS_NATS_URL=e BUS_NATS_USER=e BUS_PLANE=e BUS_TOKEN=e", want: all},
		{what: "another broker gets neither login nor token of a context", file: use("far"),
			environment: "BUS_NATS_URL=e", want: "BUS_NATS_URL=e BUS_PLANE=p"},
		{what: "nor that of a flag", file: far, given: contexts.Given{Context: "far", URL: "flag"}, want: "BUS_PLANE=p"},
		{what: "the same broker does", file: use("far"), given: contexts.Given{URL: "far"},
			want: "BUS_NATS_CREDS=c BUS_PLANE=p BUS_TOKEN=t"},
		{what: "the broker of a named context gets no login of the environment", file: far,
			given: contexts.Given{Context: "open"}, environment: "BUS_NATS_USER=e BUS_TOKEN=e",
			want: "BUS_NATS_URL=open BUS_TOKEN=e"},
		{what: "flags stay", file: use("far"), given: contexts.Given{Plane: "flag", Token: "flag"},
			environment: "BUS_TOKEN=e", want: "BUS_NATS_URL=far BUS_NATS_CREDS=c BUS_TOKEN=e"},
	} {
		got, err := apply(t, row.given, row.file, row.environment)
		require.NoError(t, err, row.what)
		assert.Equal(t, row.want, got, row.what)
	}
}

func TestGiven_ApplyError(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		file, context, want string
		misuse              bool
	}{
		{file: "{", want: "unexpected EOF; correct it, or remove it"},
		{file: " ", want: "it is empty"},
		{file: "{} {}", want: "something follows the object"},
		{file: `{"contexts":{"a":{"PATH":"x"}}}`, want: `context a has "PATH"`},
		{file: `{"contexts":{"a b":{}}}`, want: `"a b" is no name for a context`},
		{file: `{"inUse":"gone"}`, want: `the context in use, "gone", is not in `, misuse: true},
		{context: "x", want: "there is no context x, and no other", misuse: true},
		{context: "../x", want: `"../x" is no name`, misuse: true},
		{file: `{"contexts":{"prod":{}}}`, context: "prd", want: "there are prod; did you mean prod?", misuse: true},
	} {
		_, err := apply(t, contexts.Given{Context: row.context}, row.file, "")
		require.ErrorContains(t, err, row.want)
		if row.misuse {
			var misuse *contexts.MisuseError
			require.ErrorAs(t, err, &misuse)
		}
	}
}

package output_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/busline/busline/bus/cmd/busline/internal/output"
)

// parse returns the options of flags.
func parse(t *testing.T, flags ...string) *output.Options {
	t.Helper()
	options, set := new(output.Options), pflag.NewFlagSet("", pflag.ContinueOnError)
	options.Register(set)
	require.NoError(t, set.Parse(flags))
	require.NoError(t, options.Check(output.Formats()))
	return options
}

// convert returns what the options print of JSON.
func convert(t *testing.T, text string, flags ...string) (string, error) {
	t.Helper()
	var printed bytes.Buffer
	w := parse(t, flags...).Writer(t.Context(), &printed, true)
	_, err := io.WriteString(w, text)
	err = errors.Join(err, w.Close())
	return printed.String(), err
}

func TestWriter(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ flags, json, want string }{
		{"-o yaml", `{"b":1,"a":[true,null,"x"],"c":{},"d":[]}`, "b: 1\na:\n  - true\n  - null\n  - x\nc: {}\nd: []\n"},
		{"-o yaml", `{"n":123456789012345678901234567890,"f":1.10,"e":1e400,"z":-0}`,
			"\"n\": 123456789012345678901234567890\nf: 1.10\ne: 1e400\nz: -0\n"},
		{"-o yaml", `["1","true","no","null","","a: b","<<","1e3","2026-11-26","0x10","1:30"]`,
			"- \"1\"\n- \"true\"\n- \"no\"\n- \"null\"\n- \"\"\n- 'a: b'\n- \"<<\"\n- \"1e3\"\n- \"2026-11-26\"\n- \"0x10\"\n- \"1:30\"\n"},
		{"-o yaml", `"a\nb\n"`, "|\n  a\n  b\n"},
		{"-o yaml", "1 {\"x\":\"\\u001b[31m\"}\n", "1\n---\nx: \"\\e[31m\"\n"},
		{"-o yaml", " \n", ""},
		{"--jq .a", `{"a":"te\u001bxt"} {"a":{"b":"<&>"}} {}`, "te\ufffdxt\n{\"b\":\"<&>\"}\nnull\n"},
		{"--jq .[]", `[12345678901234567890123, 1.10]`, "12345678901234567890123\n1.10\n"},
		{"--jq .[] --output yaml", `[{"b":"1"},2]`, "b: \"1\"\n---\n2\n"},
		{"--jq halt,2", `1`, ""},
		{"--jq empty", `1`, ""},
		{"--jq env|length", `1`, "0\n"},
	} {
		got, err := convert(t, row.json, strings.Split(row.flags, " ")...)
		require.NoError(t, err, row.flags)
		assert.Equal(t, row.want, got, row.flags+" "+row.json)
	}
}

func TestWriter_Error(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ flags, json, want string }{
		{"-o yaml", "key: tea", "-o yaml needs JSON, and this is none: invalid character 'k' looking for beginning of value"},
		{"--jq .x", `{"x":`, "--jq needs JSON, and this is none: unexpected EOF"},
		{"--jq .[].x", `[{"x":1},5]`, "--jq .[].x: expected an object but got: number (5)"},
		{"-o yaml", strings.Repeat("[", 100_000), "exceeded max depth"},
	} {
		_, err := convert(t, row.json, strings.Split(row.flags, " ")...)
		require.ErrorContains(t, err, row.want)
	}
}

// TestWriter_Stream holds that a value is printed when it is complete, and not when the next one is.
func TestWriter_Stream(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{{"-o", "yaml"}, {"--jq", ".x"}} {
		reader, to := io.Pipe()
		w := parse(t, flags...).Writer(t.Context(), to, false)
		lines := bufio.NewReader(reader)
		for range 3 {
			_, err := io.WriteString(w, `{"x":`)
			require.NoError(t, err)
			wrote := make(chan error)
			go func() {
				_, err := io.WriteString(w, "1}\n")
				wrote <- err
			}()
			for line := ""; !strings.Contains(line, "1"); {
				line, err = lines.ReadString('\n')
				require.NoError(t, err)
			}
			require.NoError(t, <-wrote)
		}
		require.NoError(t, w.Close())
	}
}

// TestWriter_Closed holds that an output that is closed ends a command that goes on to write.
func TestWriter_Closed(t *testing.T) {
	t.Parallel()
	reader, to := io.Pipe()
	require.NoError(t, reader.Close())
	w := parse(t, "--jq", ".").Writer(t.Context(), to, false)
	var err error
	for err == nil {
		_, err = io.WriteString(w, "1 ")
	}
	require.ErrorIs(t, err, io.ErrClosedPipe)
	require.NoError(t, w.Close(), "it was returned")
}

func FuzzWriter_YAML(f *testing.F) {
	for _, text := range []string{"", " ", "\n", " a\nb", "a\n\n", "- a", "#", "\u0085", "\ufeff", "a\tb", "~", "\r\n", "'\"", "\x00\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value, err := json.Marshal(map[string]string{text: text})
		require.NoError(t, err)
		printed, err := convert(t, string(value), "-o", "yaml")
		require.NoError(t, err)
		var want, got map[string]string
		require.NoError(t, json.Unmarshal(value, &want))
		require.NoError(t, yaml.Unmarshal([]byte(printed), &got), printed)
		assert.Equal(t, want, got, printed)
	})
}

package agent_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/busline/busline/bus/cmd/busline/internal/agent"
)

// FuzzArguments holds that arguments become flags of their tool, or operands behind two dashes, whatever they are.
func FuzzArguments(f *testing.F) {
	for _, each := range []string{`{}`, `null`, `{"operands":["--write","-X"],"method":"GET --url=x"}`, `{"header":["A: b",
		"--write"],"all":true,"seconds":3}`, `{"json":false,"--write":true}`, `{"instance":"\n--write"}`} {
		f.Add([]byte(each))
	}
	f.Fuzz(func(t *testing.T, arguments []byte) {
		words, flags, err := agent.WordsOf("call", json.RawMessage(arguments))
		if err != nil {
			return
		}
		end := slices.Index(words, "--")
		if end < 1 || words[0] != "call" {
			t.Fatalf("%s becomes %q", arguments, words)
		}
		for _, word := range words[1:end] {
			name, _, found := strings.Cut(strings.TrimPrefix(word, "--"), "=")
			if !found || !strings.HasPrefix(word, "--") || !slices.Contains(flags, name) {
				t.Fatalf("%s becomes %q, in which %q is no flag of the tool", arguments, words, word)
			}
		}
	})
}

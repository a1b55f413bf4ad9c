package subject_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/subject"
)

func TestEscape_EveryByte(t *testing.T) {
	t.Parallel()
	const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_~"
	for value := range 256 {
		segment := string([]byte{byte(value)})
		token := subject.Escape(segment)
		if kept := strings.Contains(plain, segment); kept != (token == segment) {
			t.Errorf("byte %#x is %q", value, token)
		}
		back, err := subject.Unescape(token)
		require.NoError(t, err, "%#x", value)
		assert.Equal(t, segment, back, "%#x", value)
	}
}

func TestEscape(t *testing.T) {
	t.Parallel()
	tests := map[string]string{"": "%", "%": "%25", "add": "add", "b.txt": "b%2Etxt", "a/b": "a%2Fb", "é": "%C3%A9",
		"a\xff": "a%FF"}
	for segment, token := range tests {
		if got := subject.Escape(segment); got != token {
			t.Errorf("segment %q is %q, want %q", segment, got, token)
		}
		back, err := subject.Unescape(token)
		require.NoError(t, err, token)
		assert.Equal(t, segment, back, token)
	}
}

func TestSegments(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{
		"":           {""},
		"/":          {""},
		"//":         {"", ""},
		"/a":         {"a"},
		"/a/":        {"a", ""},
		"/a//b":      {"a", "", "b"},
		"/a%2Fb/c":   {"a/b", "c"},
		"/%2f":       {"/"},
		"/%25%20+":   {"% +"},
		"/%C3%A9/é":  {"é", "é"},
		"/../.":      {"..", "."},
		"/a\r\n\x00": {"a\r\n\x00"},
	}
	for path, want := range tests {
		got, err := subject.Segments(path)
		require.NoError(t, err, path)
		assert.Equal(t, want, got, path)
	}
}

func TestSegments_Refuses(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"a":     `path "a": does not begin with a slash`,
		"*":     `path "*": does not begin with a slash`,
		"/%":    `path segment "%": a percent sign without two hex digits; write %25 for the sign itself`,
		"/a/%2": `path segment "%2": a percent sign without two hex digits; write %25 for the sign itself`,
		"/%zz":  `path segment "%zz": a percent sign without two hex digits; write %25 for the sign itself`,
	}
	for path, detail := range tests {
		segments, err := subject.Segments(path)
		if segments != nil {
			t.Errorf("segments %q beside an error", segments)
		}
		wantError(t, err, 400, detail)
	}
}

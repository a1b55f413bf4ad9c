package cli

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// printHead prints the status and the headers of a response.
func (s *session) printHead(response *http.Response) error {
	var head strings.Builder
	head.WriteString(s.style().bold(response.Proto+" "+response.Status) + "\n")
	for _, name := range slices.Sorted(maps.Keys(response.Header)) {
		for _, value := range response.Header[name] {
			head.WriteString(name + ": " + cleanLine(value) + "\n")
		}
	}
	return s.print("%s\n", head.String())
}

// printBody prints the body of a response: JSON indented for people, or on one line for programs; anything else as it
// is, but on a terminal without what would control it.
func (s *session) printBody(f *callFlags, body []byte) error {
	pretty := s.StdoutTerminal && !s.settings.json
	switch {
	case f.raw:
	case json.Valid(body) && pretty:
		body = []byte(clean(string(indent(body))))
	case json.Valid(body):
		body = append(compact(body), '\n')
	case s.StdoutTerminal:
		body = []byte(clean(string(body)))
	}
	if s.StdoutTerminal && len(body) > 0 && !bytes.HasSuffix(body, []byte("\n")) {
		body = append(body, '\n')
	}
	_, err := s.Stdout.Write(body)
	return err
}

// indent formats JSON for people, and keeps order and digits.
func indent(text []byte) []byte {
	var indented bytes.Buffer
	_ = json.Indent(&indented, bytes.TrimSpace(text), "", "  ") // it is valid
	return append(indented.Bytes(), '\n')
}

// compact formats JSON on one line; a text that is not JSON becomes a JSON string.
func compact(text []byte) []byte {
	var line bytes.Buffer
	if json.Compact(&line, text) == nil {
		return line.Bytes()
	}
	return jsonOf(strings.TrimRight(string(text), "\n"))
}

// jsonOf returns a value as JSON on one line. The value must be one that JSON can represent. Bytes that are not UTF-8
// become U+FFFD.
func jsonOf(ours any) []byte {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(ours); err != nil {
		return []byte("null")
	}
	return bytes.TrimSuffix(line.Bytes(), []byte("\n"))
}

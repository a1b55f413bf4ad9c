package markdown

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// Publish prints paragraphs and tables, each of which ends with a line end. If a file name is given it also writes them
// to that file, see [Replace].
func Publish(to io.Writer, file, name string, parts []string) error {
	text := strings.Join(parts, "\n")
	if _, err := io.WriteString(to, text); err != nil {
		return err
	}
	if file == "" {
		return nil
	}
	return Replace(file, name, text)
}

// Replace writes text between two marks of a file, which name it:
//
//	<!-- begin name -->
//	<!-- end name -->
//
// A missing mark is an error, and the file stays unchanged.
func Replace(file, name, text string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	begin, end := "<!-- begin "+name+" -->\n", "<!-- end "+name+" -->\n"
	before, rest, found := strings.Cut(string(old), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("%s has not both %q and %q, each on a line of its own; add them where the text should stand", file,
			strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return os.WriteFile(file, []byte(before+begin+"\n"+text+"\n"+end+after), 0o644) //nolint:gosec // for all to read
}

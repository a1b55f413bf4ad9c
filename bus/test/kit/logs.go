package kit

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

// Journal is a log that a test reads.
type Journal struct {
	mu   sync.Mutex // protects all below
	text strings.Builder
	news chan struct{} // closed at the next line; nil when no caller waits for it
}

// Write takes a line.
func (j *Journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.news != nil {
		close(j.news)
		j.news = nil
	}
	return j.text.Write(line)
}

// Await returns the first line that holds a word, which may be yet to come.
func (j *Journal) Await(t *testing.T, word string) string {
	t.Helper()
	for {
		news := j.Next()
		if found := j.Lines(word); len(found) > 0 {
			return found[0]
		}
		Await(t, "a line with "+word, news)
	}
}

// Next returns a channel that is closed at the next line.
func (j *Journal) Next() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.news == nil {
		j.news = make(chan struct{})
	}
	return j.news
}

// Lines returns the lines that hold a word.
func (j *Journal) Lines(word string) (found []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for line := range strings.Lines(j.text.String()) {
		if strings.Contains(strings.ToLower(line), word) {
			found = append(found, line)
		}
	}
	return found
}

// Lines is what is logged, perhaps by many goroutines.
type Lines struct {
	Mu   sync.Mutex // protects text
	Text bytes.Buffer
}

// Write takes a line.
func (l *Lines) Write(line []byte) (int, error) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	return l.Text.Write(line)
}

// String returns all lines.
func (l *Lines) String() string {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	return l.Text.String()
}

// Count returns how often a text has been logged so far.
func (l *Lines) Count(part string) int {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	return strings.Count(l.Text.String(), part)
}

// Line returns the only line with a message, which may be yet to come.
func (l *Lines) Line(t *testing.T, message string) map[string]any {
	t.Helper()
	Eventually(t, func() bool { return l.Count(`"message":"`+message+`"`) > 0 })
	l.Mu.Lock()
	defer l.Mu.Unlock()
	var found map[string]any
	for line := range strings.Lines(l.Text.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if fields["message"] == message {
			if found != nil {
				t.Errorf("%q is logged twice", message)
			}
			found = fields
		}
	}
	if found == nil {
		t.Fatalf("%q is not logged:\n%s", message, l.Text.String())
	}
	return found
}

// BlockedWriter is a log writer that blocks until Free is closed, and then keeps what it was given.
type BlockedWriter struct {
	Free chan struct{}
	Lines
}

// Write takes a line once the writer is free.
func (w *BlockedWriter) Write(line []byte) (int, error) {
	<-w.Free
	return w.Lines.Write(line)
}

// ToSlog returns a logger that writes into lines, without the time and the id of an instance.
func ToSlog(to io.Writer, level slog.Leveler) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "id" {
			return slog.Attr{}
		}
		return a
	}}))
}

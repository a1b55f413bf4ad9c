package kit

import (
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

// Lines is what is logged, perhaps by many goroutines.
type Lines struct {
	mu   sync.Mutex // protects all below
	text strings.Builder
	news chan struct{} // closed at the next line; nil when no caller waits for it
}

// Write takes a line.
func (l *Lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.news != nil {
		close(l.news)
		l.news = nil
	}
	return l.text.Write(line)
}

// String returns all lines.
func (l *Lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Count returns how often a text has been logged so far.
func (l *Lines) Count(part string) int { return strings.Count(l.String(), part) }

// Await returns the first line that holds a word, which may be yet to come.
func (l *Lines) Await(t *testing.T, word string) string {
	t.Helper()
	for {
		news := l.Next()
		if found := l.Lines(word); len(found) > 0 {
			return found[0]
		}
		Await(t, "a line with "+word, news)
	}
}

// Next returns a channel that is closed at the next line.
func (l *Lines) Next() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.news == nil {
		l.news = make(chan struct{})
	}
	return l.news
}

// Lines returns the lines that hold a word, which is in lower case.
func (l *Lines) Lines(word string) (found []string) {
	for line := range strings.Lines(l.String()) {
		if strings.Contains(strings.ToLower(line), word) {
			found = append(found, line)
		}
	}
	return found
}

// Line returns the only line with a message, which may be yet to come.
func (l *Lines) Line(t *testing.T, message string) map[string]any {
	t.Helper()
	Eventually(t, func() bool { return l.Count(`"message":"`+message+`"`) > 0 })
	var found map[string]any
	for line := range strings.Lines(l.String()) {
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
		t.Fatalf("%q is not logged:\n%s", message, l)
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
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: level,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "id" {
				return slog.Attr{}
			}
			return a
		}}))
}

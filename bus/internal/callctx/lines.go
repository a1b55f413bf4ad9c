package callctx

import (
	"slices"
	"strings"
)

// Limits of the log lines of a handler that are kept.
const (
	MaxLines     = 8
	MaxLineBytes = 512
)

// lines are the last ones, number n at n modulo MaxLines.
type lines struct {
	latest [MaxLines]string
	count  int
}

// AddLine keeps a log line of a call that is remembered. It cuts off what exceeds MaxLineBytes.
func (h *Handler) AddLine(line string) {
	if !h.Recorded {
		return
	}
	if len(line) > MaxLineBytes {
		line = line[:MaxLineBytes]
	}
	line = strings.ToValidUTF8(strings.TrimSuffix(line, "\n"), "\uFFFD")
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lines == nil {
		h.lines = new(lines)
	}
	h.lines.latest[h.lines.count%MaxLines] = line
	h.lines.count++
}

// Lines returns the last lines in their order, and how many there were before them.
func (h *Handler) Lines() (latest []string, before int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lines == nil {
		return nil, 0
	}
	count := h.lines.count
	if count <= MaxLines {
		return slices.Clone(h.lines.latest[:count]), 0
	}
	first := count % MaxLines
	return append(slices.Clone(h.lines.latest[first:]), h.lines.latest[:first]...), count - MaxLines
}

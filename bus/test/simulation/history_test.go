package simulation_test

import (
	"fmt"
	"strings"
	"time"
)

// history is what has happened on a day. The world's lock protects it.
type history struct {
	world  *world
	began  time.Time
	events []event
	names  map[string]string // of instances and messages, whose ids differ from run to run
}

// event is a line of it: a sentence, or what has become of a message.
type event struct {
	at   time.Duration
	text string
	link *link
	what string
	op   *operation
}

// begin counts the time from now on.
func (h *history) begin(w *world) {
	*h = history{world: w, began: time.Now(), events: h.events, names: make(map[string]string)}
}

func (h *history) addf(format string, arguments ...any) {
	h.events = append(h.events, event{at: time.Since(h.began), text: fmt.Sprintf(format, arguments...)})
}

func (h *history) sent(l *link, op *operation)      { h.message(l, "sends", op) }
func (h *history) delivered(l *link, op *operation) { h.message(l, "gets", op) }
func (h *history) lost(l *link, way string, op *operation) {
	h.message(l, "loses, "+way+",", op)
}

// message notes what has become of a message.
func (h *history) message(l *link, what string, op *operation) {
	if op != nil && (op.verb == "PUB" || op.verb == "HPUB") {
		h.events = append(h.events, event{at: time.Since(h.began), link: l, what: what, op: op})
	}
}

// all stands for all calls.
const all = -1

// lines returns the history as a person reads it, of one call or of [all].
func (h *history) lines(number int) (lines []string) {
	for _, e := range h.events {
		text := e.text
		if e.op != nil {
			text = fmt.Sprintf("%s %s %s", e.link.node.name, e.what, h.describe(e.op))
		}
		lines = append(lines, fmt.Sprintf("%13s  %s", e.at, text))
	}
	if number == all {
		return lines
	}
	return h.about(lines, number)
}

// about returns the lines that name a call or its messages, and those about what breaks.
func (h *history) about(lines []string, number int) (some []string) {
	call := fmt.Sprintf("#%d", number)
	for i, line := range lines {
		words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" :,()", r) })
		isNamed := false
		for _, word := range words {
			isNamed = isNamed || word == call
		}
		if isNamed || h.events[i].op == nil && !strings.Contains(line, "#") {
			some = append(some, line)
		}
	}
	return some
}

// describe names a message: "POST /run part 2/* of m3 to echo".
func (h *history) describe(op *operation) string {
	if op.header > 0 {
		return "the notice that no client subscribes to " + h.nameOf(lastToken(op.fields[0]), "m")
	}
	head, body, _ := strings.Cut(string(op.payload), "\r\n\r\n")
	first, rest, _ := strings.Cut(head, "\r\n")
	fields := make(map[string]string)
	for line := range strings.SplitSeq(rest, "\r\n") {
		name, value, _ := strings.Cut(line, ": ")
		fields[name] = value
	}
	text := strings.TrimSuffix(first, " HTTP/1.1")
	text = strings.TrimPrefix(text, "HTTP/1.1 ")
	if before, query, found := strings.Cut(text, "?n="); found {
		text = before + " #" + query
		h.names[fields["Bus-Msg-Id"]] = "#" + query
	}
	if part := fields["Bus-Fragment"]; part != "" {
		text += " part " + part
	}
	if window := fields["Bus-Window"]; window != "" {
		text += " window " + window
	}
	return fmt.Sprintf("%s of %s (%d bytes)", text, h.nameOf(fields["Bus-Msg-Id"], "m"), len(body))
}

func lastToken(subject string) string { return subject[strings.LastIndexByte(subject, '.')+1:] }

// nameOf returns a name for an id, which is the same on each such day.
func (h *history) nameOf(id, prefix string) string {
	if h.names[id] == "" {
		h.names[id] = fmt.Sprintf("%s%d", prefix, len(h.names)+1)
	}
	return h.names[id]
}

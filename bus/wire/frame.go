package wire

import (
	"bytes"
	"slices"
)

// frame is a message split into the lines of its head, and its body.
type frame struct {
	payload []byte            // begins with the bytes of text
	text    string            // the lines, each with its CRLF, copied once; "" if known makes the strings
	known   *texts            // nil if text is used
	line    span              // the start line, without its CRLF
	lines   int               // at least one after a cut: the start line
	values  [single]span      // of single-valued fields, by meaning
	seen    uint32            // a bit for each single-valued field that is present
	rest    [MaxFields]uint32 // start of each other line
	content span              // the value of Content-Type if that is the first of the other lines
	others  int               // number of other lines
	body    []byte            // aliases the payload; nil when empty
}

// span is a part of the head. It is cheaper to copy and to clear than a slice.
type span struct{ from, to uint32 }

// cut splits a message into lines. It applies the limits, and is the only place that looks for control bytes and line
// ends, both before anything is allocated. On the way it takes fields in the exact form that this package writes.
func (f *frame) cut(payload []byte) error {
	window := payload[:min(len(payload), MaxHeadBytes)]
	f.payload, f.lines, f.others = payload, 0, 0
	f.values, f.seen, f.content = [single]span{}, 0, span{}
	start, end := 0, controlFrom(window, 0)
	f.line = span{0, uint32(end)}
	for m, size := isOther, 0; end > start; end = controlFrom(window, start+size) {
		if !endsLine(window, end) {
			return f.faultAt(payload, end)
		}
		if f.lines > MaxFields {
			return malformed("head: more than %d fields", MaxFields)
		}
		if f.lines > 0 {
			f.take(m, start, size, end)
		}
		f.lines++
		start = end + len(crlf)
		m, size = usualName(window[start:])
	}
	if !endsLine(window, end) || f.lines == 0 {
		return f.faultAt(payload, end)
	}
	if f.known == nil {
		f.text = string(payload[:start])
	}
	f.body = nil
	if body := payload[start+len(crlf):]; len(body) > 0 {
		f.body = slices.Clip(body) // so that appending to it never writes into the payload
	}
	return nil
}

// take records a line that begins with a known name. A line that needs a closer look is left for later.
func (f *frame) take(m meaning, start, size, end int) {
	switch {
	case m < single && !f.has(m):
		f.values[m], f.seen = f.trim(span{uint32(start + size), uint32(end)}), f.seen|1<<m
	case m == isContentType && f.others == 0 && f.content.to == 0:
		f.content = f.trim(span{uint32(start + size), uint32(end)})
	case m != isSkipped:
		f.rest[f.others] = uint32(start)
		f.others++
	}
}

// has reports whether a single-valued field is present.
func (f *frame) has(m meaning) bool { return f.seen>>m&1 != 0 }

// remaining returns a line that was left for later, without its CRLF.
func (f *frame) remaining(number int) span {
	start := f.rest[number]
	return span{start, start + uint32(bytes.IndexByte(f.payload[start:], '\r'))}
}

func endsLine(window []byte, end int) bool {
	return end+1 < len(window) && window[end] == '\r' && window[end+1] == '\n'
}

// faultAt returns the error for a head that ends here.
func (f *frame) faultAt(payload []byte, end int) error {
	switch {
	case end+len(crlf) > MaxHeadBytes:
		return malformed("head: longer than %d bytes", MaxHeadBytes)
	case end+len(crlf) > len(payload):
		return malformed("head: ends before the blank line")
	case endsLine(payload, end):
		return malformed("head: begins with a blank line")
	case payload[end] == '\n':
		return malformed("head: line %d ends in LF without CR", f.lines+1)
	}
	return malformed("head: control byte %#02x in line %d", payload[end], f.lines+1)
}

// bytes returns a part of the head.
func (f *frame) bytes(part span) []byte { return f.payload[part.from:part.to] }

// string returns a part of the head, as a string that does not alias the payload.
func (f *frame) string(part span) string {
	if f.known != nil {
		return f.known.recall(f.bytes(part))
	}
	return f.text[part.from:part.to]
}

// unique is string for values that differ in every message.
func (f *frame) unique(part span) string {
	if f.known != nil {
		return f.known.copy(f.bytes(part))
	}
	return f.text[part.from:part.to]
}

// trim removes spaces and tabs around a part.
func (f *frame) trim(part span) span {
	for part.from < part.to && isBlank(f.payload[part.from]) {
		part.from++
	}
	for part.from < part.to && isBlank(f.payload[part.to-1]) {
		part.to--
	}
	return part
}

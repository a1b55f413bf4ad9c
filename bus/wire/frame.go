package wire

import (
	"bytes"
	"slices"
)

// frame is a message split into the lines of its head, and its body.
type frame struct {
	payload       []byte             // begins with the bytes of text
	text          string             // the lines, each with its CRLF, copied once; "" if strings is set
	strings       *interner          // nil if text is used
	proofs        *interner          // of the proofs of callers; nil if text is used
	line          span               // the start line, without its CRLF
	lines         int                // number of lines, including the start line
	values        [singleFields]span // of single-valued fields, by fieldID
	seen          uint32             // a bit for each single-valued field that is present
	deferred      [MaxFields]uint32  // start of each line that head.read parses
	deferredCount int                // number of those lines
	contentType   span               // the value of Content-Type if that comes before those lines
	body          []byte             // aliases the payload; nil when empty
}

// span is a range of bytes in the head. It is cheaper to copy and to clear than a slice.
type span struct{ from, to uint32 }

// split splits a message into lines. It applies the limits, and is the only place that looks for control bytes and line
// ends, both before anything is allocated. It parses fields that have the exact form that this package writes.
func (f *frame) split(payload []byte) error {
	window := payload[:min(len(payload), MaxHeadBytes)]
	f.payload, f.lines, f.deferredCount = payload, 0, 0
	f.values, f.seen, f.contentType = [singleFields]span{}, 0, span{}
	start, end := 0, controlFrom(window, 0)
	f.line = span{0, uint32(end)}
	for id, size := fieldOther, 0; end > start; end = controlFrom(window, start+size) {
		if !endsLine(window, end) {
			return f.errorAt(payload, end)
		}
		if f.lines > MaxFields {
			return malformed("head: more than %d fields", MaxFields)
		}
		if f.lines > 0 {
			f.addLine(id, start, size, end)
		}
		f.lines++
		start = end + len(crlf)
		id, size = usualName(window[start:])
	}
	if !endsLine(window, end) || f.lines == 0 {
		return f.errorAt(payload, end)
	}
	if f.strings == nil {
		f.text = string(payload[:start])
	}
	f.body = nil
	if body := payload[start+len(crlf):]; len(body) > 0 {
		f.body = slices.Clip(body) // so that appending to it never writes into the payload
	}
	return nil
}

// addLine records a line. Only fields in the exact form that this package writes are parsed; others are deferred.
func (f *frame) addLine(id fieldID, start, size, end int) {
	switch {
	case id < singleFields && !f.has(id):
		f.values[id], f.seen = f.trim(span{uint32(start + size), uint32(end)}), f.seen|1<<id
	case id == fieldContentType && f.deferredCount == 0 && f.contentType.to == 0:
		f.contentType = f.trim(span{uint32(start + size), uint32(end)})
	case id != fieldSkipped:
		f.deferred[f.deferredCount] = uint32(start)
		f.deferredCount++
	}
}

// has reports whether a single-valued field is present.
func (f *frame) has(id fieldID) bool { return f.seen>>id&1 != 0 }

// deferredLine returns a deferred line, without its CRLF.
func (f *frame) deferredLine(number int) span {
	start := f.deferred[number]
	return span{start, start + uint32(bytes.IndexByte(f.payload[start:], '\r'))}
}

func endsLine(window []byte, end int) bool {
	return end+1 < len(window) && window[end] == '\r' && window[end+1] == '\n'
}

// errorAt returns the error for a head that ends here.
func (f *frame) errorAt(payload []byte, end int) error {
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
	if f.strings != nil {
		return f.strings.intern(f.bytes(part))
	}
	return f.text[part.from:part.to]
}

// unique is like string, for values that differ in every message.
func (f *frame) unique(part span) string {
	if f.strings != nil {
		return f.strings.copy(f.bytes(part))
	}
	return f.text[part.from:part.to]
}

// proof is like string, for the proof of a caller, which is long, and the same in all its messages for a minute.
func (f *frame) proof(part span) string {
	if part.from == part.to {
		return ""
	}
	if f.proofs != nil {
		return f.proofs.keep(f.bytes(part))
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

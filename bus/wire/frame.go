package wire

import "slices"

// frame is a message cut into the lines of its head and its body.
type frame struct {
	text  string                // the lines, each with its CRLF: the only copy of them
	ends  [1 + MaxFields]uint32 // where the lines end in text, before the CRLF
	lines int                   // at least one after a cut: the start line
	body  []byte                // aliases the payload; nil when empty
}

// cut cuts up a message. It applies the limits, and it is the one place that looks for control bytes and line ends,
// both before anything is allocated.
func (f *frame) cut(payload []byte) error {
	window := payload[:min(len(payload), MaxHeadBytes)]
	start, end := 0, controlAt(window)
	for ; end > start; end = start + controlAt(window[start:]) {
		if !endsLine(window, end) {
			return f.faultAt(payload, end)
		}
		if f.lines == len(f.ends) {
			return fault("head: more than %d fields", MaxFields)
		}
		f.ends[f.lines] = uint32(end)
		f.lines++
		start = end + len(crlf)
	}
	if !endsLine(window, end) || f.lines == 0 {
		return f.faultAt(payload, end)
	}
	f.text = string(payload[:start])
	if body := payload[start+len(crlf):]; len(body) > 0 {
		f.body = slices.Clip(body) // an append to it never writes behind the payload
	}
	return nil
}

func endsLine(window []byte, end int) bool {
	return end+1 < len(window) && window[end] == '\r' && window[end+1] == '\n'
}

// faultAt says why the head cannot go on where its text ends.
func (f *frame) faultAt(payload []byte, end int) error {
	switch {
	case end+len(crlf) > MaxHeadBytes:
		return fault("head: longer than %d bytes", MaxHeadBytes)
	case end+len(crlf) > len(payload):
		return fault("head: ends before the blank line")
	case endsLine(payload, end):
		return fault("head: begins with a blank line")
	case payload[end] == '\n':
		return fault("head: line %d ends in LF without CR", f.lines+1)
	}
	return fault("head: control byte %#02x in line %d", payload[end], f.lines+1)
}

// line returns the line of that number, without its CRLF; 0 is the start line.
func (f *frame) line(number int) string {
	start := 0
	if number > 0 {
		start = int(f.ends[number-1]) + len(crlf)
	}
	return f.text[start:f.ends[number]]
}

package wire

import "bytes"

// head is the parsed head of a message. It contains the frame itself rather than a pointer, so that both are on the
// stack.
type head struct {
	frame
	others Header
}

// release drops the references to one message.
func (h *head) release() { h.payload, h.body, h.others = nil, nil, nil }

// value returns the value of a single-valued field, empty if it is absent.
func (h *head) value(m meaning) []byte { return h.bytes(h.values[m]) }

// read parses the fields that cut has left for later.
func (h *head) read() error {
	if h.content.to > 0 {
		h.grow(1 + h.frame.others)
		h.others = append(h.others, Field{Name: "Content-Type", Value: h.string(h.content)})
	}
	for number := range h.frame.others {
		if err := h.readLine(number); err != nil {
			return err
		}
	}
	return nil
}

func (h *head) readLine(number int) error {
	line := h.remaining(number)
	text := h.bytes(line)
	colon := bytes.IndexByte(text, ':')
	if colon < 0 { // the line itself may contain what must not be logged
		return malformed("head: line %d has no colon", 1+bytes.Count(h.payload[:line.from], []byte("\n")))
	}
	name := text[:colon]
	value := h.trim(span{line.from + uint32(colon) + 1, line.to})
	m := meaningOf(name)
	if m < single {
		if h.has(m) {
			return malformed("header %s: given twice", m)
		}
		h.values[m], h.seen = value, h.seen|1<<m
		return nil
	}
	if m == isRefused {
		return malformed("header %s: not used on the bus", name)
	}
	if !isToken(name) {
		return malformed("header %s: not a field name; folded lines and spaces before the colon are not allowed", quote(name))
	}
	if m == isOther {
		h.add(h.frame.others-number, span{line.from, line.from + uint32(colon)}, value)
	}
	return nil
}

// add adds a field; left is how many may follow, including this one.
func (h *head) add(left int, name, value span) {
	h.grow(left)
	h.others = append(h.others, Field{Name: h.string(name), Value: h.string(value)})
}

// grow makes room once, for all fields that may follow.
func (h *head) grow(left int) {
	if len(h.others) == cap(h.others) {
		h.others = append(make(Header, 0, len(h.others)+left), h.others...)
	}
}

// check checks the fields that every message must have.
func (h *head) check() error {
	for _, m := range [...]meaning{isFromHost, isFromID, isMsgID, isOpCode} {
		if h.values[m].from == h.values[m].to {
			return malformed("header %s: absent or empty", m)
		}
	}
	if id := h.value(isMsgID); !validMsgID(id) {
		return malformed(`header %s: %s is not 1 to %d of A-Z, a-z, 0-9, "-" and "_"`, isMsgID, quote(id), maxMsgID)
	}
	return nil
}

const maxMsgID = 64

func validMsgID(id []byte) bool {
	for _, c := range id {
		if !isMsgIDByte(c) {
			return false
		}
	}
	return len(id) > 0 && len(id) <= maxMsgID
}

// isMsgIDByte looks the byte up in a bit set: letters, digits, "-" and "_".
func isMsgIDByte(c byte) bool {
	const low, high = 0x03ff200000000000, 0x07fffffe87fffffe
	if c < 64 {
		return uint64(low)>>c&1 != 0
	}
	return c < 128 && uint64(high)>>(c-64)&1 != 0
}

package wire

import "bytes"

// head is the parsed head of a message. It contains the frame itself rather than a pointer, so that both are on the
// stack.
type head struct {
	frame
	header Header // the fields that are not reserved
}

// release drops the references to one message.
func (h *head) release() { h.payload, h.body, h.header = nil, nil, nil }

// value returns the value of a single-valued field, empty if it is absent.
func (h *head) value(id fieldID) []byte { return h.bytes(h.values[id]) }

// read parses the deferred lines.
func (h *head) read() error {
	if h.contentType.to > 0 {
		h.grow(1 + h.deferredCount)
		h.header = append(h.header, Field{Name: "Content-Type", Value: h.string(h.contentType)})
	}
	for number := range h.deferredCount {
		if err := h.readLine(number); err != nil {
			return err
		}
	}
	return nil
}

func (h *head) readLine(number int) error {
	line := h.deferredLine(number)
	text := h.bytes(line)
	colon := bytes.IndexByte(text, ':')
	if colon < 0 { // not quoted: the line may contain a secret
		return malformed("head: line %d has no colon", 1+bytes.Count(h.payload[:line.from], []byte("\n")))
	}
	name := text[:colon]
	value := h.trim(span{line.from + uint32(colon) + 1, line.to})
	id := fieldIDOf(name)
	if id < singleFields {
		if h.has(id) {
			return malformed("header %s: given twice", id)
		}
		h.values[id], h.seen = value, h.seen|1<<id
		return nil
	}
	if id == fieldRefused {
		return malformed("header %s: not used on the bus", name)
	}
	if !isToken(name) {
		return malformed("header %s: not a field name; folded lines and spaces before the colon are not allowed", quote(name))
	}
	if id == fieldOther {
		h.add(h.deferredCount-number, span{line.from, line.from + uint32(colon)}, value)
	}
	return nil
}

// add adds a field. left is the number of fields that may still come, including this one.
func (h *head) add(left int, name, value span) {
	h.grow(left)
	h.header = append(h.header, Field{Name: h.string(name), Value: h.string(value)})
}

// grow allocates once for all fields that may still come.
func (h *head) grow(left int) {
	if len(h.header) == cap(h.header) {
		h.header = append(make(Header, 0, len(h.header)+left), h.header...)
	}
}

// checkRequired checks the fields that every message must have.
func (h *head) checkRequired() error {
	for _, id := range [...]fieldID{fieldFromHost, fieldFromID, fieldMsgID, fieldOpCode} {
		if h.values[id].from == h.values[id].to {
			return malformed("header %s: absent or empty", id)
		}
	}
	if id := h.value(fieldMsgID); !validMsgID(id) {
		return malformed(`header %s: %s is not 1 to %d of A-Z, a-z, 0-9, "-" and "_"`, fieldMsgID, quote(id), maxMsgID)
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

package wire

import "strings"

// head is what the fields of a message say.
type head struct {
	values [single]string // of the single-valued fields, by meaning
	seen   [single]bool
	others Header
}

// read reads the fields of a message.
func (h *head) read(f *frame) error {
	for number := 1; number < f.lines; number++ {
		line := f.line(number)
		name, value, found := strings.Cut(line, ":")
		if !found {
			return fault("head: line %d has no colon", number+1) // it may hold what a log must not
		}
		m := meaningOf(name)
		if (m == isOther || m == isSkipped) && !isToken(name) {
			return fault("header %s: not a field name; folded lines and blanks before the colon are not used", quote(name))
		}
		switch m {
		case isOther:
			if len(h.others) == cap(h.others) { // grow once, for all that may come
				h.others = append(make(Header, 0, len(h.others)+f.lines-number), h.others...)
			}
			h.others = append(h.others, Field{Name: name, Value: trim(value)})
		case isSkipped:
		case isRefused:
			return fault("header %s: not used on the bus", name)
		default:
			if h.seen[m] {
				return fault("header %s: given twice", m)
			}
			h.values[m], h.seen[m] = trim(value), true
		}
	}
	return nil
}

// check holds the fields against the length of the body and against what every message must say.
func (h *head) check(body int) error {
	if err := h.checkLength(body); err != nil {
		return err
	}
	for _, m := range [...]meaning{isFromHost, isFromID, isMsgID, isOpCode} {
		if h.values[m] == "" {
			return fault("header %s: absent or empty", m)
		}
	}
	if id := h.values[isMsgID]; !validMsgID(id) {
		return fault(`header %s: %s is not 1 to %d of A-Z, a-z, 0-9, "-" and "_"`, isMsgID, quote(id), maxMsgID)
	}
	return nil
}

const maxMsgID = 64

func validMsgID(id string) bool {
	for i := range len(id) {
		if c := id[i]; !isAlphanumeric(c) && c != '-' && c != '_' {
			return false
		}
	}
	return id != "" && len(id) <= maxMsgID
}

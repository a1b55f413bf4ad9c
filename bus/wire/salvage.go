package wire

import "bytes"

// salvaged holds the fields that were found in the head of a malformed message: the value of each, and the number of
// its occurrences. A field that occurs more than once has no valid value.
type salvaged struct {
	values [singleFields]string
	times  [singleFields]int
}

// salvage searches the head of a malformed message, within the limits of a head, until found returns false.
func (s *salvaged) salvage(payload []byte, found func(id fieldID) bool) {
	lines := 0
	for line := range bytes.Lines(payload[:min(len(payload), MaxHeadBytes)]) {
		line = bytes.TrimRight(line, "\r\n")
		if lines++; len(line) == 0 || lines > 1+MaxFields {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch id := fieldIDOf(name); id {
		case fieldFromHost, fieldFromID, fieldMsgID, fieldOpCode, fieldQueue, fieldFragment:
			s.values[id] = trim(string(value))
			s.times[id]++
			if !found(id) {
				return
			}
		}
	}
}

// msgID returns the message ID, "" if it is not valid.
func (s *salvaged) msgID() string {
	if s.times[fieldMsgID] != 1 || !validMsgID([]byte(s.values[fieldMsgID])) {
		return ""
	}
	return s.values[fieldMsgID]
}

// text returns the value of a field, "" if it is not valid.
func (s *salvaged) text(id fieldID) string {
	if s.times[id] != 1 || !isText(s.values[id]) {
		return ""
	}
	return s.values[id]
}

// salvage sets the sender, the message ID and the Fragment of a malformed request, so that it can be answered. It sets
// nothing if the message has an op code other than Req: acks and responses are never answered.
func (req *Request) salvage(payload []byte) {
	var s salvaged
	isRequest := true
	s.salvage(payload, func(id fieldID) bool {
		isRequest = id != fieldOpCode || OpCode(s.values[id]) == OpReq
		return isRequest
	})
	if !isRequest {
		return
	}
	req.FromHost, req.FromID, req.MsgID = s.text(fieldFromHost), s.text(fieldFromID), s.msgID()
	if s.times[fieldFragment] == 1 {
		req.Fragment, _ = parseFragment([]byte(s.values[fieldFragment]))
	}
}

// salvage sets the message ID and the sender of a malformed response, so that the call that it belongs to can fail with
// an error that names them.
func (res *Response) salvage(payload []byte) {
	var s salvaged
	s.salvage(payload, func(fieldID) bool { return true })
	res.FromHost, res.FromID, res.MsgID = s.text(fieldFromHost), s.text(fieldFromID), s.msgID()
	res.OpCode, res.Queue = OpCode(s.text(fieldOpCode)), s.text(fieldQueue)
}

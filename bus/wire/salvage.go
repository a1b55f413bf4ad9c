package wire

import "bytes"

// salvaged is what the head of a malformed message says of it: the value of each field that was searched for, and how often
// it was there. Duplicate fields do not count.
type salvaged struct {
	values [single]string
	times  [single]int
}

// salvage searches the head of a malformed message, within its limits, until found returns false.
func (s *salvaged) salvage(payload []byte, found func(m meaning) bool) {
	lines := 0
	for line := range bytes.Lines(payload[:min(len(payload), MaxHeadBytes)]) {
		line = bytes.TrimRight(line, "\r\n")
		if lines++; len(line) == 0 || lines > 1+MaxFields {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch m := meaningOf(name); m {
		case isFromHost, isFromID, isMsgID, isOpCode, isQueue, isFragment:
			s.values[m] = trim(string(value))
			s.times[m]++
			if !found(m) {
				return
			}
		}
	}
}

// msgID returns the message ID, "" if it is not valid.
func (s *salvaged) msgID() string {
	if s.times[isMsgID] != 1 || !validMsgID([]byte(s.values[isMsgID])) {
		return ""
	}
	return s.values[isMsgID]
}

// text returns the value of a field, "" if it is not valid.
func (s *salvaged) text(m meaning) string {
	if s.times[m] != 1 || !isText(s.values[m]) {
		return ""
	}
	return s.values[m]
}

// salvage sets the sender of a malformed request, so that it can be answered, and which part it is. If an op code says that the
// message is not a request, nothing is set: acks and responses are never answered.
func (req *Request) salvage(payload []byte) {
	var s salvaged
	isRequest := true
	s.salvage(payload, func(m meaning) bool {
		isRequest = m != isOpCode || OpCode(s.values[m]) == OpReq
		return isRequest
	})
	if !isRequest {
		return
	}
	req.FromHost, req.FromID, req.MsgID = s.text(isFromHost), s.text(isFromID), s.msgID()
	if s.times[isFragment] == 1 {
		req.Fragment, _ = parseFragment([]byte(s.values[isFragment]))
	}
}

// salvage sets which request a malformed response is for, and who sent it, so that its caller can be told what became of the
// request.
func (res *Response) salvage(payload []byte) {
	var s salvaged
	s.salvage(payload, func(meaning) bool { return true })
	res.FromHost, res.FromID, res.MsgID = s.text(isFromHost), s.text(isFromID), s.msgID()
	res.OpCode, res.Queue = OpCode(s.text(isOpCode)), s.text(isQueue)
}

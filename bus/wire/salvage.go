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
		case isFromHost, isFromID, isMsgID, isOpCode, isFragment:
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
	if s.times[isFromHost] == 1 && isText(s.values[isFromHost]) {
		req.FromHost = s.values[isFromHost]
	}
	if s.times[isFromID] == 1 && isText(s.values[isFromID]) {
		req.FromID = s.values[isFromID]
	}
	req.MsgID = s.msgID()
	if s.times[isFragment] == 1 {
		req.Fragment, _ = parseFragment([]byte(s.values[isFragment]))
	}
}

// salvage sets which request a malformed response is for, so that its caller can be told what became of it.
func (res *Response) salvage(payload []byte) {
	var s salvaged
	s.salvage(payload, func(meaning) bool { return true })
	res.MsgID = s.msgID()
}

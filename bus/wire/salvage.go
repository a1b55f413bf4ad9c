package wire

import "bytes"

// salvage sets the sender of a malformed request, so that it can be answered, and which part it is. It searches the head, within
// its limits, for the fields that say so; duplicate fields do not count. If an op code says that the message is not a
// request, nothing is set: acks and responses are never answered.
func (req *Request) salvage(payload []byte) {
	var values [single]string
	var times [single]int
	lines := 0
	for line := range bytes.Lines(payload[:min(len(payload), MaxHeadBytes)]) {
		line = bytes.TrimRight(line, "\r\n")
		if lines++; len(line) == 0 || lines > 1+MaxFields {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch m := meaningOf(name); m {
		case isFromHost, isFromID, isMsgID, isOpCode, isFragment:
			values[m] = trim(string(value))
			times[m]++
			if m == isOpCode && OpCode(values[m]) != OpReq {
				return
			}
		}
	}
	if times[isFromHost] == 1 && isText(values[isFromHost]) {
		req.FromHost = values[isFromHost]
	}
	if times[isFromID] == 1 && isText(values[isFromID]) {
		req.FromID = values[isFromID]
	}
	if times[isMsgID] == 1 && validMsgID([]byte(values[isMsgID])) {
		req.MsgID = values[isMsgID]
	}
	if times[isFragment] == 1 {
		req.Fragment, _ = parseFragment([]byte(values[isFragment]))
	}
}

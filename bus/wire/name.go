package wire

// meaning says how the codec treats a header field with some name.
type meaning uint8

const (
	isHost meaning = iota
	isActor
	isContentLength
	isCallDepth
	isFragment
	isFromHost
	isFromID
	isMsgID
	isOpCode
	isQueue
	isTimeBudget
	single    // the number of meanings above: parsed by the codec, single-valued
	isRefused // an error
	isSkipped // ignored when parsing, never written
	isOther   // kept in Header

	isContentType // like isOther, in exactly the form that this package writes
)

// String returns the canonical name of a single-valued field.
func (m meaning) String() string {
	return [single]string{
		isHost:          "Host",
		isActor:         HeaderActor,
		isContentLength: "Content-Length",
		isCallDepth:     HeaderCallDepth,
		isFragment:      HeaderFragment,
		isFromHost:      HeaderFromHost,
		isFromID:        HeaderFromID,
		isMsgID:         HeaderMsgID,
		isOpCode:        HeaderOpCode,
		isQueue:         HeaderQueue,
		isTimeBudget:    HeaderTimeBudget,
	}[m]
}

// Reserved reports whether the codec itself handles fields of this name, in any case: Host, Content-Length, every Bus-
// field, and hop-by-hop fields (RFC 9110, 7.6.1). Such a field is never in the Header of a parsed message, and is not
// written if it is put there.
func Reserved(name string) bool { return meaningOf(name) != isOther }

// usualName returns the meaning of the name at the start of a line, if it is in the exact form that this package
// writes, and its length in bytes, including the colon and the space. For anything else the length is 0.
func usualName(line []byte) (m meaning, size int) {
	const longest = len("Bus-Time-Budget: ")
	if len(line) < longest {
		return isOther, 0 // the end is near: not worth a closer look
	}
	switch string(line[:8]) {
	case "Bus-From":
		if string(line[8:15]) == "-Host: " {
			return isFromHost, 15
		}
		if string(line[8:13]) == "-Id: " {
			return isFromID, 13
		}
	case "Bus-Msg-":
		if string(line[8:12]) == "Id: " {
			return isMsgID, 12
		}
	case "Bus-Op-C":
		if string(line[8:13]) == "ode: " {
			return isOpCode, 13
		}
	case "Bus-Queu":
		if string(line[8:11]) == "e: " {
			return isQueue, 11
		}
	case "Bus-Call":
		if string(line[8:16]) == "-Depth: " {
			return isCallDepth, 16
		}
	case "Bus-Time":
		if string(line[8:17]) == "-Budget: " {
			return isTimeBudget, 17
		}
	case "Content-":
		if string(line[8:16]) == "Length: " {
			return isContentLength, 16
		}
		if string(line[8:14]) == "Type: " {
			return isContentType, 14
		}
	case "Connecti":
		if string(line[8:12]) == "on: " {
			return isSkipped, 12
		}
	default:
		if string(line[:6]) == "Host: " {
			return isHost, 6
		}
	}
	return isOther, 0
}

// meaningOf compares the length first, which avoids most comparisons.
func meaningOf[Text text](name Text) meaning {
	switch len(name) {
	case 2:
		if same(name, "TE") {
			return isSkipped
		}
	case 4:
		if same(name, "Host") {
			return isHost
		}
	case 7:
		if same(name, "Upgrade") {
			return isSkipped
		}
		if same(name, "Trailer") {
			return isRefused
		}
	case 9:
		if same(name, HeaderQueue) {
			return isQueue
		}
		if same(name, HeaderActor) {
			return isActor
		}
	case 10:
		if same(name, HeaderMsgID) {
			return isMsgID
		}
		if same(name, "Connection") || same(name, "Keep-Alive") {
			return isSkipped
		}
	case 11:
		if same(name, HeaderOpCode) {
			return isOpCode
		}
		if same(name, HeaderFromID) {
			return isFromID
		}
	case 12:
		if same(name, HeaderFragment) {
			return isFragment
		}
	case 13:
		if same(name, HeaderFromHost) {
			return isFromHost
		}
	case 14:
		if same(name, "Content-Length") {
			return isContentLength
		}
		if same(name, HeaderCallDepth) {
			return isCallDepth
		}
	case 15:
		if same(name, HeaderTimeBudget) {
			return isTimeBudget
		}
	case 16:
		if same(name, "Proxy-Connection") {
			return isSkipped
		}
	case 17:
		if same(name, "Transfer-Encoding") {
			return isRefused
		}
	}
	if len(name) >= len("Bus-") && same(name[:len("Bus-")], "Bus-") {
		return isSkipped
	}
	return isOther
}

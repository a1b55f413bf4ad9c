package wire

// fieldID identifies a header field by what the codec does with it.
type fieldID uint8

const (
	fieldHost fieldID = iota
	fieldActor
	fieldContentLength
	fieldBusContentLength
	fieldCallDepth
	fieldCallerProof
	fieldFragment
	fieldFromHost
	fieldFromID
	fieldMethod
	fieldMsgID
	fieldOpCode
	fieldQueue
	fieldTimeBudget
	fieldWindow
	singleFields // the number of fields above: parsed by the codec, single-valued
	fieldRefused // a field that makes a message malformed
	fieldSkipped // an ignored field, never written
	fieldOther   // a field that is kept in Header

	fieldContentType // like fieldOther, in exactly the form that this package writes
)

// String returns the canonical name of a single-valued field.
func (id fieldID) String() string {
	return [singleFields]string{
		fieldHost:             "Host",
		fieldActor:            HeaderActor,
		fieldContentLength:    "Content-Length",
		fieldBusContentLength: HeaderContentLength,
		fieldCallDepth:        HeaderCallDepth,
		fieldCallerProof:      HeaderCallerProof,
		fieldFragment:         HeaderFragment,
		fieldFromHost:         HeaderFromHost,
		fieldFromID:           HeaderFromID,
		fieldMethod:           HeaderMethod,
		fieldMsgID:            HeaderMsgID,
		fieldOpCode:           HeaderOpCode,
		fieldQueue:            HeaderQueue,
		fieldTimeBudget:       HeaderTimeBudget,
		fieldWindow:           HeaderWindow,
	}[id]
}

// Reserved reports whether the codec itself handles fields of this name, in any case: Host, Content-Length, every Bus-
// field, and hop-by-hop fields (RFC 9110, 7.6.1). Such a field is never in the Header of a parsed message, and is not
// written.
func Reserved(name string) bool { return fieldIDOf(name) != fieldOther }

// usualName returns the ID of the field at the start of a line, and the length of its name in bytes, including the
// colon and the space. The length is 0 unless the name has the exact form that this package writes.
func usualName(line []byte) (id fieldID, size int) {
	const longest = len("Bus-Time-Budget: ")
	if len(line) < longest {
		return fieldOther, 0 // shorter than the longest name; read parses it
	}
	switch string(line[:8]) {
	case "Bus-From":
		if string(line[8:15]) == "-Host: " {
			return fieldFromHost, 15
		}
		if string(line[8:13]) == "-Id: " {
			return fieldFromID, 13
		}
	case "Bus-Msg-":
		if string(line[8:12]) == "Id: " {
			return fieldMsgID, 12
		}
	case "Bus-Op-C":
		if string(line[8:13]) == "ode: " {
			return fieldOpCode, 13
		}
	case "Bus-Queu":
		if string(line[8:11]) == "e: " {
			return fieldQueue, 11
		}
	case "Bus-Wind":
		if string(line[8:12]) == "ow: " {
			return fieldWindow, 12
		}
	case "Bus-Call":
		if string(line[8:16]) == "-Depth: " {
			return fieldCallDepth, 16
		}
		if string(line[8:17]) == "er-Proof:" && len(line) > 17 && line[17] == ' ' {
			return fieldCallerProof, 18
		}
	case "Bus-Time":
		if string(line[8:17]) == "-Budget: " {
			return fieldTimeBudget, 17
		}
	case "Content-":
		if string(line[8:16]) == "Length: " {
			return fieldContentLength, 16
		}
		if string(line[8:14]) == "Type: " {
			return fieldContentType, 14
		}
	case "Connecti":
		if string(line[8:12]) == "on: " {
			return fieldSkipped, 12
		}
	default:
		if string(line[:6]) == "Host: " {
			return fieldHost, 6
		}
	}
	return fieldOther, 0
}

// fieldIDOf returns the ID of a field name. Switching on the length avoids most comparisons.
func fieldIDOf[Text text](name Text) fieldID {
	switch len(name) {
	case 2:
		if same(name, "TE") {
			return fieldSkipped
		}
	case 4:
		if same(name, "Host") {
			return fieldHost
		}
	case 7:
		if same(name, "Upgrade") {
			return fieldSkipped
		}
		if same(name, "Trailer") {
			return fieldRefused
		}
	case 9:
		if same(name, HeaderQueue) {
			return fieldQueue
		}
		if same(name, HeaderActor) {
			return fieldActor
		}
	case 10:
		if same(name, HeaderMsgID) {
			return fieldMsgID
		}
		if same(name, HeaderWindow) {
			return fieldWindow
		}
		if same(name, HeaderMethod) {
			return fieldMethod
		}
		if same(name, "Connection") || same(name, "Keep-Alive") {
			return fieldSkipped
		}
	case 11:
		if same(name, HeaderOpCode) {
			return fieldOpCode
		}
		if same(name, HeaderFromID) {
			return fieldFromID
		}
	case 12:
		if same(name, HeaderFragment) {
			return fieldFragment
		}
	case 13:
		if same(name, HeaderFromHost) {
			return fieldFromHost
		}
	case 14:
		if same(name, "Content-Length") {
			return fieldContentLength
		}
		if same(name, HeaderCallDepth) {
			return fieldCallDepth
		}
	case 15:
		if same(name, HeaderTimeBudget) {
			return fieldTimeBudget
		}
	case 16:
		if same(name, "Proxy-Connection") {
			return fieldSkipped
		}
		if same(name, HeaderCallerProof) {
			return fieldCallerProof
		}
	case 17:
		if same(name, "Transfer-Encoding") {
			return fieldRefused
		}
	case 18:
		if same(name, HeaderContentLength) {
			return fieldBusContentLength
		}
	}
	if len(name) >= len("Bus-") && same(name[:len("Bus-")], "Bus-") {
		return fieldSkipped
	}
	return fieldOther
}

package wire

// Reader reads messages one after the other, and keeps the strings that most of them have in common: hosts, instance
// IDs, targets, the names and values of header fields. An ordinary message then costs no allocation, but for a share of
// the room for its message ID, and one when Header has to grow; keep a Request or Response, too, for the next message.
//
// Its zero value is ready to use, takes some KiB, and must not be copied. One goroutine at a time may use it: have one
// for each, or a sync.Pool. A string that came in a message may be kept for ever; it holds on to 2 KiB of others.
type Reader struct {
	head  head
	known texts
}

// ParseRequest does what [ParseRequest] does.
func (r *Reader) ParseRequest(payload []byte, req *Request) error {
	r.head.known = &r.known
	err := parseRequest(&r.head, payload, req)
	r.head.release()
	return err
}

// ParseResponse does what [ParseResponse] does.
func (r *Reader) ParseResponse(payload []byte, res *Response) error {
	r.head.known = &r.known
	err := parseResponse(&r.head, payload, res)
	r.head.release()
	return err
}

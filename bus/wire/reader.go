package wire

// Reader parses messages one after the other, and reuses the strings that most of them have in common: hosts, instance
// IDs, targets, names and values of header fields. An ordinary message then costs no allocation, except for a share of
// the memory for its message ID, and one if Header has to grow. Callers should reuse the Request or Response as well.
//
// The zero value is ready to use, takes some KiB, and must not be copied. Use it from one goroutine at a time: one for
// each goroutine, or a sync.Pool. Strings of a message may be kept; each keeps up to 2 KiB of others in memory.
type Reader struct {
	head    head
	strings interner
	proofs  interner
}

// ParseRequest is like [ParseRequest].
func (r *Reader) ParseRequest(payload []byte, req *Request) error {
	r.head.strings, r.head.proofs = &r.strings, &r.proofs
	err := parseRequest(&r.head, payload, req)
	r.head.release()
	return err
}

// ParseResponse is like [ParseResponse].
func (r *Reader) ParseResponse(payload []byte, res *Response) error {
	r.head.strings = &r.strings
	err := parseResponse(&r.head, payload, res)
	r.head.release()
	return err
}

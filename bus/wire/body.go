package wire

import (
	"bytes"
	"fmt"
	"io"
)

// Body is the body of an HTTP request or response that is in memory: an io.ReadCloser. Use it from one goroutine at a
// time.
type Body struct{ *bytes.Buffer }

// NewBody returns a body. A call sends the data without a copy, so that it must not change any more.
func NewBody(data []byte) Body { return Body{bytes.NewBuffer(data)} }

// Take returns what was not read yet, and leaves nothing to read.
func (b Body) Take() []byte { return b.Next(b.Len()) }

// Close does nothing.
func (Body) Close() error { return nil }

// ReadAll reads a body of at most limit bytes, whatever length was announced. The error of a larger one names the
// limit.
func ReadAll(from io.Reader, limit int) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(from, int64(limit)+1))
	if err == nil && len(body) > limit {
		return nil, fmt.Errorf("the body has more than %d bytes", limit)
	}
	return body, err
}

// Unread returns a body with the first bytes, which were read, in front again.
func Unread(first []byte, rest io.ReadCloser) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(first), rest), rest}
}

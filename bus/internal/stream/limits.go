package stream

import (
	"net/http"

	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/wire"
)

const (
	// DefaultMessageLimit is the largest body that travels, in bytes, where no option says otherwise.
	DefaultMessageLimit = 32 << 20
	// MinMessageLimit leaves room for errors and documents, which are messages, too.
	MinMessageLimit = 64 << 10
	// MaxMessageLimit is what the nine digits of a Content-Length can count, rounded down.
	MaxMessageLimit = 512 << 20
	// maxWholeParts bounds the parts of a message whose number is known, whatever is in them.
	maxWholeParts = 1 << 16
)

// CheckHead returns an error for a head that no instance would accept, on either transport: see [wire.MaxHeadBytes].
// rest is the size of what stands in the head besides the header, in bytes.
func CheckHead(rest int, header wire.Header) error {
	const ownBytes, ownFields = 2 << 10, 16 // what the bus adds, and some
	size := ownBytes + rest
	for _, field := range header {
		size += len(field.Name) + len(field.Value) + len(": \r\n")
	}
	if size <= wire.MaxHeadBytes && len(header)+ownFields <= wire.MaxFields {
		return nil
	}
	return status.NotRun(http.StatusRequestHeaderFieldsTooLarge, nil,
		"the head has %d fields and about %d bytes; the limits are %d and %d",
		len(header)+ownFields, size, wire.MaxFields, wire.MaxHeadBytes)
}

// CheckBody returns an error for a body that is larger than the limit of a connection, whichever way it travels.
func CheckBody(body []byte, limit int) error {
	if len(body) <= limit {
		return nil
	}
	return status.NotRun(http.StatusRequestEntityTooLarge, nil,
		"a body of %d bytes exceeds the limit of %d for messages; see bus.WithMaxMessageBytes", len(body), limit)
}

// TooLarge is the error for a body that has at least so many more bytes.
func TooLarge(least int64, limit int) error {
	return status.NotRun(http.StatusRequestEntityTooLarge, nil, "a body of at least %d bytes exceeds the limit of %d",
		least, limit)
}
